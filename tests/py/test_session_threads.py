# SPDX-License-Identifier: Apache-2.0
"""Several threads use one session at the same moment."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.session.application import permitted_priority

PATIENCE_S = 30


def submit(application, block_ms=1.0, blocks=15):
    return application.submit(gs.KernelModel("k", threads=192, latency_ns=block_ms * 1e6), grid=blocks, block=192)


@pytest.fixture
def session():
    with gs.Session("sim:gtx480", "fifo") as session:
        yield session


@pytest.fixture
def pool():
    with ThreadPoolExecutor(4) as pool:
        yield pool


def await_that(holds):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.001)


class Beside:
    """The core of a session, which does something else, in another thread, before a method is called."""

    def __init__(self, core, method, action):
        self._core, self._method, self._action = core, method, action

    def __getattr__(self, name):
        if name == self._method:
            self._action()
        return getattr(self._core, name)


def test_a_launch_during_a_change_of_policy_is_served_by_the_next(session, pool):
    late = []

    def come():
        late.append(pool.submit(session.application, "late", priority=7000))
        time.sleep(0.1)

    bystander = submit(session.application("bystander"), 50)
    part = session._devices.parts[0]
    part.core = Beside(part.core, "set_policy", come)
    session.set_policy("effisha-dynamic")
    with raises_naming(gs.PolicyError, "priority"):
        late[0].result(PATIENCE_S)
    bystander.result(PATIENCE_S)


def test_of_two_applications_of_one_name_there_is_one(session, pool, monkeypatch):
    permitted = permitted_priority

    def slowly(*asked):
        time.sleep(0.05)
        return permitted(*asked)

    monkeypatch.setattr("gpushare.session.session.permitted_priority", slowly)
    made = [pool.submit(session.application, "same") for _ in range(3)]
    assert sum(each.exception(PATIENCE_S) is None for each in made) == 1


def test_what_is_submitted_while_the_session_is_finished_is_refused_and_the_run_is_whole(session, pool, monkeypatch):
    launch, is_inside = session._devices.parts[0].on.launch, threading.Event()

    def launch_late(*args, **kwargs):
        is_inside.set()
        await_that(lambda: session._finished)
        return launch(*args, **kwargs)

    submit(session.application("alice"), 100)
    monkeypatch.setattr(session._devices.parts[0].on, "launch", launch_late)
    late = pool.submit(submit, session.application("bob"))
    assert is_inside.wait(PATIENCE_S)
    run = session.finish(PATIENCE_S)
    assert [each.name for each in run.workload.applications] == ["alice"]
    with pytest.raises(gs.InvalidInput):
        late.result(PATIENCE_S)


def test_close_ends_what_another_thread_finishes(session, pool):
    job = submit(session.application("alice"), 900_000)
    finishing = pool.submit(session.finish, 600)
    await_that(lambda: session._finished)
    session.close()
    with pytest.raises(gs.DeviceError):
        job.result(PATIENCE_S)
    with pytest.raises((gs.DeviceError, gs.InvalidInput)):  # by who came first
        finishing.result(PATIENCE_S)
