# SPDX-License-Identifier: Apache-2.0
"""What a session promises, it promises in the process and through the server: the same tests on a simulated device."""

import inspect
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core

DEVICE = "sim:h100"
PATIENCE_S = 60
LONG = gs.KernelModel("long", threads=128, latency_ns=1_000_000_000)
ENDLESS = gs.KernelModel("endless", threads=128, latency_ns=1_000_000)
"""With MOST blocks: minutes."""
MOST = 1_000_000_000
SHORT = gs.KernelModel("short", threads=128, latency_ns=20_000)
TRIAD = gs.Launch.of_suite("triad", "small")


@pytest.fixture
def session(session_of_either_kind):
    return session_of_either_kind


def submit(application, kernel=SHORT, blocks=8, args=()):
    block = TRIAD.block if kernel is TRIAD.kernel else 128
    return application.submit(kernel, grid=blocks, block=block, args=args)


def test_a_job_ends(session):
    job = submit(session.application("alice"))
    job.result()
    assert job.done()
    job.result(timeout=0)


def test_a_kernel_with_a_profile(session):
    session.load(TRIAD.kernel)
    arrays = [session.array(np.zeros(1000, np.float32)) for _ in range(3)]
    submit(session.application("alice"), TRIAD.kernel, args=[*arrays, 1.5, 1000]).result(PATIENCE_S)


def test_a_kernel_without_one_is_refused(session):
    application = session.application("alice")
    with raises_naming(gs.InvalidInput, "profile"):
        submit(application, gs.Kernel("__global__ void unknown() {}", "unknown"))


def test_launches_are_submitted_in_the_form_of_a_workload(session):
    application = session.application("alice")
    jobs = [
        application.submit(SHORT, 8),
        application.submit(gs.Launch(SHORT, 8)),
        application.submit(gs.Launch(SHORT, grid=(2, 4), block=(64, 2))),
        application.submit(gs.Launch.of_suite("triad", "small")),
    ]
    for job in jobs:
        job.result(PATIENCE_S)


@pytest.mark.parametrize(
    ("give", "named"),
    [
        (lambda submit: submit(SHORT, 8, grid=8, block=128), ("short", "blocks")),
        (lambda submit: submit(TRIAD.kernel, 8), ("triad", "blocks")),
        (lambda submit: submit(SHORT), ("short", "blocks, or grid")),
        (lambda submit: submit(gs.Copy("to_device", 5)), ("Copy", "Launch")),
        (lambda submit: submit(TRIAD, grid=8), "triad"),
        (lambda submit: submit(gs.Launch(SHORT, 8, pace=gs.HostPace(host_ns=5))), ("short", "pace")),
        (lambda submit: submit("short", 8), ("short", "KernelModel")),
    ],
)
def test_launches_that_are_given_twice_or_in_part(session, give, named):
    with raises_naming(gs.InvalidInput, named):
        give(session.application("alice").submit)


def test_three_dimensions(session):
    job = session.application("alice").submit(SHORT, grid=(2, 3, 4), block=(32, 2, 2))
    job.result(PATIENCE_S)


def test_arrays_keep_what_they_hold(session):
    values = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    array = session.array(values)
    assert np.array_equal(array.numpy(), values)
    array.upload(values + 1)
    assert np.array_equal(array.numpy(), values + 1)
    assert (array.shape, array.dtype, array.nbytes) == ((2, 3, 4), np.dtype(np.int16), 48)
    assert session.zeros((5, 5)).numpy().tolist() == np.zeros((5, 5)).tolist()
    assert session.zeros(0).numpy().size == 0


def test_arrays_refuse_the_same(session):
    array = session.zeros(3)
    for wrong, named in [
        (lambda: array.upload([1, 2]), (3, 2)),
        (lambda: session.zeros("3"), "shape"),
        (lambda: session.zeros(-1), "shape"),
        (lambda: session.zeros(3, object), ()),
    ]:
        with raises_naming(gs.InvalidInput, named):
            wrong()
    array.free()
    array.free()
    with pytest.raises(gs.InvalidInput):
        array.numpy()


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"grid": 0}, "short"),
        ({"grid": "1"}, "short"),
        ({"block": 64}, (64, 128)),
        ({"args": 3}, "args"),
        ({"kernel": "short"}, ("kernel", "KernelModel", "short")),
    ],
)
def test_launches_that_cannot_be(session, fields, named):
    application = session.application("alice")
    with raises_naming(gs.InvalidInput, named):
        application.submit(**{"kernel": SHORT, "grid": 1, "block": 128} | fields)
    submit(application).result(PATIENCE_S)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"name": ""}, "name"),
        ({"priority": 0.5}, ("alice", "priority")),
        ({"weight": 0}, ("alice", "weight")),
        ({"deadline_ns": -1}, ("alice", "deadline_ns")),
        ({"min_speed": 2}, ("alice", "min_speed")),
        ({"latency_ns": 0}, ("alice", "latency_ns")),
    ],
)
def test_applications_that_cannot_be(session, fields, named):
    with raises_naming(gs.InvalidInput, named):
        session.application(**{"name": "alice"} | fields)
    session.application("alice", priority=-2, weight=2.0, deadline_ns=1e9)
    with raises_naming(gs.InvalidInput, "alice"):
        session.application("alice")


def test_a_latency_bound_needs_the_right_to_a_priority(session):
    with raises_naming((gs.InvalidInput, gs.RefusedError), "alice"):
        session.application("alice", latency_ns=1e6)


def test_a_priority_above_what_is_permitted(session):
    with raises_naming((gs.InvalidInput, gs.RefusedError), 1, 0):
        session.application("alice", priority=1)


def test_a_priority_may_change(session):
    application = session.application("alice")
    application.set_priority(-2)  # before anything was submitted
    job = submit(application, ENDLESS, MOST)
    assert status_of(session, "alice").priority == -2
    application.set_priority(-3)
    assert application.priority == -3
    assert status_of(session, "alice").priority == -3
    with raises_naming((gs.InvalidInput, gs.RefusedError), "alice", 1, 0):
        application.set_priority(1)
    with raises_naming(gs.InvalidInput, "alice", "priority"):
        application.set_priority(-0.5)
    assert application.priority == -3
    assert not job.done()
    application.cancel()
    application.set_priority(-4)
    with raises_naming((gs.InvalidInput, gs.RefusedError), "alice", 1, 0):
        application.set_priority(1)
    assert application.priority == -4


def status_of(session, name):
    """Once it has arrived. The server adds a client's number to the name."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for each in session.status().applications:
            if each.name.partition("@")[0] == name:
                return each
        time.sleep(0.01)
    raise AssertionError(f"no {name} in {session.status().applications}")


def test_the_status(session):
    application = session.application("alice", priority=-1, weight=2.0)
    submit(application).result(PATIENCE_S)
    submit(application, ENDLESS, MOST)
    submit(application)
    deadline = time.monotonic() + PATIENCE_S
    while (found := status_of(session, "alice")).done == 0 or found.waiting == 0:
        assert time.monotonic() < deadline, found
    assert (found.kernel, found.blocks, found.state, found.waiting) == ("endless", MOST, "running", 1)
    assert (found.priority, found.weight, found.operations) == (-1, 2.0, 1)
    assert found.done <= found.started <= MOST
    assert found.quota
    assert found.sm_time_ns > 0
    assert found.elapsed_ns > 0
    assert session.status().now_ns > 0
    assert {each for each in dir(_core.ApplicationStatus) if not each.startswith("_")} <= set(dir(found))
    application.cancel()


def test_a_first_launch_that_cannot_be_in_time_is_refused(session):
    application = session.application("alice", deadline_ns=1e6)
    with raises_naming(gs.InvalidInput, 1000000, "long"):
        submit(application, gs.KernelModel("long", threads=128, latency_ns=2e6)).result(PATIENCE_S)
    submit(application).result(PATIENCE_S)  # this is the first, and its time begins now


def test_a_missed_deadline_is_counted(session):
    patient, hurried = session.application("patient"), session.application("hurried", deadline_ns=1e6)
    for application in (patient, hurried):
        submit(application)
        submit(application, ENDLESS, MOST)
    deadline = time.monotonic() + PATIENCE_S
    while not status_of(session, "hurried").is_late:
        assert time.monotonic() < deadline
    assert not status_of(session, "patient").is_late


def test_the_past(real_server):
    def tables(session):
        with session:
            for name in ("alice", "bob"):
                submit(session.application(name)).result(PATIENCE_S)
            past = session.history(60)
            assert past.now_ns > 0
            return past.operations(), past.quotas(), past.holds()

    with gs.connect(real_server) as other:
        submit(other.application("carol")).result(PATIENCE_S)
        served = tables(gs.connect(real_server))
    in_process = tables(gs.Session(DEVICE, "even", keeps_record=False))
    for ours, theirs in zip(served, in_process, strict=True):
        assert list(ours) == list(theirs)
        assert set(ours["application"]) == {"alice", "bob"} == set(theirs["application"])
    for past in (served, in_process):
        operations, quotas, _ = past
        assert operations["kernel"] == ["short", "short"]
        assert operations["state"] == ["ended", "ended"]
        assert all(begin <= end for begin, end in zip(operations["began_ns"], operations["end_ns"], strict=True))
        assert max(quotas["blocks"]) > 0


def test_a_timeout_ends_the_wait_and_not_the_job(session):
    application = session.application("alice")
    job = submit(application, ENDLESS, MOST)
    for seconds in (0.05, 0):
        with raises_naming(TimeoutError, "endless", "alice", 0):
            job.result(timeout=seconds)
    assert not job.done()
    application.cancel()
    with pytest.raises(gs.Cancelled):  # it was there until now
        job.result(timeout=PATIENCE_S)


def test_cancelled_jobs_say_so_and_others_notice_nothing(session):
    alice, bob = session.application("alice"), session.application("bob")
    jobs = [submit(alice, ENDLESS, MOST) for _ in range(3)]
    other = submit(bob)
    alice.cancel()
    other.result(PATIENCE_S)
    for job in jobs:
        with raises_naming(gs.Cancelled, "alice"):
            job.result(PATIENCE_S)
    with pytest.raises(gs.Cancelled):
        submit(alice)
    submit(bob).result(PATIENCE_S)


def test_what_a_job_ended_with_can_be_asked_for(session):
    alice, bob = session.application("alice"), session.application("bob")
    cancelled, well = submit(alice, ENDLESS, MOST), submit(bob)
    assert well.exception(PATIENCE_S) is None
    with pytest.raises(TimeoutError):
        cancelled.exception(timeout=0.01)
    with raises_naming(gs.InvalidInput, "timeout"):  # which says nothing of the job
        cancelled.exception(timeout=-1)
    alice.cancel()
    assert isinstance(cancelled.exception(PATIENCE_S), gs.Cancelled)
    assert cancelled.done()


def test_jobs_of_an_application_end_in_order(session):
    application = session.application("alice")
    jobs = [submit(application) for _ in range(50)]
    jobs[30].result(PATIENCE_S)
    assert all(job.done() for job in jobs[:30])
    jobs[-1].result(PATIENCE_S)


def test_another_policy_while_it_runs(session):
    jobs = [submit(session.application(name), blocks=5000) for name in ("alice", "bob")]
    session.set_policy("srtf")
    with raises_naming(gs.InvalidInput, "fifi", "fifo"):
        session.set_policy("fifi")
    for job in jobs:
        job.result(PATIENCE_S)
    assert session.policy == "srtf"
    session.set_policy("even")


def test_many_threads(session):
    def work(number):
        application = session.application(f"thread {number}")
        for job in [submit(application) for _ in range(10)]:
            job.result(PATIENCE_S)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))


def test_after_the_end(session):
    application = session.application("alice")
    job = submit(application)
    session.finish(PATIENCE_S)
    assert job.done()
    for use in (lambda: submit(application), session.finish, lambda: session.load(TRIAD.kernel)):
        with pytest.raises(gs.InvalidInput):
            use()
    session.close()


def test_closing_does_not_wait(session):
    job = submit(session.application("alice"), LONG, blocks=1_000_000)
    session.close()
    with pytest.raises((gs.InvalidInput, gs.DeviceError)):
        job.result(PATIENCE_S)


def test_the_status_tells_how_much_slower_sharing_makes(real_server, eventually):
    with gs.connect(real_server) as session:
        eventually(lambda: len(session.status()["clients"]) == 1)  # blocks of clients before have ended
        alone = session.application("alone")
        for _ in range(3):
            submit(alone, LONG, blocks=1).result(PATIENCE_S)
        (found,) = [each for each in session.status()["applications"] if each["name"].startswith("alone@")]
        assert 1.0 <= found["ntt"] < 10  # a busy machine delays the messages
        assert found["sm_time_ns"] == pytest.approx(3e9, rel=0.1)
        assert found["kernel"] == ""
        unknown = submit(alone, ENDLESS, MOST)
        assert not unknown.done()
        eventually(lambda: any(each["kernel"] for each in session.status()["applications"]))
        status = session.status()["applications"]
        (found,) = [each for each in status if each["name"].startswith("alone@")]
        assert (found["kernel"], found["blocks"]) == ("endless", MOST)


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_an_application_is_on_a_device_that_has_memory_for_it(session):
    application = session.application("alice", device=0, memory_bytes=1000)
    submit(application, args=[application.array([1.0]), application.zeros(3)]).result(PATIENCE_S)
    assert application.device == 0
    assert len(session.devices) == 1
    with raises_naming(gs.InvalidInput, "'bob'", "device", 1):
        session.application("bob", device=1)
    with raises_naming(gs.InvalidInput, "'carol'", 10**14):
        session.application("carol", memory_bytes=10**14)


@pytest.fixture(scope="module")
def both(real_server):
    """One of each in the process, and through the server."""

    def made(session):
        application = session.application("alice")
        return {"session": session, "application": application, "array": session.zeros(3), "job": submit(application)}

    with gs.Session(DEVICE, "even") as in_process, gs.connect(real_server) as served:
        yield made(in_process), made(served)


@pytest.mark.parametrize(
    ("name", "not_there"),
    [
        ("session", {"vacate", "restore"}),  # a client has one device
        ("application", set()),
        ("array", {"memory", "alias"}),  # for those who handle device memory
        ("job", set()),
    ],
)
def test_whatever_there_is_in_the_process_there_is_through_the_server(both, name, not_there):
    in_process, served = (each[name] for each in both)
    assert public(in_process) - public(served) == not_there
    for each in public(in_process) & public(served):
        own, others = getattr(in_process, each), getattr(served, each)
        assert callable(own) == callable(others)
        if callable(own):
            own, others = (list(inspect.signature(call).parameters.values()) for call in (own, others))
            told = [[(one.name, one.kind, one.default) for one in some] for some in (own, others[: len(own)])]
            assert told[0] == told[1]
            assert all(one.default is not one.empty for one in others[len(own) :])
