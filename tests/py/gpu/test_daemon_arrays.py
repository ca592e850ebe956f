# SPDX-License-Identifier: Apache-2.0
"""A client's arrays on a GPU: pinned shared memory, and memory that its own CUDA context maps. Two processes use CUDA:
the server's worker and this one."""

import gc
import subprocess
import sys
import time

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.backends.cuda.device import cuda_device
from gpushare.daemon.client import array_copies
from gpushare.daemon.protocol.arena import Arena
from gpushare.daemon.worker.pinning import Pinning

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

PATIENCE_S = 60
UNIT = 2 << 20
"""Shared arrays take whole ones."""


@pytest.fixture
def session(server):
    with gs.connect(server) as session:
        yield session


@pytest.fixture
def run(kernels):
    """Multiplies an array of float32, in whatever session."""

    def run(session, values, factor, name="alice"):
        count = int(np.prod(values.shape))
        application = session.application(name)
        arguments = [values, factor, count]
        application.submit(kernels.scale, grid=-(-count // 256), block=256, args=arguments).result(PATIENCE_S)

    return run


def used_bytes(session):
    return session.status()["memory"]["used_bytes"]


def eventually(holds):
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_pinned_arrays_are_copied_both_ways(session, size):
    count = size(1 << 24, 1 << 12)
    pinned = session.pinned_array(count)
    pinned[...] = np.arange(count)
    array = session.zeros(count)
    array.upload(pinned)
    target = session.pinned_array(count)
    assert array.numpy(target) is target
    assert np.array_equal(target, pinned)
    assert np.array_equal(array.numpy(), pinned)


def test_pieces_come_together_again(session, monkeypatch, size):
    monkeypatch.setattr(array_copies, "PIECE_BYTES", size(1 << 20, 1 << 12))
    values = np.random.default_rng(1).random(size(10_000_000, 10_000))
    array = session.array(values)
    for _ in range(3):
        assert np.array_equal(array.numpy(), values)


def test_arenas_are_unpinned_before_they_go(server, size):
    """The stand-in notes what is unmapped while it is registered; a GPU would refuse the next copy."""
    for number in range(4):
        with gs.connect(server) as session:
            pinned = session.pinned_array(size(1 << 20, 1 << 10))
            pinned[...] = number
            array = session.zeros(pinned.shape)
            array.upload(pinned)
            del pinned
            gc.collect()
            assert (array.numpy() == number).all()


def test_an_arena_is_pinned_until_it_is_closed():
    device = cuda_device("cuda:0")
    pinning, arena = Pinning(device), Arena.made(1 << 20)
    pinning.pin(arena)
    assert pinning.pinned_bytes == 1 << 20
    memory = device.core.allocate(1 << 20)
    memory.upload(np.frombuffer(arena.view, np.uint8))
    arena.close()
    assert pinning.pinned_bytes == 0


def test_a_shared_array_is_the_same_in_both_processes(session, run):
    shared = session.array(np.arange(1000, dtype=np.float32), shared=True)
    run(session, shared, 2.0)
    with gs.Session("cuda:0") as own:  # this process's own CUDA context
        run(own, shared, 5.0)
        own.close()
    assert np.array_equal(shared.numpy(), 10 * np.arange(1000, dtype=np.float32))
    shared.upload(np.ones(1000))
    with gs.Session("cuda:0") as own:
        run(own, shared, 3.0)
        own.close()
    run(session, shared, 2.0, "bob")
    assert shared.numpy().tolist() == [6.0] * 1000


def test_the_interfaces_of_other_libraries(session):
    shared = session.zeros((3, 5), np.int16, shared=True)
    described = shared.__cuda_array_interface__
    assert (described["shape"], described["typestr"], described["strides"]) == ((3, 5), "<i2", None)
    assert described["data"] == (shared.__cuda_array_interface__["data"][0], False)
    assert shared.__dlpack_device__() == (2, 0)
    assert "dltensor" in repr(shared.__dlpack__(stream=1, max_version=(1, 0)))
    with pytest.raises(BufferError):
        shared.__dlpack__(copy=True)
    private = session.zeros(3)
    assert not hasattr(private, "__cuda_array_interface__")
    with raises_naming(gs.InvalidInput, "session.array"):
        private.__dlpack__()
    with pytest.raises(gs.InvalidInput):
        session.zeros(3, "V8", shared=True).__dlpack__()


class Tensor:
    """Of another library, on memory of an array."""

    def __init__(self, owner, **changed):
        self.owner = owner
        self.__cuda_array_interface__ = owner.__cuda_array_interface__ | changed
        self.shape = self.__cuda_array_interface__["shape"]


def test_a_tensor_on_a_shared_array_is_that_array(session, run):
    shared = session.array(np.ones(100, np.float32), shared=True)
    run(session, Tensor(shared), 4.0)
    assert shared.numpy().tolist() == [4.0] * 100
    application = session.application("bob")
    for changed in ({"shape": (50,)}, {"typestr": "<i4"}, {"strides": (8,)}):
        with pytest.raises(gs.InvalidInput):
            application.submit(gs.Kernel("__global__ void k(float*) {}", "k"), grid=1, block=1,
                               args=[Tensor(shared, **changed)])  # fmt: skip


def test_a_tensor_of_ones_own_is_refused_with_what_to_do(session, run):
    with gs.Session("cuda:0") as own:
        array = own.zeros(100)
        with raises_naming(gs.InvalidInput, "session.zeros", "shared=True"):
            run(session, array, 1.0)
        own.close()


def test_shared_memory_counts_in_whole_units(session):
    gc.collect()
    eventually(lambda: used_bytes(session) == 0)
    small, large = session.zeros(1, shared=True), session.zeros(UNIT + 1, np.uint8, shared=True)
    assert used_bytes(session) == 3 * UNIT
    large.free()
    eventually(lambda: used_bytes(session) == UNIT)
    small.free()
    eventually(lambda: used_bytes(session) == 0)


def test_memory_stays_until_both_sides_have_let_go(session, run):
    shared = session.array(np.ones(1000, np.float32), shared=True)
    tensor = Tensor(shared)
    shared.free()
    with pytest.raises(gs.InvalidInput):
        shared.numpy()
    assert used_bytes(session) == UNIT
    with gs.Session("cuda:0") as own:
        run(own, tensor, 2.0)
        own.close()
    del shared, tensor, own  # which keeps the arguments
    gc.collect()
    eventually(lambda: used_bytes(session) == 0)


def test_memory_is_zeroed_when_it_changes_its_owner(server, session, size):
    count = size(1 << 28, 1 << 22)
    secret = session.array(np.full(count, 42, np.uint8), shared=True)
    assert secret.__cuda_array_interface__["data"][0]
    del secret
    gc.collect()
    with gs.connect(server) as other:
        assert not other.zeros(count, np.uint8, shared=True).numpy().any()


CHILD = """
import os, signal, sys
import numpy as np
import gpushare as gs

session = gs.connect(sys.argv[1])
shared = session.array(np.full(1000, 7, np.float32), shared=True)
address = shared.__cuda_array_interface__["data"][0]
print("mapped", flush=True)
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_client_that_dies_lets_go(server, session, run):
    gc.collect()
    eventually(lambda: used_bytes(session) == 0)
    command = [sys.executable, "-c", CHILD, str(server)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "mapped\n"
        assert used_bytes(session) == UNIT
        child.stdin.write("\n")
        child.stdin.flush()
        child.wait(PATIENCE_S)
    eventually(lambda: used_bytes(session) == 0)
    values = session.array(np.ones(100, np.float32))
    run(session, values, 2.0)
    assert values.numpy().tolist() == [2.0] * 100


FORKS = """
import gc, os, sys
import numpy as np
import gpushare as gs

session = gs.connect(sys.argv[1])
shared = session.array(np.full(1000, 7, np.float32), shared=True)
assert shared.__cuda_array_interface__["data"][0]
child = os.fork()
if child == 0:
    del shared
    gc.collect()
    try:
        mine = session.zeros(10, shared=True)
        mine.__cuda_array_interface__
    except gs.CudaError as error:  # as everywhere after a fork: CUDA works in no process whose parent has used it
        print("refused:", error)
        sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
with gs.Session("cuda:0") as own:
    own.application("own").submit(
        gs.Kernel("__global__ void k(float* x) { x[threadIdx.x] += 1; }", "k"), grid=1, block=1000, args=[shared]
    ).result(60)
    own.close()
assert (shared.numpy() == 8).all()
print("right")
"""


def test_a_forked_process_leaves_its_parents_mapping_alone(server, in_a_process):
    said = in_a_process(FORKS, str(server))
    assert "refused: " in said
    assert "right" in said


def test_pytorch_uses_it_in_place(session, run):
    torch = pytest.importorskip("torch")
    shared = session.array(np.arange(1000, dtype=np.float32), shared=True)
    tensor = torch.as_tensor(shared, device="cuda")
    assert tensor.data_ptr() == shared.__cuda_array_interface__["data"][0]
    tensor += 1
    torch.cuda.synchronize()
    run(session, tensor, 2.0)
    again = torch.from_dlpack(shared)
    assert again.data_ptr() == tensor.data_ptr()
    assert torch.equal(again.cpu(), 2 * torch.arange(1, 1001, dtype=torch.float32))
    with pytest.raises(gs.InvalidInput):
        run(session, torch.zeros(100, device="cuda"), 2.0, "bob")


def test_cupy_uses_it_in_place(session, run):
    cupy = pytest.importorskip("cupy")
    shared = session.array(np.arange(1000, dtype=np.float32), shared=True)
    array = cupy.asarray(shared)
    array += 1
    cupy.cuda.Device().synchronize()
    run(session, array, 2.0)
    assert np.array_equal(cupy.from_dlpack(shared).get(), 2 * np.arange(1, 1001, dtype=np.float32))
