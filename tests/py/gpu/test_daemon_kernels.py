# SPDX-License-Identifier: Apache-2.0
"""Clients bring kernels that are costly, or ever new ones: the server's worker bears it."""

import contextlib
import itertools
import threading
import time

import numpy as np
import pytest
from costly_kernels import MEMORY_BOMB, slow
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.client.told_kernels import MOST_RECENT

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

PATIENCE_S = 60
NAMES = itertools.count()


@pytest.fixture
def observer(server):
    """A client that begins once the kernels of the tests before have been unloaded."""
    with gs.connect(server) as session:
        eventually(lambda: session.status()["loaded_kernels"] == 0)
        yield session


def new_kernel(number):
    return gs.Kernel(f"__global__ void add(unsigned int* value) {{ *value += {number}; }}", "add")


def use(session, number):
    value = session.zeros(1, np.uint32)
    session.application(f"new {next(NAMES)}").submit(new_kernel(number), grid=1, block=1, args=[value]).result(
        PATIENCE_S
    )
    assert value.numpy()[0] == number


def eventually(holds):
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_kernels_are_unloaded_when_their_clients_have_left(server, observer, size):
    for number in range(1, size(20, 4)):
        with gs.connect(server) as session:
            use(session, number)
            assert observer.status()["loaded_kernels"] > 0
    eventually(lambda: observer.status()["loaded_kernels"] == 0)


def test_kernels_that_nothing_refers_to_are_unloaded_while_their_client_stays(server, observer, size):
    """Each is launched just before it goes."""
    count = MOST_RECENT + size(40, 4)
    with gs.connect(server) as session:
        total, application = session.zeros(1, np.uint32), session.application(f"new {next(NAMES)}")
        for number in range(1, count + 1):
            job = application.submit(new_kernel(number), grid=1, block=1, args=[total])
        job.result(PATIENCE_S)
        eventually(lambda: observer.status()["loaded_kernels"] <= MOST_RECENT + 1)
        assert total.numpy()[0] == count * (count + 1) // 2
        use(session, 1)  # it is loaded again


def test_a_kernel_that_two_clients_have_stays_for_the_second(server, observer):
    with gs.connect(server) as second:
        with gs.connect(server) as first:
            use(first, 7)
            use(second, 7)
        eventually(lambda: len(observer.status()["clients"]) == 2)
        assert observer.status()["loaded_kernels"] == 1
        use(second, 7)
    eventually(lambda: observer.status()["loaded_kernels"] == 0)


def test_a_kernel_is_compiled_while_another_client_has_one_that_takes_minutes(server):
    """That one ends with its client."""
    hostile = gs.connect(server)
    began = threading.Event()

    def compile_slowly():
        began.set()
        with contextlib.suppress(ConnectionError, gs.InvalidInput):
            hostile.load(slow())

    thread = threading.Thread(target=compile_slowly)
    thread.start()
    began.wait()
    time.sleep(1)  # it is the first
    with gs.connect(server) as session:
        use(session, 11)
        assert thread.is_alive()
    hostile.close()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def test_a_source_that_takes_all_memory_is_refused_and_the_worker_goes_on(served):
    with served("compile_memory_bytes = 600_000_000\n") as socket, gs.connect(socket) as session:
        started_s = session.status()["started_s"]
        with raises_naming(gs.CompileError, "compile_memory_bytes"):
            session.load(gs.Kernel(MEMORY_BOMB, "k"))
        use(session, 12)
        assert session.status()["started_s"] == started_s
