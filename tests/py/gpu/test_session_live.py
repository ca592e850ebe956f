# SPDX-License-Identifier: Apache-2.0
"""Sessions while launches are under way: applications cancelled, priorities and policies changed, a look at it all."""

import contextlib
import time

import numpy as np
import pytest
from live_sessions import started
from messages import raises_naming

import gpushare as gs

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

PATIENCE_S = 30

open_session = pytest.mark.parametrize("policy", ["fifo", "srtf", "even", "mix"])


@open_session
def test_cancelled_jobs_say_so_and_others_go_on(kernels, policy):
    with gs.Session("cuda:0", policy, measure_alone=False) as session:
        gone, stays = session.application("gone"), session.application("stays")
        (endless, counter), waiting = kernels.endless(session, gone), kernels.scaled(session, gone)
        started(session, "gone")
        check = kernels.scaled(session, stays, 3_000_000)
        gone.cancel()
        with raises_naming(gs.Cancelled, "gone"):
            endless.result(PATIENCE_S)
        with pytest.raises(gs.Cancelled):
            waiting()
        with pytest.raises(gs.Cancelled):
            kernels.endless(session, gone)
        check()
        ran = int(counter.numpy()[0])
        assert 0 < ran < kernels.most_blocks
        kernels.scaled(session, session.application("late"))()
        assert counter.numpy()[0] == ran  # it has stopped for good
        run = session.finish()
    blocks = run.blocks().groupby("application")["blocks"].sum()
    # A worker that came and left may have been told as a block that nobody ran.
    assert abs(int(blocks["gone"]) - ran) <= 32 * run.device.sms
    assert [len(each.operations) for each in run.workload.applications] == [1, 1, 1]


def test_cancel_many_times(kernels):
    """The slots of launches that were cut short are used again, and are as good as new."""
    with gs.Session("cuda:0", "even", measure_alone=False) as session:
        for number in range(150):
            application = session.application(f"{number}")
            job, _ = kernels.endless(session, application)
            if number % 3 == 0:
                started(session, f"{number}")
            application.cancel()
            with pytest.raises(gs.Cancelled):
                job.result(PATIENCE_S)
        for number in range(5):
            kernels.scaled(session, session.application(f"good {number}"))()


def test_cancel_what_cannot_be_preempted(session, gate):
    application = session.application("whole")
    with gate(session, application) as waiting:
        application.cancel()
        waiting.open()
        with pytest.raises(gs.Cancelled):
            waiting.job.result(PATIENCE_S)


@open_session
def test_another_policy_takes_over(kernels, policy, check_trace):
    with gs.Session("cuda:0", policy) as session:
        applications = [session.application(name, priority=place) for place, name in enumerate("abc")]
        checks = [kernels.scaled(session, each, 3_000_000) for _ in range(4) for each in applications]
        for name in ("effisha-static", "fair", "srtf-adaptive", policy):
            session.set_policy(name)
        for check in checks:
            check()
        check_trace(session.finish())


def test_a_cancelled_job_is_over_when_it_says_so(kernels, odd_policies):
    """Also one that had been started behind the one before it, which a slow policy does not know yet."""
    with gs.Session("cuda:0", odd_policies.Dawdles(), measure_alone=False) as session:
        for cycles in range(2_000, 40_000, 2_000):
            application, counter = session.application(f"gone {cycles}"), session.zeros(1, np.uint32)
            launch = {"grid": 64, "block": 64, "args": [counter, cycles]}
            first, second = application.submit(kernels.spin, **launch), application.submit(kernels.spin, **launch)
            first.result(PATIENCE_S)
            application.cancel()
            with contextlib.suppress(gs.Cancelled):
                second.result(PATIENCE_S)
            ran = int(counter.numpy()[0])
            time.sleep(0.002)
            assert int(counter.numpy()[0]) == ran


def test_priorities_change(kernels):
    with gs.Session("cuda:0", "effisha-static", measure_alone=False) as session:
        first, second = session.application("first", priority=3), session.application("second")
        endless, _ = kernels.endless(session, first)
        done = started(session, "first").done
        check = kernels.scaled(session, second)
        while started(session, "first").done < done + 8 * session.device.description.sms:
            pass  # nobody else has begun, although there were places
        assert session.status().applications[1].started == 0
        second.set_priority(4)
        check()
        assert not endless.done()


def test_status(kernels, session):
    application = session.application("alice", priority=1)
    kernels.endless(session, application)
    kernels.endless(session, application)
    seen = started(session, "alice")
    while seen.done == 0:
        seen = started(session, "alice")
    assert (seen.kernel, seen.blocks, seen.waiting, seen.state) == ("spin", kernels.most_blocks, 1, "running")
    assert 0 < seen.done <= seen.started <= kernels.most_blocks
    assert seen.sm_time_ns > 0
    assert seen.remaining_ns > 1e9
    assert seen.quota != "0"
