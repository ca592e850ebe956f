# SPDX-License-Identifier: Apache-2.0
"""Everything that runs on cuda:0 runs on cuda:1 too, where a machine has two devices."""

from types import SimpleNamespace

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

DEVICE = "cuda:1"


@pytest.fixture(autouse=True)
def two_devices():
    if _core.cuda_device_count() < 2:
        pytest.skip("this machine has one device")


def test_a_session(kernels, check_trace, check_metrics):
    with gs.Session(DEVICE, "srtf") as session:
        applications = [session.application(name) for name in ("alice", "bob")]
        checks = [kernels.scaled(session, each, 1_000_000) for each in applications for _ in range(2)]
        run = session.finish()
        for check in checks:
            check()
    check_trace(run)
    check_metrics(run)


def test_sessions_on_both(kernels):
    with gs.Session("cuda:0", "fifo", measure_alone=False) as first, gs.Session(DEVICE, measure_alone=False) as second:
        applications = [(session, session.application("alice")) for session in (first, second)]
        checks = [kernels.scaled(*each) for each in 2 * applications]
        for check in checks:
            check()


def test_a_session_on_both(kernels, check_trace, check_metrics):
    with gs.Session("cuda:0,cuda:1", "srtf", place="least-loaded") as session:
        applications = [session.application(name) for name in ("alice", "bob")]
        session.load(kernels.scale)
        checks = [kernels.scaled(session, each, 1_000_000) for each in applications for _ in range(2)]
        run = session.finish()
        for check in checks:
            check()
    assert [each.device for each in applications] == [0, 1]
    assert set(run.launches()["device"]) == {0, 1}
    check_trace(run)
    check_metrics(run)


def test_a_session_on_both_keeps_arrays_apart(kernels):
    with gs.Session("cuda:all", "fifo", place="least-loaded", measure_alone=False) as session:
        assert len(session.devices) == _core.cuda_device_count()
        alice, bob = session.application("alice", device=0), session.application("bob", device=1)
        array = session.array(np.ones(1000, np.float32))
        with pytest.raises(gs.InvalidInput):
            _ = array.__cuda_array_interface__
        alice.submit(kernels.scale, grid=4, block=256, args=[array, 3.0, 1000]).result(60)
        with pytest.raises(gs.InvalidInput):
            bob.submit(kernels.scale, grid=4, block=256, args=[array, 3.0, 1000])
        copied = bob.array(array.numpy())
        bob.submit(kernels.scale, grid=4, block=256, args=[copied, 2.0, 1000]).result(60)
        assert np.array_equal(array.numpy(), np.full(1000, 3, np.float32))
        assert np.array_equal(copied.numpy(), np.full(1000, 6, np.float32))


class Tensor:
    """An array of another library."""

    def __init__(self, array, gpu):
        self.__cuda_array_interface__ = array.__cuda_array_interface__
        self._array, self._gpu = array, gpu

    def __dlpack_device__(self):
        return 2, self._gpu


class Stream:
    """A default stream, whose number is the same on all GPUs."""

    cuda_stream = 2

    def __init__(self, gpu):
        self.device = SimpleNamespace(index=gpu)


def test_arrays_of_other_libraries_stay_where_they_are(kernels):
    with gs.Session("cuda:0,cuda:1", "fifo", place="first-fit", measure_alone=False) as session:
        alice, bob, carol = (session.application(name) for name in ("alice", "bob", "carol"))
        tensor = Tensor(session.application("owner", device=1).array(np.ones(1000, np.float32)), 1)
        alice.submit(kernels.scale, grid=4, block=256, args=[tensor, 3.0, 1000]).result(60)
        assert alice.device == 1
        bob.zeros(1)
        with raises_naming(gs.InvalidInput, "'bob'", 0, 1):
            bob.submit(kernels.scale, grid=4, block=256, args=[tensor, 3.0, 1000])
        with raises_naming(gs.InvalidInput, "'carol'", "cuda:7"):
            carol.submit(kernels.scale, grid=4, block=256, args=[Tensor(tensor, 7), 3.0, 1000])


def test_a_stream_of_another_gpu_is_refused(kernels):
    with gs.Session(DEVICE, "fifo", measure_alone=False) as session:
        array, alice = session.zeros(1000), session.application("alice")
        with raises_naming(gs.InvalidInput, "after", "cuda:0", "cuda:1"):
            alice.submit(kernels.scale, grid=4, block=256, args=[array, 3.0, 1000], after=[Stream(0)])
        alice.submit(kernels.scale, grid=4, block=256, args=[array, 3.0, 1000], after=Stream(1)).result(60)


def test_each_device_has_a_copy_of_a_variable():
    source = "__device__ int counter = 5; __global__ void count() { atomicAdd(&counter, 1); }"
    count = gs.Kernel(source, "count")
    with gs.Session("cuda:0,cuda:1", "fifo", measure_alone=False) as session:
        with pytest.raises(gs.InvalidInput):
            session.variable(count, "counter")
        for number in (0, 1):
            application = session.application(f"app-{number}", device=number)
            for _ in range(1 + number):
                application.submit(count, grid=1, block=1).result(60)
            counter = application.variable(count, "counter", np.int32)
            assert counter.numpy() == 6 + number


def test_a_gpu_that_is_not_there_is_refused():
    with raises_naming(gs.CudaError, "cuda:63"):
        gs.Session("cuda:0,cuda:63", "fifo")
    with gs.Session("cuda:0", "fifo", measure_alone=False) as session:  # nothing has been left open
        assert session.status().applications == []


def test_a_run_and_a_comparison(check_trace):
    sums = gs.Launch.of_suite("early_return", "small")
    copies = [gs.Copy("to_device", 1 << 20), sums, gs.Copy("to_host", 4096)]
    workload = gs.Workload("pair", [gs.Application("a", [sums] * 2), gs.Application("b", copies)], device=DEVICE)
    run = gs.run(workload, "fifo", device=DEVICE)
    check_trace(run)
    assert run.device.sms == gs.device(DEVICE).sms
    result = gs.compare(workload, ["fifo", "srtf", "hardware-streams"], device=DEVICE, repeats=1)
    assert result.errors == {}
    assert len(result.runs_table()) == 3


def test_a_server(served, kernels):
    with served(device=DEVICE) as socket, gs.connect(socket) as session:
        kernels.scaled(session, session.application("alice"))()
        shared = session.array(np.arange(1000, dtype=np.float32), shared=True)
        with gs.Session(DEVICE, "fifo") as own:  # this process's own CUDA context
            job = own.application("bob").submit(kernels.scale, grid=4, block=256, args=[shared, 3.0, 1000])
            job.result(60)
            own.close()
        assert np.array_equal(shared.numpy(), 3 * np.arange(1000, dtype=np.float32))


LOST = """
with gs.Session("cuda:1", "fifo") as session:
    try:
        session.application("bad").submit(
            kernel("fault"), grid=1, block=32, args=[session.array(np.zeros(1, np.int32))]).result(30)
    except gs.CudaError:
        pass
    else:
        raise SystemExit("no error")
try:
    with gs.Session("cuda:0", "fifo"):
        raise SystemExit("no error on the first")
except gs.CudaError as error:
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in str(error), error
"""


@pytest.mark.real_gpu("a device of the stand-in fails by itself")
def test_after_a_fault_on_the_second_the_driver_refuses_the_first_too(in_a_process, prelude):
    in_a_process(prelude + LOST)
