# SPDX-License-Identifier: Apache-2.0
"""Kernels of Triton, Numba and CuPy: their PTX, preempted in a session, gives what they give themselves."""

import re

import numpy as np
import pytest

import gpushare as gs

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.real_gpu("the front ends need a GPU of their own"),
    pytest.mark.xdist_group("gpu"),
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore"),  # of other libraries
]

COUNT = 1_000_003
ROWS, COLUMNS = 5000, 700


@pytest.fixture(params=["fifo", "stress"])
def policy(request, stress):
    return stress(5) if request.param == "stress" else request.param


def run_in_a_session(policy, kernel, *, grid, block, args, shared_bytes=0):
    """Among other work, so that it is preempted under a policy that does that."""
    compiled = kernel.compile(architecture())
    assert compiled.refusal is None
    with gs.Session("cuda:0", policy, measure_alone=False) as session:
        busy = gs.Kernel(
            "__global__ void spin(int cycles) { long long t = clock64(); while (clock64() - t < cycles) {} }", "spin"
        )
        session.application("busy").submit(busy, grid=30_000, block=256, args=[10_000])
        application = session.application("front end")
        application.submit(kernel, grid=grid, block=block, args=args, shared_bytes=shared_bytes).result(60)
        session.finish()


def architecture():
    from gpushare.backends.cuda.device import cuda_device

    return cuda_device("cuda:0").core.architecture


def entry_of(ptx):
    """The only kernel of a PTX module."""
    (name,) = re.findall(r"\.entry\s+([\w$]+)", ptx)
    return name


# Triton appends pointers to scratch memory to the parameters; kernels that need none ignore them.


def triton_kernel(compiled, args):
    """The kernel, its threads per block and its arguments."""
    ptx = compiled.asm["ptx"]
    kernel = gs.Kernel(ptx, entry_of(ptx))
    hidden = kernel.compile(architecture()).parameters[len(args) :]
    assert all(each.size == 8 for each in hidden)
    scratch = [None if each.kind == "pointer" else 0 for each in hidden]
    return kernel, 32 * compiled.metadata.num_warps, [*args, *scratch]


@pytest.fixture
def triton_and_torch():
    triton = pytest.importorskip("triton", exc_type=ImportError)
    torch = pytest.importorskip("torch", exc_type=ImportError)
    return triton, torch


TRITON_KERNELS = """
import triton
import triton.language as tl


@triton.jit
def saxpy(x, y, a, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    tl.store(y + places, a * tl.load(x + places, mask=inside) + tl.load(y + places, mask=inside), mask=inside)


@triton.jit
def softmax(out, values, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    inside = places < columns
    x = tl.load(values + row * columns + places, mask=inside, other=-float("inf"))
    powers = tl.exp(x - tl.max(x, axis=0))
    tl.store(out + row * columns + places, powers / tl.sum(powers, axis=0), mask=inside)


@triton.jit
def product(out, left, right, SIZE: tl.constexpr, TILE: tl.constexpr):
    rows, columns, inner = tl.program_id(0) * TILE, tl.program_id(1) * TILE, tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), tl.float32)
    for k in range(0, SIZE, TILE):
        a = tl.load(left + (rows + inner)[:, None] * SIZE + (k + inner)[None, :])
        b = tl.load(right + (k + inner)[:, None] * SIZE + (columns + inner)[None, :])
        total += tl.dot(a, b)
    tl.store(out + (rows + inner)[:, None] * SIZE + (columns + inner)[None, :], total)
"""


@pytest.fixture
def triton_kernels(triton_and_torch, tmp_path):
    """Triton reads the source of its functions from a file; this one is imported only where Triton is there."""
    import importlib.util

    path = tmp_path / "triton_kernels.py"
    path.write_text(TRITON_KERNELS)
    spec = importlib.util.spec_from_file_location("triton_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_triton_saxpy(triton_and_torch, triton_kernels, policy):
    _, torch = triton_and_torch
    x, y = torch.rand(COUNT, device="cuda:0"), torch.rand(COUNT, device="cuda:0")
    ours, grid = y.clone(), -(-COUNT // 1024)
    compiled = triton_kernels.saxpy[(grid,)](x, y, 2.5, COUNT, BLOCK=1024)
    torch.cuda.synchronize()
    kernel, block, args = triton_kernel(compiled, [x, ours, 2.5, COUNT])
    run_in_a_session(policy, kernel, grid=grid, block=block, args=args, shared_bytes=compiled.metadata.shared)
    assert torch.equal(ours, y)


def test_triton_softmax(triton_and_torch, triton_kernels, policy):
    """Reductions across warps: shared memory and barriers."""
    _, torch = triton_and_torch
    values = torch.randn(ROWS, COLUMNS, device="cuda:0")
    theirs, ours = torch.empty_like(values), torch.full_like(values, -1)
    compiled = triton_kernels.softmax[(ROWS,)](theirs, values, COLUMNS, BLOCK=1024, num_warps=8)
    torch.cuda.synchronize()
    assert compiled.metadata.shared > 0
    kernel, block, args = triton_kernel(compiled, [ours, values, COLUMNS])
    run_in_a_session(policy, kernel, grid=ROWS, block=block, args=args, shared_bytes=compiled.metadata.shared)
    assert torch.equal(ours, theirs)


def test_triton_matrix_product(triton_and_torch, triton_kernels, policy):
    """Tensor cores. On sm_90 Triton uses instructions of sm_90a alone; a kernel that is refused runs as a whole."""
    _, torch = triton_and_torch
    size, tile = 1024, 64
    left, right = (torch.randn(size, size, device="cuda:0", dtype=torch.float16) for _ in range(2))
    theirs, ours = (torch.zeros(size, size, device="cuda:0") for _ in range(2))
    grid = (size // tile, size // tile)
    compiled = triton_kernels.product[grid](theirs, left, right, SIZE=size, TILE=tile)
    torch.cuda.synchronize()
    kernel, block, args = triton_kernel(compiled, [ours, left, right])
    with gs.Session("cuda:0", policy, measure_alone=False) as session:
        application = session.application("triton")
        shared_bytes = compiled.metadata.shared
        application.submit(kernel, grid=grid, block=block, args=args, shared_bytes=shared_bytes).result(60)
        session.finish()
    assert torch.equal(ours, theirs)


# Numba passes an array as seven values: two for its own bookkeeping, items, bytes per item, address, shape, strides.


def numba_array(array):
    """The seven values of a one-dimensional array."""
    return [0, 0, array.size, array.dtype.itemsize, array, array.size, array.dtype.itemsize]


def numba_arguments(kernel, args):
    """Nothing for the bookkeeping, in the way that the parameter's type wants it."""
    values = [each for value in args for each in (numba_array(value) if hasattr(value, "copy_to_host") else [value])]
    parameters = kernel.compile(architecture()).parameters
    return [
        None if parameter.kind == "pointer" and isinstance(value, int) and value == 0 else value
        for parameter, value in zip(parameters, values, strict=True)
    ]


@pytest.fixture
def cuda(monkeypatch):
    # numba-cuda 0.30 asks for what NumPy 2.5 has removed.
    monkeypatch.setattr(np, "row_stack", np.vstack, raising=False)
    return pytest.importorskip("numba.cuda", exc_type=ImportError)


def numba_kernel(cuda, function, signature):
    ptx, _ = cuda.compile_ptx_for_current_device(function, signature)
    return gs.Kernel(ptx, entry_of(ptx))


def test_numba_saxpy(cuda, policy):
    from numba import float32

    def saxpy(x, y, a):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = a * x[i] + y[i]

    random = np.random.default_rng(0)
    x, y = (cuda.to_device(random.random(COUNT, np.float32)) for _ in range(2))
    ours, grid = cuda.to_device(y.copy_to_host()), -(-COUNT // 256)
    cuda.jit(saxpy)[grid, 256](x, y, np.float32(2.5))
    cuda.synchronize()
    kernel = numba_kernel(cuda, saxpy, (float32[::1], float32[::1], float32))
    args = numba_arguments(kernel, [x, ours, 2.5])
    run_in_a_session(policy, kernel, grid=grid, block=256, args=args)
    assert np.array_equal(ours.copy_to_host(), y.copy_to_host())


def test_numba_sums_of_blocks(cuda, policy):
    """Shared memory and barriers."""
    from numba import float32

    def sums(out, values):
        shared = cuda.shared.array(256, float32)
        thread = cuda.threadIdx.x
        place = cuda.blockIdx.x * 256 + thread
        shared[thread] = values[place] if place < values.size else float32(0)
        cuda.syncthreads()
        step = 128
        while step > 0:
            if thread < step:
                shared[thread] += shared[thread + step]
            cuda.syncthreads()
            step //= 2
        if thread == 0:
            out[cuda.blockIdx.x] = shared[0]

    grid = -(-COUNT // 256)
    values = cuda.to_device(np.random.default_rng(0).random(COUNT, np.float32))
    theirs, ours = (cuda.to_device(np.zeros(grid, np.float32)) for _ in range(2))
    cuda.jit(sums)[grid, 256](theirs, values)
    cuda.synchronize()
    kernel = numba_kernel(cuda, sums, (float32[::1], float32[::1]))
    run_in_a_session(policy, kernel, grid=grid, block=256, args=numba_arguments(kernel, [ours, values]))
    assert theirs.copy_to_host().any()
    assert np.array_equal(ours.copy_to_host(), theirs.copy_to_host())


# CuPy compiles with NVRTC; its module nvrtc gives PTX.

CUPY_SOURCE = r"""
extern "C" __global__ void waves(float* out, const float* values, float scale, int count) {
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < count ? sinf(values[i] * scale) : 0.0f;
  __syncthreads();
  if (i < count) out[i] = tile[threadIdx.x] + tile[(threadIdx.x + 1) % 256];
}
"""


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy", exc_type=ImportError)


def cupy_ptx(cupy, source):
    from cupy.cuda import nvrtc

    program = nvrtc.createProgram(source, "waves.cu", (), ())
    try:
        nvrtc.compileProgram(program, (f"-arch={architecture().replace('sm', 'compute')}",))
        ptx = nvrtc.getPTX(program)
    finally:
        nvrtc.destroyProgram(program)
    return (ptx.decode() if isinstance(ptx, bytes) else ptx).rstrip("\0")


def test_cupy_raw_kernel(cupy, policy):
    values = cupy.asarray(np.random.default_rng(0).random(COUNT, np.float32))
    theirs, ours, grid = cupy.zeros_like(values), cupy.zeros_like(values), -(-COUNT // 256)
    cupy.RawKernel(CUPY_SOURCE, "waves")((grid,), (256,), (theirs, values, np.float32(40), np.int32(COUNT)))
    cupy.cuda.Device().synchronize()
    kernel = gs.Kernel(cupy_ptx(cupy, CUPY_SOURCE), "waves")
    run_in_a_session(policy, kernel, grid=grid, block=256, args=[ours, values, 40.0, COUNT])
    assert theirs.any()
    assert bool((ours == theirs).all())
