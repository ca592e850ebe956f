# SPDX-License-Identifier: Apache-2.0
"""Jobs that wait for something outside of their session."""

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from messages import raises_naming

import gpushare as gs

PATIENCE_S = 60
ENDLESS = gs.KernelModel("endless", threads=128, latency_ns=1_000_000_000)
SHORT = gs.KernelModel("short", threads=128, latency_ns=20_000)


class Stream:
    """What the protocol of CUDA streams asks for."""

    def __cuda_stream__(self):
        return (0, 0)


@pytest.fixture(params=["fifo", "srtf", "auto", "strings+fifo"])
def session(request):
    ordering, _, policy = request.param.rpartition("+")
    with gs.Session("sim:gtx480", policy, ordering=ordering or "arrival") as session:
        yield session


def submit(application, kernel=SHORT, after=()):
    return application.submit(kernel, grid=8, block=128, after=after)


def test_waits_for_a_future_and_holds_up_what_is_behind_it(session):
    future, application = Future(), session.application("alice")
    before = submit(application)
    held, behind = submit(application, after=future), submit(application)
    beside = submit(session.application("bob"))
    before.result(PATIENCE_S)
    beside.result(PATIENCE_S)
    (alice,) = [each for each in session.status().applications if each.name == "alice"]
    assert (alice.state, alice.waiting) == ("waiting", 1)
    assert not held.done()
    future.set_result(None)
    behind.result(PATIENCE_S)
    assert held.done()
    run = session.finish()
    assert [len(each.operations) for each in run.workload.applications] == [3, 1]


def test_waits_for_all_of_several_things(session):
    futures = [Future(), Future(), Future()]
    futures[0].set_result(1)
    with ThreadPoolExecutor(1) as pool:
        asleep = threading.Event()
        held = submit(session.application("alice"), after=[*futures, pool.submit(asleep.wait, PATIENCE_S)])
        futures[2].set_result(1)
        asleep.set()
        time.sleep(0.02)
        assert not held.done()
        futures[1].set_result(1)
        held.result(PATIENCE_S)


def test_waits_for_a_job_of_another_application_and_of_another_session(session):
    with gs.Session("sim:h100", "fifo") as other:
        first = submit(other.application("carol"))
        second = submit(session.application("alice"), after=[first])
        third = submit(session.application("bob"), after=second)
        third.result(PATIENCE_S)
        assert first.done()
        assert second.done()


def test_is_cancelled_where_that_fails_and_what_is_behind_it_runs(session):
    broken, application = Future(), session.application("alice")
    first, held, behind = submit(application), submit(application, after=[broken, Future()]), submit(application)
    broken.set_exception(ValueError("no weights"))
    behind.result(PATIENCE_S)
    with raises_naming(gs.Cancelled, "no weights"):
        held.result(PATIENCE_S)
    first.result(PATIENCE_S)
    run = session.finish()
    assert len(run.workload.applications[0].operations) == 2


def test_an_application_of_which_nothing_begins_is_not_in_the_run(session):
    broken = Future()
    held = submit(session.application("alice"), after=broken)
    submit(session.application("bob")).result(PATIENCE_S)
    broken.set_exception(ValueError("no weights"))
    assert isinstance(held.exception(PATIENCE_S), gs.Cancelled)
    assert [each.name for each in session.finish().workload.applications] == ["bob"]


def test_a_run_in_which_nothing_begins_is_refused(session):
    broken = Future()
    submit(session.application("alice"), after=broken)
    broken.cancel()
    with raises_naming(gs.InvalidInput, "submitted", "begun"):
        session.finish()


def test_is_cancelled_with_what_it_waits_for(session):
    alice = session.application("alice")
    held = submit(session.application("bob"), after=submit(alice, ENDLESS))
    alice.cancel()
    assert isinstance(held.exception(PATIENCE_S), gs.Cancelled)
    future = Future()
    held = submit(session.application("carol"), after=future)
    future.cancel()
    assert isinstance(held.exception(PATIENCE_S), gs.Cancelled)


def test_goes_with_its_application(session):
    future, application = Future(), session.application("alice")
    held = submit(application, after=future)
    application.cancel()
    assert isinstance(held.exception(PATIENCE_S), gs.Cancelled)
    future.set_result(None)


def test_fails_with_a_session_that_is_closed(session):
    future = Future()
    held = submit(session.application("alice"), after=future)
    session.close()
    assert isinstance(held.exception(PATIENCE_S), gs.DeviceError)
    future.set_result(None)


def test_finish_does_not_wait_for_ever(session):
    submit(session.application("alice"), after=Future())
    with pytest.raises(gs.DeviceError):
        session.finish(0.05)


@pytest.mark.parametrize("nothing", [5, "job", None, [Future(), object()]])
def test_what_cannot_be_waited_for_is_refused_before_anything_is_submitted(session, nothing):
    application = session.application("alice")
    with raises_naming(gs.InvalidInput, "after", "concurrent.futures.Future"):
        submit(application, after=nothing)
    assert session.status().applications == []


def test_a_simulated_device_has_no_streams(session):
    with raises_naming(gs.InvalidInput, "after", "simulated"):
        submit(session.application("alice"), after=Stream())
