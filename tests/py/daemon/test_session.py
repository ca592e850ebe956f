# SPDX-License-Identifier: Apache-2.0
"""What a client gets from the server: results, errors, threads, forks."""

import os
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.worker.application_table import ApplicationTable
from gpushare.daemon.worker.served_application import ServedApplication


def test_a_job_computes_on_what_was_uploaded(session, run):
    values = session.array(np.arange(6, dtype=np.float32).reshape(2, 3))
    run(session.application("alice"), "add", values, 2.0).result(30)
    assert np.array_equal(values.numpy(), np.arange(6, dtype=np.float32).reshape(2, 3) + 2)


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "i8", "c8", "b1", "S3", [("x", "i4"), ("y", "f8")]])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4), (1 << 20,)])
def test_arrays_come_back_as_they_went(session, dtype, shape):
    kind = np.dtype(dtype)
    content = np.random.default_rng(3).bytes(int(np.prod(shape)) * kind.itemsize)
    values = np.frombuffer(bytearray(b if kind.kind != "b" else b & 1 for b in content), kind).reshape(shape)
    array = session.array(values)
    assert (array.shape, array.dtype, array.nbytes) == (shape, kind, values.nbytes)
    assert array.numpy().tobytes() == values.tobytes()


def test_arrays_of_other_types_and_shapes_are_refused(session):
    array = session.zeros((2, 3), np.int32)
    assert not array.numpy().any()
    with raises_naming(gs.InvalidInput, 2, 3):
        array.upload([1, 2, 3])
    with pytest.raises(gs.InvalidInput):
        session.array([None])
    with raises_naming(gs.InvalidInput, "shape"):
        session.zeros(-1)


def test_a_freed_array_is_gone(session, run):
    array = session.zeros(3)
    array.free()
    for use in (array.numpy, lambda: array.upload([1, 2, 3]), lambda: run(session.application("a"), "add", array, 1)):
        with pytest.raises(gs.InvalidInput):
            use()


def test_dropped_arrays_give_their_memory_back(session, eventually):
    eventually(lambda: session.status()["memory"]["used_bytes"] == 0)
    for _ in range(100):
        session.zeros(1000)
    eventually(lambda: session.status()["memory"]["used_bytes"] == 0)


def test_a_job_keeps_its_arrays(session, run, eventually):
    eventually(lambda: len(session.status()["clients"]) == 1)
    application = session.application("alice")
    array, gate = session.zeros(1000), session.zeros(1)
    job = run(application, "add_once_open", array, 1, gate)
    array.free()
    assert session.status()["memory"]["used_bytes"] == 4004
    gate.upload([1])
    job.result(30)
    gate.free()
    eventually(lambda: session.status()["memory"]["used_bytes"] == 0)


def test_jobs_of_an_application_run_in_order(session, run):
    application, values = session.application("alice"), session.zeros(1, np.float64)
    jobs = [run(application, "add", values, 1.0) for _ in range(300)]
    jobs[-1].result(30)
    assert all(job.done() for job in jobs)
    assert values.numpy()[0] == 300


def test_waiting_ends_with_its_time_and_not_the_job(session, run):
    array, gate = session.zeros(1), session.zeros(1)
    job = run(session.application("alice"), "add_once_open", array, 1, gate)
    assert not job.done()
    with raises_naming(TimeoutError, "add_once_open", "alice", "0.05"):
        job.result(timeout=0.05)
    gate.upload([1])
    job.result(timeout=30)
    assert job.done()


def test_cancelled_jobs_fail_and_others_do_not(session, run):
    alice, bob = session.application("alice"), session.application("bob")
    jobs = [run(alice, "sleep", 60) for _ in range(3)]
    other = run(bob, "sleep", 0.2)
    alice.cancel()
    for job in jobs:
        with raises_naming(gs.Cancelled, "alice@"):
            job.result(30)
    other.result(30)


def test_cancelled_applications_are_forgotten_once_they_are_over(session, run, eventually):
    for number in range(20):
        application = session.application(f"passing {number}")
        run(application, "sleep", 0).result(30)
        application.cancel()
        application.cancel()  # which is nothing more
        with pytest.raises(gs.Cancelled):
            run(application, "sleep", 0)
    steady = session.application("steady")
    eventually(lambda: session.status()["clients"][0]["applications"] == 1)
    run(steady, "sleep", 0).result(30)


def test_a_cancelled_application_is_there_until_its_last_block_has_ended():
    """For the watchdog, and to be named if it faults."""
    table = ApplicationTable()
    account = SimpleNamespace(totals=lambda: SimpleNamespace(unfinished=jobs))
    cancelled, steady = (
        ServedApplication(SimpleNamespace(name=name, cancel=lambda: None), account, 0.25) for name in ("alice", "bob")
    )
    for handle, each in enumerate((cancelled, steady)):
        table.put(handle, each)
    jobs = 1
    assert table.cancel(0)
    table.forget_cancelled()
    assert (list(table), table.has_name("alice"), table.min_speeds) == ([cancelled, steady], True, 0.25)
    jobs = 0
    table.forget_cancelled()
    assert (list(table), table.has_name("alice"), table.has_name("bob")) == ([steady], False, True)


def test_what_compilers_say_comes_back(session):
    with raises_naming(gs.CompileError, "k.cu", 1) as raised:
        session.load(gs.Kernel("syntax error", "k"))
    assert (raised.value.text, raised.value.options) == ("syntax error", ("-w",))
    session.load(gs.Kernel("fine", "k"))


def test_large_sources_go_through_shared_memory(session):
    session.load(gs.Kernel("//" + "x" * (3 << 20), "k"))
    with raises_naming(gs.InvalidInput, 5242882, 4194304):
        session.load(gs.Kernel("//" + "x" * (5 << 20), "k"))


class TensorOnGpu:
    """As those of PyTorch and CuPy: it can say that it is none of the host's only when it is asked to be one."""

    @property
    def __cuda_array_interface__(self):
        return {"data": (512, False), "shape": (3,), "typestr": "<f4", "strides": None, "version": 2}

    def __array__(self):
        raise TypeError


class TensorWithGradient(TensorOnGpu):
    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("it requires a gradient")


def test_bad_arguments_name_themselves(session, run):
    application = session.application("alice")
    for value, named in [
        (np.zeros(3), ("add", 1, "ndarray")),
        (TensorOnGpu(), "TensorOnGpu"),
        (TensorWithGradient(), "TensorWithGradient"),
        ("text", "text"),
        (1 << 70, ()),
    ]:
        with raises_naming(gs.InvalidInput, named):
            run(application, "add", value, 1)
    with raises_naming(gs.InvalidInput, "add", "grid.x"):
        application.submit(gs.Kernel("", "add"), grid=0, block=1)
    with raises_naming(gs.InvalidInput, "unknown"):
        run(application, "unknown")


def test_a_launch_on_several_devices_is_refused(session):
    with raises_naming(gs.InvalidInput, "spread=True"):
        session.application("alice").submit(gs.KernelModel("m", threads=32, latency_ns=1), 4, spread=True)


def test_numbers_become_what_the_kernel_takes(session, run):
    values = session.array(np.zeros(1, np.float64))
    application = session.application("alice")
    for value in (0.5, 3, np.float64(0.25), np.array(2.0), 1 << 60):
        run(application, "add", values, value).result(30)
    assert values.numpy()[0] == 0.5 + 3 + 0.25 + 2 + float(1 << 60)
    for wrong, named in [(np.float32(1), ("float64", "float32")), (True, "True")]:
        with raises_naming(gs.InvalidInput, "add", 2, named):
            run(application, "add", values, wrong)
    with raises_naming(gs.InvalidInput, "add", 2, 1):
        run(application, "add", values)


def test_a_name_is_taken_once_per_client(server, session, eventually):
    eventually(lambda: len(session.status()["clients"]) == 1)
    session.application("alice")
    with raises_naming(gs.InvalidInput, "alice"):
        session.application("alice")
    with gs.connect(server) as other:
        other.application("alice")
        names = [each["name"] for each in other.status()["applications"]]
        assert len(names) == len(set(names)) == 2
        assert [name.partition("@")[0] for name in names] == ["alice", "alice"]


def test_after_the_end(server, run):
    session = gs.connect(server)
    application, array = session.application("alice"), session.zeros(1)
    job = run(application, "add", array, 1)
    session.finish()
    job.result()
    for use in (lambda: session.application("bob"), array.numpy, session.finish, lambda: run(application, "add", 1)):
        with pytest.raises(gs.InvalidInput):
            use()
    session.close()


def test_finish_waits_for_all_jobs(server, run):
    session = gs.connect(server)
    jobs = [run(session.application(f"{number}"), "sleep", 0.2) for number in range(3)]
    session.finish()
    assert all(job.done() for job in jobs)


def test_closing_ends_what_runs(server, run, eventually):
    with gs.connect(server) as session:
        array = session.zeros(1000)
        job = run(session.application("alice"), "slow_add", array, 1, 60)
    with pytest.raises(gs.InvalidInput):
        job.result(30)
    with gs.connect(server) as other:
        eventually(lambda: other.status()["memory"]["used_bytes"] == 0)


def test_threads_share_a_session(session, run):
    arrays = [session.zeros(1, np.float64) for _ in range(8)]

    def work(number):
        application = session.application(f"thread {number}")
        for _ in range(20):
            run(application, "add", arrays[number], 1.0).result(30)
            session.array(np.full(5000, number)).numpy()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert [each.numpy()[0] for each in arrays] == [20] * 8


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("path", [3, b"socket", "a\0b"])
def test_a_path_that_is_none_is_refused(path):
    with raises_naming(gs.InvalidInput, repr(path)):
        gs.connect(path)


def test_a_forked_process_gets_a_connection_of_its_own(session, run):
    application, array, gate = session.application("alice"), session.array(np.ones(3)), session.zeros(1)
    job = run(application, "add_once_open", array, 1, gate)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for use in (array.numpy, job.result):
                with pytest.raises(gs.InvalidInput):
                    use()
            own = session.array(np.ones(3))
            run(application, "add", own, 4.0).result(30)
            assert own.numpy().tolist() == [5, 5, 5]
            session.close()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    gate.upload([1])
    job.result(30)
    assert array.numpy().tolist() == [2, 2, 2]


def test_no_server(folder):
    with pytest.raises(gs.DaemonGoneError):
        gs.connect(folder / "socket")


def test_two_devices(serve, folder):
    serve(devices=["sim:h100", "sim:gtx480"])
    with gs.connect(folder / "socket") as first, gs.connect(folder / "socket", device="sim:gtx480") as second:
        assert (first.device, second.device) == ("sim:h100", "sim:gtx480")
    with raises_naming(gs.InvalidInput, "cuda:7", "sim:h100", "sim:gtx480"):
        gs.connect(folder / "socket", device="cuda:7")


def test_the_environment_names_the_server(server, monkeypatch):
    monkeypatch.setenv("GPUSHARE_SOCKET", str(server))
    with gs.connect() as session:
        assert session.device == "sim:h100"
