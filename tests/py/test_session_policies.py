# SPDX-License-Identifier: Apache-2.0
"""What a session says of policies that it cannot have, and of those that misbehave."""

import contextlib
import threading

import pytest
from messages import raises_naming

import gpushare as gs

PATIENCE_S = 30
DEVICE = "sim:gtx480"


def submit(application, block_ms=1.0):
    return application.submit(gs.KernelModel("k", threads=192, latency_ns=block_ms * 1e6), grid=15, block=192)


class Broken(gs.Policy):
    def decide(self, state):
        raise ValueError("oh")


class Starving(gs.Policy):
    def decide(self, state):
        return gs.Plan({})


class BrokenByPriorities(gs.Policy):
    def decide(self, state):
        if any(each.priority > 0 for each in state.running):
            raise ValueError("too urgent")
        return gs.Plan(dict.fromkeys(state.running, 1))


@pytest.mark.parametrize("policy", ["sjf", "ljf", "srtf-zero-sampling", "arrival+sjf"])
def test_oracles_are_refused(policy):
    with pytest.raises(gs.InvalidInput):
        gs.Session(DEVICE, policy)
    with gs.Session(DEVICE, "fifo") as session:
        with pytest.raises(gs.InvalidInput):
            session.set_policy(policy)
        submit(session.application("a")).result(PATIENCE_S)


@pytest.mark.parametrize(
    ("policy", "named"),
    [(Broken(), ("Broken", "ValueError")), (Starving(), "Starving")],
)
def test_a_policy_that_misbehaves_is_told_by_name(policy, named):
    session = gs.Session(DEVICE, policy)
    with raises_naming(gs.PolicyError, named):
        submit(session.application("a")).result(PATIENCE_S)


def test_a_policy_that_cannot_take_over_is_told_by_name_and_the_last_goes_on():
    with gs.Session(DEVICE, "fifo") as session:
        job = submit(session.application("a"), 50)
        with raises_naming(gs.PolicyError, "Broken", "ValueError"):
            session.set_policy(Broken())
        job.result(PATIENCE_S)


def test_a_policy_that_a_priority_breaks_is_told_by_name():
    with gs.Session(DEVICE, BrokenByPriorities()) as session:
        application = session.application("a")
        submit(application, 50)
        with raises_naming(gs.PolicyError, "BrokenByPriorities", "ValueError"):
            application.set_priority(1)


class Curious(gs.Policy):
    """Calls its session, which waits for it."""

    session: gs.Session
    refusals: list[str]

    def decide(self, state):
        session, application = Curious.session, Curious.session._applications[0]
        for call in (
            session.status,
            session.close,
            session.finish,
            lambda: session.set_policy("fifo"),
            lambda: session.application("b"),
            lambda: application.set_priority(1),
            lambda: submit(application),
        ):
            try:
                call()
            except gs.InvalidInput as error:
                Curious.refusals.append(str(error))
        return gs.Plan(dict.fromkeys(state.running, 1))


def test_a_policy_that_calls_its_session_is_refused():
    with gs.Session(DEVICE, Curious()) as session:
        Curious.session, Curious.refusals = session, []
        submit(session.application("a")).result(PATIENCE_S)
    assert len(Curious.refusals) == 7
    assert all("a policy cannot call the session that it decides for" in each for each in Curious.refusals)


class Endless(gs.Policy):
    asked = threading.Event()

    def decide(self, state):
        self.asked.set()
        while True:
            pass


@pytest.mark.parametrize("end", [lambda session: session.close(), lambda session: session.finish(timeout=0.1)])
def test_a_policy_that_does_not_return_keeps_no_session_from_its_end(end):
    Endless.asked.clear()
    session = gs.Session(DEVICE, Endless())
    job = submit(session.application("a"))
    assert Endless.asked.wait(PATIENCE_S)
    with contextlib.suppress(gs.PolicyError):  # finish() has to say what has failed
        end(session)
    session.close()
    with raises_naming(gs.PolicyError, "Endless", "TimeoutError", __file__):
        job.result(PATIENCE_S)
