# SPDX-License-Identifier: Apache-2.0
"""Sessions: one at a time, one after the other, under any policy; what finish() measures."""

import gc

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]


class HighestPriorityAlone(gs.Policy):
    def decide(self, state):
        first = max(state.running, key=lambda launch: launch.priority)
        return gs.Plan({first: first.max_residency})


def test_finish_measures(session, kernels):
    applications = [session.application("alice", weight=2.0), session.application("bob", priority=3)]
    checks = [kernels.scaled(session, each, 1_000_000) for each in applications for _ in range(3)]
    session.application("idle")
    run = session.finish()
    for check in checks:
        check()  # the jobs have ended, and to measure has not changed the arrays
    table = run.applications()
    assert table["application"].tolist() == ["alice", "bob"]
    assert (table["turnaround_ns"] > 0).all()
    assert (table["alone_ns"] > 1).all()
    assert (run.workload.applications[0].weight, run.workload.applications[1].priority) == (2.0, 3)


def test_finish_returns_a_run(session, kernels, check_trace, check_metrics):
    for name in ("alice", "bob"):
        application = session.application(name)
        for count in (100_000, 50_000):
            kernels.scaled(session, application, count)
    run = session.finish()
    check_trace(run)
    check_metrics(run)
    assert run.policy == "srtf"
    assert run.device.sms == session.device.description.sms
    assert run.launches()["kernel"].unique().tolist() == ["scale"]
    assert len(run.decisions()) > 0


def test_without_measuring_alone(kernels):
    with gs.Session("cuda:0", "fifo", measure_alone=False) as session:
        kernels.scaled(session, session.application("alice"))()
        assert session.finish().alone_ns == {"alice": 1}


def test_a_policy_written_in_python(kernels, stress, check_trace):
    policy = stress(3)
    with gs.Session("cuda:0", policy) as session:
        applications = [session.application(name) for name in ("alice", "bob")]
        checks = [kernels.scaled(session, each, 3_000_000) for _ in range(4) for each in applications]
        for check in checks:
            check()
        run = session.finish()
    check_trace(run)
    assert run.policy == "Stress"
    assert policy.decisions == 0  # the session had a copy


def test_priorities_reach_the_policy(kernels, gate):
    """The low one is submitted first, while a third holds the GPU; the high one still runs first."""
    with gs.Session("cuda:0", HighestPriorityAlone()) as session:
        names = {"boss": 9, "low": 1, "high": 5}
        applications = {name: session.application(name, priority=priority) for name, priority in names.items()}
        with gate(session, applications["boss"]) as holding:
            kernels.scaled(session, applications["low"])
            kernels.scaled(session, applications["high"])
            session.status()  # by the session's thread, which has seen to all that came before
            assert not holding.job.done()
        run = session.finish()
    ends = run.launches().set_index("application")["end_ns"]  # when blocks start is told only by their mean durations
    assert ends["boss"] <= ends["high"] <= ends["low"]


def test_priority_and_weight_are_told(kernels):
    seen = set()

    class Looks(gs.Policy):
        def decide(self, state):
            seen.update((each.application, each.priority, each.weight) for each in state.running)
            return gs.Plan({each: each.max_residency for each in state.running})

    with gs.Session("cuda:0", Looks()) as session:
        kernels.scaled(session, session.application("alice", priority=-2, weight=0.5))()
        kernels.scaled(session, session.application("bob"))()
    assert seen == {("alice", -2, 0.5), ("bob", 0, 1.0)}


def test_session_after_session(kernels):
    for number in range(20):
        with gs.Session("cuda:0", ["fifo", "srtf"][number % 2]) as session:
            kernels.scaled(session, session.application("alice"))()
            if number % 3 == 0:
                session.finish()


def test_a_session_that_is_not_closed(kernels):
    session = gs.Session("cuda:0")
    kernels.scaled(session, session.application("alice"))()
    del session
    gc.collect()
    with gs.Session("cuda:0") as session:
        kernels.scaled(session, session.application("bob"))()


def test_a_session_without_work():
    with gs.Session("cuda:0") as session:
        session.application("idle")
        with pytest.raises(gs.InvalidInput):
            session.finish()


@pytest.mark.parametrize("name", ["cuda", "cuda:0"])
def test_names_of_the_first_gpu(kernels, name):
    with gs.Session(name) as session:
        assert session.device.name == "cuda:0"


def test_one_session_at_a_time(session, kernels):
    application = session.application("first")
    kernels.scaled(session, application)()
    with pytest.raises((gs.InvalidInput, gs.CudaError)):
        kernels.run_in_a_session()
    kernels.scaled(session, application)()
    session.finish()
    kernels.run_in_a_session()


def test_the_first_session_is_the_one_that_runs(kernels):
    """Also if the second one is opened at once."""
    for _ in range(10):
        with gs.Session("cuda:0") as first:
            with pytest.raises((gs.InvalidInput, gs.CudaError)):
                kernels.run_in_a_session()
            kernels.scaled(first, first.application("first"))()


def test_no_run_during_a_session(session, kernels):
    kernels.scaled(session, session.application("first"))()
    launch = gs.Launch(kernels.increment, grid=2, block=32, args=[gs.Zeros(1, np.uint32)])
    with pytest.raises((gs.InvalidInput, gs.CudaError)):
        gs.run(gs.Workload("run", [gs.Application("run", [launch])]), "fifo", device="cuda:0")
    kernels.scaled(session, session.application("second"))()


def test_priorities_above_the_permitted_are_refused():
    with gs.Session("cuda:0", policy="effisha-dynamic", highest_priority=3) as session:
        session.application("modest", priority=3)
        with raises_naming(gs.InvalidInput, 4, 3):
            session.application("greedy", priority=4)
        with raises_naming(gs.PolicyError, "negative", -1):
            session.application("negative", priority=-1)
