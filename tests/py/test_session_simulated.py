# SPDX-License-Identifier: Apache-2.0
"""Sessions on a simulated device: what a session does on a GPU, without one."""

import os
import signal
import threading
import time
import weakref
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
from live_sessions import started
from messages import raises_naming

import gpushare as gs
from gpushare import _core

PATIENCE_S = 30
DEVICE = "sim:gtx480"  # 15 SMs


def model(name="kernel", block_ms=1.0, threads=192):
    return gs.KernelModel(name, threads=threads, latency_ns=block_ms * 1e6)


def submit(application, blocks=15, *, block_ms=1.0, name="kernel"):
    return application.submit(model(name, block_ms), grid=blocks, block=192)


@pytest.fixture
def session():
    with gs.Session(DEVICE, "srtf") as session:
        yield session


def test_finish_returns_a_run(session):
    alice = session.application("alice", weight=2.0, min_speed=0.5, latency_ns=1e9)
    bob = session.application("bob", priority=3)
    for _ in range(3):
        submit(alice)
        submit(bob, 200)
    session.application("idle")
    run = session.finish()
    assert not run.is_real
    assert run.policy == "srtf"
    assert [each.name for each in run.workload.applications] == ["alice", "bob"]
    first, second = run.workload.applications
    assert (first.weight, first.min_speed, first.latency_ns, second.priority) == (2.0, 0.5, 1e9, 3)
    assert run.blocks().groupby("launch")["blocks"].sum().to_dict() == dict(enumerate([15] * 3 + [200] * 3))
    table = run.applications()
    assert (table["alone_ns"] > 0).all()
    assert (table["ntt"] > 0.99).all()
    assert 0 < run.metrics()["stp"] <= 2


def test_time_is_the_wall_clocks(session):
    begin = time.monotonic()
    submit(session.application("alice"), block_ms=50).result(PATIENCE_S)
    assert time.monotonic() - begin > 0.05


def test_speed():
    with gs.Session(DEVICE, "fifo", speed=10_000) as session:
        begin = time.monotonic()
        submit(session.application("alice"), block_ms=200_000).result(PATIENCE_S)
        assert 0.02 < time.monotonic() - begin < 2 * PATIENCE_S
        assert session.finish().record.makespan > 200e9
    with raises_naming(gs.InvalidInput, "speed"):
        gs.Session(DEVICE, speed=0)
    with pytest.raises(gs.InvalidInput):
        gs.Session("cuda:0", speed=2)


def test_kernels_of_the_suite():
    with gs.Session("sim:h100", "even") as session:
        for name in ("triad", "nbody"):
            launch = gs.Launch.of_suite(name)
            values = session.zeros(10)
            session.load(launch.kernel)
            session.application(name).submit(launch.kernel, grid=300, block=launch.block, args=[values])
        run = session.finish()
    assert sorted(run.launches()["kernel"]) == ["nbody", "triad"]
    assert run.metrics()["stp"] > 0.5


def test_kernels_without_a_model_are_refused(session):
    kernel = gs.Kernel("__global__ void mine() {}", "mine")
    with raises_naming(gs.InvalidInput, "mine"):
        session.application("alice").submit(kernel, grid=1, block=32)


@pytest.mark.parametrize(
    ("launch", "named"),
    [
        ({"block": 64}, (64, 192)),
        ({"grid": 0}, ("grid.x", "1..")),
        ({"grid": 1.5}, "grid"),
        ({"args": 5}, "args"),
    ],
)
def test_launches_that_cannot_be(session, launch, named):
    with raises_naming(gs.InvalidInput, named):
        session.application("alice").submit(model(), **({"grid": 1, "block": 192} | launch))


def test_arrays(session):
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    array = session.array(values)
    assert (array.shape, array.dtype, array.nbytes) == ((3, 4), np.float32, 48)
    assert np.array_equal(array.numpy(), values)
    array.upload(values + 1)
    submit(session.application("alice")).result(PATIENCE_S)
    assert np.array_equal(array.numpy(), values + 1)  # a simulated kernel computes nothing
    assert not session.zeros((2, 3), np.int16).numpy().any()
    assert not hasattr(array, "__cuda_array_interface__")
    array.free()
    with pytest.raises(gs.InvalidInput):
        array.numpy()


def test_arguments_are_held_until_the_job_has_ended_whatever_becomes_of_their_list(session):
    array = session.zeros(3)
    held, arguments = weakref.ref(array), [array]
    job = session.application("alice").submit(model(block_ms=50), grid=1, block=192, args=arguments)
    arguments.clear()
    del array
    assert held() is not None
    job.result(PATIENCE_S)
    assert held() is None


def test_many_threads_submit(session):
    def work(number):
        application = session.application(f"thread {number}")
        jobs = [submit(application, 3, block_ms=0.001) for _ in range(50)]
        jobs[-1].result(PATIENCE_S)
        assert all(job.done() for job in jobs)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert [len(each.operations) for each in session.finish().workload.applications] == [50] * 4


def test_a_policy_written_in_python():
    class Fifo(gs.Policy):
        def decide(self, state):
            return gs.Plan({each: state.full_quota(each) for each in state.running})

    with gs.Session(DEVICE, Fifo()) as session:
        submit(session.application("alice")).result(PATIENCE_S)
        session.set_policy("srtf")
        submit(session.application("bob")).result(PATIENCE_S)
        session.set_policy(Fifo())
        assert session.finish().policy == "Fifo, then srtf, then Fifo"


def test_a_policy_that_fails():
    class Fails(gs.Policy):
        def decide(self, state):
            raise ValueError("not today")

    with gs.Session(DEVICE, Fails()) as session:
        application = session.application("alice")
        job = submit(application)
        with raises_naming(gs.PolicyError, "not today"):
            job.result(PATIENCE_S)
        for action in (job.result, session.finish):
            with raises_naming(gs.PolicyError, "not today"):
                action()


def test_close_does_not_wait():
    with gs.Session(DEVICE, "fifo") as session:
        job = submit(session.application("slow"), block_ms=1e5)
        assert not job.done()
        with raises_naming(TimeoutError, "kernel", "slow"):
            job.result(timeout=0.01)
    with pytest.raises(gs.DeviceError):
        job.result(timeout=1)
    with pytest.raises(gs.InvalidInput):
        session.status()


def test_a_result_without_a_timeout_waits_until_the_job_has_ended(session, monkeypatch):
    monkeypatch.setattr("gpushare.session.job.LONGEST_WAIT_S", 0.001)
    gate = Future()
    job = session.application("alice").submit(model(), grid=15, block=192, after=gate)
    waits, wait = [], job._wait

    def open_at_the_third(seconds):
        waits.append(seconds)
        if len(waits) == 3:
            gate.set_result(None)
        return wait(seconds)

    monkeypatch.setattr(job, "_wait", open_at_the_third)
    assert job.result() is None
    assert len(waits) >= 3
    assert job.done()


def test_two_threads_may_be_the_first_to_use_a_future(session, monkeypatch):
    gate, is_being_made = Future(), threading.Event()
    job = session.application("alice").submit(model(), grid=15, block=192, after=gate)
    ends = [Future(), Future()]

    def made_slowly():
        is_being_made.set()
        late.join(0.2)  # it cannot end before the state is there
        return Future()

    def second():
        assert is_being_made.wait(PATIENCE_S)
        job.add_done_callback(ends[1].set_result)

    monkeypatch.setattr("gpushare.session.job.Future", made_slowly)
    early = threading.Thread(target=job.add_done_callback, args=(ends[0].set_result,), daemon=True)
    late = threading.Thread(target=second, daemon=True)
    for each in (late, early):
        each.start()
    for each in (late, early):
        each.join(PATIENCE_S)
        assert not each.is_alive()
    gate.set_result(None)
    assert [each.result(PATIENCE_S) for each in ends] == [job, job]


def test_finish_gives_up(session):
    submit(session.application("slow"), block_ms=1e5)
    started(session, "slow")
    with raises_naming(gs.DeviceError, "kernel", "slow"):
        session.finish(timeout=0.2)


# Cancelling.


def test_cancelled_jobs_say_so_and_others_go_on():
    with gs.Session(DEVICE, "even") as session:
        gone, stays = session.application("gone"), session.application("stays")
        jobs = [submit(gone, 10**9, block_ms=0.5), submit(gone)]
        other = submit(stays, 300)
        started(session, "gone")
        gone.cancel()
        gone.cancel()
        for job in [*jobs, *jobs]:
            with raises_naming(gs.Cancelled, "gone"):
                job.result(PATIENCE_S)
        with pytest.raises(gs.Cancelled):
            submit(gone)
        other.result(PATIENCE_S)
        assert [each.name for each in session.status().applications] == ["stays"]
        run = session.finish()
    assert [len(each.operations) for each in run.workload.applications] == [1, 1]
    blocks = run.blocks().groupby("application")["blocks"].sum()
    assert 0 < blocks["gone"] < 10**9
    assert blocks["stays"] == 300
    assert run.applications().set_index("application")["ntt"]["gone"] == 1


def test_cancel_before_anything_was_submitted(session):
    application = session.application("early")
    application.cancel()
    with raises_naming(gs.Cancelled, "early"):
        submit(application)
    submit(session.application("late")).result(PATIENCE_S)
    assert [each.name for each in session.finish().workload.applications] == ["late"]


# While it runs.


def test_another_policy_takes_over():
    with gs.Session(DEVICE, "fifo") as session:
        submit(session.application("long"), 10**9, block_ms=0.5)
        started(session, "long")
        urgent = submit(session.application("urgent", priority=2))
        with pytest.raises(TimeoutError):
            urgent.result(0.05)
        session.set_policy("effisha-static")
        urgent.result(PATIENCE_S)
        with raises_naming(gs.InvalidInput, "none"):
            session.set_policy("none")
        with raises_naming(gs.InvalidInput, "policy"):
            session.set_policy(5)


def test_priorities_change():
    with gs.Session(DEVICE, "effisha-static", highest_priority=5) as session:
        first, second = session.application("first", priority=3), session.application("second")
        second.set_priority(1)  # before anything was submitted
        submit(first, 10**9, block_ms=0.5)
        started(session, "first")
        job = submit(second)
        with pytest.raises(TimeoutError):
            job.result(0.05)
        with raises_naming(gs.InvalidInput, 6, 5):
            second.set_priority(6)
        second.set_priority(4)
        job.result(PATIENCE_S)
        assert second.priority == 4
        assert [each.priority for each in session.status().applications] == [3, 4]
        first.cancel()
        states = session.finish().trace  # a trace with a change of priority is one like any other
        assert _core.Trace.from_bytes(states.to_bytes()).to_bytes() == states.to_bytes()


def test_status_of_an_application(session):
    application = session.application("alice", priority=1, weight=2.0)
    assert session.status().applications == []
    submit(application, 10**6, block_ms=1, name="long")
    submit(application)
    seen = started(session, "alice")
    assert (seen.priority, seen.weight, seen.state, seen.waiting) == (1, 2.0, "running", 1)
    assert (seen.kernel, seen.blocks) == ("long", 10**6)
    assert 0 < seen.started <= 10**6
    while seen.done == 0:
        seen = started(session, "alice")
    assert seen.elapsed_ns >= 1e6
    assert seen.quota
    assert session.status().now_ns > 0
    session.close()


def test_a_refused_first_launch_loses_nothing(session):
    alice, bob = session.application("alice"), session.application("bob")
    submit(alice)
    with pytest.raises(gs.InvalidInput):
        bob.submit(gs.KernelModel("big", threads=64, registers_per_thread=4096, latency_ns=1000), grid=1, block=64)
    assert [each.name for each in session.finish().workload.applications] == ["alice"]


def test_missed_deadlines_are_counted():
    with gs.Session("sim:h100", "even") as session:
        names = {"late": 1e6, "in time": 1e12, "without": None}
        applications = [session.application(name, deadline_ns=deadline) for name, deadline in names.items()]
        for application in applications:
            for latency_ns in (1000, 5e6):
                model = gs.KernelModel("k", threads=128, latency_ns=latency_ns)
                application.submit(model, grid=1, block=128)
        assert session.finish().late() == ["late"]


def test_a_wrong_timeout_leaves_the_session_open(session):
    submit(session.application("alice"))
    with raises_naming(gs.InvalidInput, "timeout"):
        session.finish(timeout=-1)
    assert len(session.finish().workload.applications) == 1


def test_ctrl_c_ends_the_wait_for_all_jobs_and_no_job(session):
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell ignores it for what runs in the background
    job = submit(session.application("alice"), block_ms=60_000)

    def interrupt():
        while not session._finished:  # the main thread has not begun to wait
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        session.finish(timeout=PATIENCE_S)
    signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < PATIENCE_S / 2
    assert not job.done()
    assert session.status().applications[0].name == "alice"


def test_another_policy_looks_at_priorities_as_they_are():
    with gs.Session(DEVICE, "fifo") as session:
        bob, late = session.application("bob"), session.application("late")
        submit(bob).result(PATIENCE_S)
        for application in (bob, late):
            application.set_priority(-3)
            with raises_naming(gs.PolicyError, application.name):
                session.set_policy("effisha-dynamic")
            application.set_priority(3)
        session.set_policy("effisha-dynamic")
        submit(bob).result(PATIENCE_S)
        submit(late).result(PATIENCE_S)


@pytest.mark.parametrize(
    ("launch", "named"),
    [
        ({"grid": (1, 2, 3, 4)}, ("grid", 3)),
        ({"grid": ()}, ("grid", 3)),
        ({"grid": "ab"}, ("grid", 3)),
        ({"grid": 2.5}, "grid"),
        ({"grid": 0}, "grid.x"),
        ({"grid": (1, 70_000)}, "grid.y"),
        ({"grid": (2**17, 2**16 - 1)}, 2147483647),
        ({"grid": 2**33}, "grid.x"),
        ({"shared_bytes": -1}, "shared_bytes"),
        ({"shared_bytes": 2**21}, "shared_bytes"),
        ({"shared_bytes": 0.5}, "shared_bytes"),
        ({"block": (192, 1, 1, 1)}, ("block", 3)),
    ],
)
def test_a_launch_that_a_gpu_refuses_is_refused(session, launch, named):
    application = session.application(f"refused {launch}")
    with raises_naming(gs.InvalidInput, named):
        application.submit(model(), **{"grid": 1, "block": 192} | launch)


@pytest.mark.parametrize("name", ["a\x1b[2J", "a\nb", "\x9b1m", "\x7f", "\t"])
def test_names_with_control_characters_are_refused(session, name):
    with pytest.raises(gs.InvalidInput):
        session.application(name)
    with pytest.raises(gs.InvalidInput):
        gs.KernelModel(name, threads=32, latency_ns=1)
