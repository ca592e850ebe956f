# SPDX-License-Identifier: Apache-2.0
"""A launch that has every place of every SM and does not end: others get memory, and fill and read it, all the same.

What needs an SM, as a memset does, would wait for ever. What waits for kernels, such as loading one, has the launch
leave for a moment.
"""

import contextlib
import os
import threading
import time

import numpy as np
import pytest

import gpushare as gs
from gpushare.backends.cuda.device import cuda_device

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

PATIENCE_S = 30
SIZES = (1, 1000, (9 << 20) + 7) if os.environ.get("GPUSHARE_STAND_IN") == "1" else (1, 1000, (256 << 20) + 7)


@contextlib.contextmanager
def in_use(session, kernels):
    """The application of a launch that has all places; what is done meanwhile must not wait for it."""
    application = session.application("endless")
    job, counter = kernels.endless(session, application)
    device = cuda_device("cuda:0").description
    places = device.sms * device.per_sm.blocks
    end = time.monotonic() + PATIENCE_S
    while counter.numpy()[0] < places:
        assert time.monotonic() < end, f"{counter.numpy()[0]} blocks have ended: {session.status()}"
    rescue = threading.Timer(PATIENCE_S, application.cancel)  # so that a failure here is none of the tests behind
    rescue.start()
    try:
        yield
    finally:
        rescue.cancel()
    try:
        has_ended = job.done()
    except gs.Cancelled:
        has_ended = True
    assert not has_ended, "it waited for the launch"
    application.cancel()
    with pytest.raises(gs.Cancelled):
        job.result(PATIENCE_S)


def make_zeros(session, **how):
    for size in SIZES:
        zeros = session.zeros(size, np.uint8, **how)
        assert not zeros.numpy().any()


def fill(session, **how):
    for size in SIZES:
        values = np.random.default_rng(size).integers(0, 256, size, np.uint8)
        array = session.array(values, **how)
        assert np.array_equal(array.numpy(), values)
        array.upload(values[::-1])
        assert np.array_equal(array.numpy(), values[::-1])


def free_and_make_again(session, **how):
    for size in 10 * SIZES:
        session.array(np.full(size, 255, np.uint8), **how).free()
        assert not session.zeros(size, np.uint8, **how).numpy().any()


everything = pytest.mark.parametrize("does", [make_zeros, fill, free_and_make_again])


@everything
def test_in_the_process(kernels, does):
    with gs.Session("cuda:0", "fifo", measure_alone=False) as session, in_use(session, kernels):
        does(session)


@pytest.fixture
def other(server):
    """Another client's session."""
    with gs.connect(server) as session:
        yield session


@everything
@pytest.mark.parametrize("shared", [False, True])
def test_another_client(server, other, kernels, does, shared):
    with gs.connect(server) as session, in_use(session, kernels):
        does(other, shared=shared)


def test_another_client_maps_an_array(server, other, kernels):
    with gs.connect(server) as session, in_use(session, kernels):
        shared = other.zeros(1000, shared=True)
        assert shared.__cuda_array_interface__["data"][0]


def test_another_client_uses_pinned_memory(server, other, kernels):
    with gs.connect(server) as session, in_use(session, kernels):
        for number in range(3):
            pinned = other.pinned_array(1 << 20)
            pinned[...] = number
            array = other.zeros(1 << 20)
            array.upload(pinned)
            del pinned
            assert (array.numpy() == number).all()


def test_another_client_computes(server, other, kernels):
    application = other.application("other")
    with gs.connect(server) as session, in_use(session, kernels):
        for _ in range(3):
            kernels.scaled(other, application)()


def test_kernels_are_loaded(kernels):
    with gs.Session("cuda:0", "even", measure_alone=False) as session, in_use(session, kernels):
        for value in range(3):
            kernel = gs.Kernel(f"__global__ void fill(int* to) {{ *to = {value}; }}", "fill")
            filled = session.zeros(1, np.int32)
            application = session.application(f"fills {value}")
            application.submit(kernel, grid=1, block=1, args=[filled]).result(PATIENCE_S)
            assert filled.numpy()[0] == value
