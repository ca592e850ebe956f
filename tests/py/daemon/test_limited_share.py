# SPDX-License-Identifier: Apache-2.0
"""Work that somebody may want too often."""

import threading
import time

import numpy as np
import pytest

import gpushare as gs
from gpushare.daemon.worker.limited_share import LimitedShare


@pytest.fixture
def clock(monkeypatch):
    """Of the wall and of the thread; whoever waits for ``is_over`` does so for as long as that takes."""
    now = {"wall": 100.0, "thread": 5.0}
    monkeypatch.setattr(time, "monotonic", lambda: now["wall"])
    monkeypatch.setattr(time, "thread_time", lambda: now["thread"])
    return now


class Over:
    def __init__(self, clock):
        self.clock, self.waited_s = clock, []

    def wait(self, seconds):
        self.waited_s.append(seconds)
        self.clock["wall"] += seconds


def turn(pace, clock, spent_s, share=0.25):
    over = Over(clock)
    with pace.turn(share, over):
        clock["wall"] += spent_s
        clock["thread"] += spent_s
    return over.waited_s[0]


def test_a_user_that_has_spent_its_share_waits(clock):
    pace = LimitedShare()
    assert turn(pace, clock, 2.0) == 0
    assert turn(pace, clock, 1.0) == pytest.approx(6.0)
    clock["wall"] += 10
    assert turn(pace, clock, 1.0, share=0.01) == 0
    assert turn(pace, clock, 1.0) == pytest.approx(99.0)


def test_time_in_which_others_had_the_processor_does_not_count(clock):
    pace = LimitedShare()
    with pace.turn(0.25, Over(clock)):
        clock["wall"] += 1000
    assert turn(pace, clock, 1.0) == 0


def test_there_are_so_many_histories_at_a_time(server, run, eventually):
    with gs.connect(server) as session:
        gate = session.zeros(1)
        job = run(session.application("alice"), "hold_histories", gate)
        eventually(lambda: session.status()["applications"][0]["state"] == "running")
        errors, done = [], []

        def ask():
            try:
                done.append(session.history(60).operations()["application"])
            except gs.InvalidInput as error:
                errors.append(str(error))

        threads = [threading.Thread(target=ask) for _ in range(40)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(errors) == 24)  # one has the turn and keeps it
        assert done == []
        gate.upload(np.ones(1))
        job.result(30)
        for thread in threads:
            thread.join()
        assert done == [["alice"]] * 16
        assert errors == ["16 requests of this client for arrays and histories are waiting already"] * 24
        session.zeros(3)
