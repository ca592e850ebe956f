# SPDX-License-Identifier: Apache-2.0
"""Clients bring kernels that are costly, or ever new ones: the server's worker bears it."""

import time

import numpy as np
import pytest

import gpushare as gs

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

PATIENCE_S = 60


@pytest.fixture
def observer(server):
    with gs.connect(server) as session:
        yield session


def new_kernel(number):
    return gs.Kernel(f"__global__ void add(unsigned int* value) {{ *value += {number}; }}", "add")


def use(session, number):
    value = session.zeros(1, np.uint32)
    session.application("new").submit(new_kernel(number), grid=1, block=1, args=[value]).result(PATIENCE_S)
    assert value.numpy()[0] == number


def eventually(holds):
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_kernels_are_unloaded_when_their_clients_have_left(server, observer, size):
    before = observer.status()["loaded_kernels"]
    for number in range(1, size(20, 4)):
        with gs.connect(server) as session:
            use(session, number)
            assert observer.status()["loaded_kernels"] > before
    eventually(lambda: observer.status()["loaded_kernels"] == before)


def test_a_kernel_that_two_clients_have_stays_for_the_second(server, observer):
    before = observer.status()["loaded_kernels"]
    with gs.connect(server) as second:
        with gs.connect(server) as first:
            use(first, 7)
            use(second, 7)
        eventually(lambda: len(observer.status()["clients"]) == 2)
        assert observer.status()["loaded_kernels"] == before + 1
        use(second, 7)
    eventually(lambda: observer.status()["loaded_kernels"] == before)
