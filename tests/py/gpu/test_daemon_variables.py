# SPDX-License-Identifier: Apache-2.0
"""Variables of clients' kernels: each client has copies of its own, as each process has with CUDA."""

import gc
import threading
import time

import numpy as np
import pytest
from kernels_with_variables import BY_PARTS, COUNTS, PATIENCE_S, SOURCE, TEMPLATE, counted, read_by
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.client.told_kernels import MOST_RECENT

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]


@pytest.fixture(scope="module")
def server(served):
    with served() as socket:
        with gs.connect(socket) as operator:
            operator.set_policy("auto")
        yield socket


@pytest.fixture
def count():
    return gs.Kernel(SOURCE, "count")


@pytest.fixture
def read():
    return gs.Kernel(SOURCE, "read")


def test_each_client_counts_for_itself(server, count, read):
    with gs.connect(server) as one, gs.connect(server) as other:
        alice, bob = one.application("alice"), other.application("bob")
        assert counted(one, alice, count) == COUNTS
        assert counted(other, bob, count, 2) == [8, 16]
        assert read_by(one, one.application("carol"), read)[0] == 64
        assert read_by(other, bob, read)[0] == 16
    with gs.connect(server) as later:
        assert counted(later, later.application("alice"), count, 1) == [8]


def test_each_client_sets_its_own(server, count, read):
    with gs.connect(server) as one, gs.connect(server) as other:
        for session, factor in ((one, 1), (other, 10)):
            coefficient = session.variable(read, "coefficient", np.float32)
            assert coefficient.shape == (4,)
            coefficient.upload(factor * np.arange(4))
            session.variable(read, "tuning::scale").upload(factor)
        for session, factor in ((one, 1), (other, 10)):
            total, found = read_by(session, session.application("alice"), read)
            assert total == 0
            assert found.tolist() == [*(factor * np.arange(4)), factor, 8, 3.5, 1.25]
            assert session.variable(read, "coefficient", "f4", (2, 2)).numpy().tolist()[1][1] == 3 * factor


def test_a_variable_is_an_argument_like_any_array(server, count, kernels):
    with gs.connect(server) as session:
        total, application = session.variable(count, "total"), session.application("alice")
        application.submit(kernels.increment, grid=5, block=32, args=[total]).result(PATIENCE_S)
        assert counted(session, application, count, 1) == [13]
        total.free()
        assert counted(session, application, count, 1) == [21]


def test_values_stay_when_nothing_refers_to_their_kernels(server):
    """They are the session's, and the worker does not unload them although it is asked to."""
    with gs.connect(server) as session:
        application = session.application("alice")
        assert counted(session, application, gs.Kernel(SOURCE, "count"), 2) == [8, 16]
        registered = session._connection.registered()
        number = registered._told(gs.Kernel(SOURCE, "count")).number
        for each in range(MOST_RECENT + 1):
            session.load(gs.Kernel(f"__global__ void other{each}() {{}}", f"other{each}"))
        gc.collect()
        with raises_naming(gs.InvalidInput, "count"):
            registered.link.request("unload", kernels=[number])
        assert counted(session, application, gs.Kernel(SOURCE, "count"), 1) == [24]


def test_two_clients_add_up_at_the_same_time(server, size):
    """A shared counter of blocks would let a sum end before all its parts are there."""
    rounds, total = size(500, 10), size(100_000, 512)
    wrong, sum_ = [], gs.Kernel(BY_PARTS, "sum")

    def work(number):
        values = np.random.default_rng(number).integers(0, 8, total).astype(np.float32)
        with gs.connect(server) as session:
            x, application = session.array(values), session.application("sums")
            results = [session.zeros(1) for _ in range(rounds)]
            jobs = [application.submit(sum_, grid=16, block=64, args=[x, each, total]) for each in results]
            jobs[-1].result(PATIENCE_S)
            found = [float(each.numpy()[0]) for each in results]
            wrong.extend(each for each in found if each != values.sum())
            done.append(len(found))

    done = []
    threads = [threading.Thread(target=work, args=[number]) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (done, wrong) == ([rounds, rounds], [])


def test_unknown_names_and_models(server, count):
    with gs.connect(server) as session:
        with raises_naming(gs.InvalidInput, "sum", 4):
            session.variable(count, "sum")
        with raises_naming(gs.InvalidInput, 3, "float32"):
            session.variable(count, "coefficient", np.float32, 3)
        with raises_naming(gs.InvalidInput, "gs.Kernel"):
            session.variable("count", "total")


def test_instances_of_a_template(server):
    together, apart = gs.Module(TEMPLATE, ["count<1>", "count<10>"]), gs.Kernel(TEMPLATE, "count<10>")
    with gs.connect(server) as session:
        out, application, found = session.zeros(1, np.int32), session.application("alice"), []
        for name in ("count<1>", "count<10>"):
            application.submit(together[name], grid=1, block=32, args=[out]).result(PATIENCE_S)
            found.append(int(out.numpy()[0]))
        assert found == [1, 11]
        with pytest.raises(gs.InvalidInput):
            application.submit(apart, grid=1, block=32, args=[out])


def memory_in_use(server):
    with gs.connect(server) as session:
        return session.status()["memory"]["used_bytes"]


def wait_until_no_memory_is_in_use(server):
    """A client's memory is freed after its connection has closed, so the last test's may still be there."""
    for _ in range(100):
        if memory_in_use(server) == 0:
            return
        time.sleep(0.1)
    raise AssertionError(f"{memory_in_use(server)} bytes are still in use")


def test_their_memory_counts_and_goes_with_the_client(server):
    kernel = gs.Kernel("__device__ float buffer[1 << 20]; __global__ void k() { buffer[threadIdx.x] = 1; }", "k")
    wait_until_no_memory_is_in_use(server)
    with gs.connect(server) as session:
        session.load(kernel)
        assert memory_in_use(server) == 4 << 20
    wait_until_no_memory_is_in_use(server)


def test_more_than_a_client_may_hold_is_refused(served):
    kernel = gs.Kernel("__device__ float buffer[1 << 20]; __global__ void k() { buffer[threadIdx.x] = 1; }", "k")
    with served("memory_bytes_per_client = 1000000\n") as socket, gs.connect(socket) as session:
        with raises_naming(gs.InvalidInput, 1000000):
            session.load(kernel)
        with raises_naming(gs.InvalidInput, 1000000):
            session.application("alice").submit(kernel, grid=1, block=32)


def test_they_begin_anew_with_another_worker_and_the_client_is_told(server, count, read, kernels):
    with gs.connect(server) as session, gs.connect(server) as other:
        application = session.application("alice")
        assert counted(session, application, count, 2) == [8, 16]
        total = session.variable(count, "total")
        values = other.zeros(1, np.int32)
        with pytest.raises(gs.CudaError):
            other.application("culprit").submit(kernels.fault, grid=1, block=1, args=[values]).result(PATIENCE_S)
        with raises_naming(gs.WorkerLostError, "count"):
            total.numpy()
        out = session.zeros(8, np.int32)
        with raises_naming(gs.WorkerLostError, "count"):
            application.submit(count, grid=8, block=32, args=[out])
        assert counted(session, application, count, 1) == [8]  # it has been told
        total.upload(100)
        assert counted(session, application, count, 1) == [108]


def test_jobs_with_variables_are_not_run_again_by_themselves(server, count, kernels):
    with gs.connect(server) as session, gs.connect(server) as other:
        seen = session.zeros(8, np.int32, durable=True)
        application = session.application("alice")
        application.submit(count, grid=8, block=32, args=[seen], idempotent=True).result(PATIENCE_S)
        values = other.zeros(1, np.int32)
        with pytest.raises(gs.CudaError):
            other.application("culprit").submit(kernels.fault, grid=1, block=1, args=[values]).result(PATIENCE_S)
        with pytest.raises(gs.WorkerLostError):
            seen.numpy()
