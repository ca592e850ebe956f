# SPDX-License-Identifier: Apache-2.0
"""Orderings in a session on a GPU: launches go in their order, compute what they should, and go away when told to."""

import time

import pytest
from messages import raises_naming

import gpushare as gs

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

PATIENCE_S = 60


def await_state(session, name, state):
    end = time.monotonic() + PATIENCE_S
    while not any((each.name, each.state) == (name, state) for each in session.status().applications):
        assert time.monotonic() < end, f"{name} is never {state}"


@pytest.mark.parametrize(("ordering", "policy"), [("strings", "fifo"), ("cumas", "srtf"), ("cumas:kernels=2", "even")])
def test_tasks_of_several_launches(kernels, ordering, policy):
    with gs.Session("cuda:0", policy, ordering=ordering, measure_alone=False) as session:
        applications = [session.application(name) for name in "abc"]
        checks = [kernels.scaled(session, each, 100_000 + 1000 * n) for n in range(4) for each in applications]
        for check in checks:
            check()
        run = session.finish()
    launches = run.launches().sort_values("arrival_ns")
    assert len(launches) == 12
    if "kernels=2" not in ordering:
        assert (launches["arrival_ns"].to_numpy()[1:] >= launches["end_ns"].to_numpy()[:-1]).all()


def test_a_cancelled_application_is_not_waited_for(kernels):
    with gs.Session("cuda:0", "srtf", ordering="cumas", measure_alone=False) as session:
        gone, held, stays = (session.application(name) for name in ("gone", "held", "stays"))
        endless, _ = kernels.endless(session, gone)
        await_state(session, "gone", "running")
        waiting, check = kernels.scaled(session, held), kernels.scaled(session, stays)
        behind = kernels.scaled(session, gone)
        await_state(session, "stays", "waiting")
        held.cancel()
        with raises_naming(gs.Cancelled, "held"):
            waiting()
        gone.cancel()
        check()
        with raises_naming(gs.Cancelled, "gone"):
            endless.result(PATIENCE_S)
        with raises_naming(gs.Cancelled, "gone"):
            behind()
        run = session.finish()
    assert {each.name: len(each.operations) for each in run.workload.applications} == {"gone": 1, "stays": 1}
