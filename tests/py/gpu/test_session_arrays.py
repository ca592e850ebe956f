# SPDX-License-Identifier: Apache-2.0
"""Arrays of a session, and those of other libraries: they hold what they should for as long as they should."""

import gc

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

PATIENCE_S = 30


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "uint16", "int32", "uint64", "complex64", "?"]
)
def test_arrays_keep_their_values(session, dtype):
    values = np.random.default_rng(0).integers(0, 2, (3, 5, 7)).astype(dtype)
    array = session.array(values)
    assert (array.shape, array.dtype, array.nbytes) == (values.shape, values.dtype, values.nbytes)
    assert np.array_equal(array.numpy(), values)
    flipped = 1 - values.real.astype(np.int8)
    array.upload(flipped)
    assert np.array_equal(array.numpy(), flipped.astype(dtype))


@pytest.mark.parametrize(
    "values",
    [np.arange(24).reshape(4, 6).T, np.arange(100)[::-3], np.float32(2.5), np.zeros((0, 3)), [[1, 2], [3, 4]]],
    ids=["transposed", "reversed", "scalar", "empty", "list"],
)
def test_arrays_of_any_layout(session, values):
    array = session.array(values)
    assert array.shape == np.shape(values)
    assert np.array_equal(array.numpy(), values)


def test_zeros(session):
    for shape in (7, (2, 3), np.int64(5), ()):
        zeros = session.zeros(shape, np.int16)
        assert zeros.numpy().shape == np.zeros(shape).shape
        assert not zeros.numpy().any()
    assert session.zeros(3).dtype == np.float32


def test_memory_is_zeroed_when_it_is_used_again(session):
    for _ in range(20):
        dirty = session.zeros(1 << 20, np.uint8)
        dirty.upload(np.full(1 << 20, 255))
        dirty.free()
        assert not session.zeros(1 << 20, np.uint8).numpy().any()


def test_an_upload_of_another_shape_is_refused(session):
    with raises_naming(gs.InvalidInput, 4, 5):
        session.zeros(4).upload(np.zeros(5))


def test_more_memory_than_there_is(session, kernels):
    with raises_naming(gs.CudaError, "CUDA_ERROR_OUT_OF_MEMORY"):
        session.zeros(1 << 44, np.uint8)
    kernels.scaled(session, session.application("afterwards"))()


@pytest.mark.filterwarnings("ignore")  # of other libraries
@pytest.mark.parametrize("library", ["torch", "cupy", "numba"])
def test_arrays_of_other_libraries(session, kernels, library):
    array, to_host = foreign_array(library, np.arange(1000, dtype=np.float32))
    application = session.application(library)
    application.submit(kernels.scale, grid=4, block=256, args=[array, 2.0, 1000]).result(PATIENCE_S)
    assert np.array_equal(to_host(array), 2 * np.arange(1000, dtype=np.float32))
    session.finish()
    assert np.array_equal(to_host(array), 2 * np.arange(1000, dtype=np.float32))


def foreign_array(library, values):
    """An array on the GPU made by another library, and how to bring one back."""
    if library == "torch":
        torch = pytest.importorskip("torch", exc_type=ImportError)
        tensor = torch.as_tensor(values).to("cuda:0")
        torch.cuda.synchronize()
        return tensor, lambda array: array.cpu().numpy()
    if library == "cupy":
        cupy = pytest.importorskip("cupy", exc_type=ImportError)
        array = cupy.asarray(values)
        cupy.cuda.Device().synchronize()
        return array, cupy.asnumpy
    cuda = pytest.importorskip("numba.cuda", exc_type=ImportError)
    array = cuda.to_device(values)
    cuda.synchronize()
    return array, lambda array: array.copy_to_host()


@pytest.mark.filterwarnings("ignore")
def test_other_libraries_take_our_arrays(session, kernels):
    torch = pytest.importorskip("torch", exc_type=ImportError)
    array = session.array(np.arange(1000, dtype=np.float32))
    tensor = torch.as_tensor(array, device="cuda:0")
    application = session.application("torch")
    application.submit(kernels.scale, grid=4, block=256, args=[array, 2.0, 1000]).result(PATIENCE_S)
    assert tensor.sum().item() == 2 * np.arange(1000).sum()  # no copy was made


def test_arrays_freed_after_their_jobs_do_not_lose_the_run(kernels):
    with gs.Session("cuda:0", "fifo") as session:  # which measures how long alice takes alone, in the same memory
        array = session.array(np.ones(256, np.float32))
        job = session.application("alice").submit(kernels.scale, grid=1, block=256, args=[array, 2.0, 256])
        job.result(PATIENCE_S)
        array.free()
        assert session.finish().alone_ns["alice"] > 0


def test_arrays_and_jobs_without_references(kernels):
    """The session keeps them until they are no longer used, and new arrays do not take their place."""
    with gs.Session("cuda:0", "fifo", measure_alone=False) as session:
        application = session.application("forgets")
        total = session.zeros(1, np.float32)
        add = gs.Kernel("__global__ void add(float* total, const float* values) { *total += *values; }", "add")
        for number in range(300):
            application.submit(add, grid=1, block=1, args=[total, session.array(np.full(1, number, np.float32))])
            if number % 50 == 0:
                gc.collect()
            session.array(np.full(1, -1e6, np.float32))  # where a freed one was
        session.finish()
        assert total.numpy()[0] == sum(range(300))
