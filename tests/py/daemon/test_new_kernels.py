# SPDX-License-Identifier: Apache-2.0
"""Clients that bring new kernels again and again, and leave or stay: the worker's memory is flat after a while.

GPUSHARE_KERNEL_SECONDS says for how long: five minutes in ``./test.sh soak``.
"""

import os
import pathlib
import time

import pytest

import gpushare as gs
from gpushare.daemon.supervisor.worker_process import COMMAND

SECONDS = float(os.environ.get("GPUSHARE_KERNEL_SECONDS", "10"))
WARM_UP = 0.3
"""Of the time: until then tables fill that have a limit, and memory that has been given back is found again."""
MOST_MORE = 24 << 20
"""Ten clients' sources. Tables that have a limit may still fill."""
SOURCE_BYTES = 400_000


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def bring_models(session, number):
    """Under other names and of other costs than ever before; few, as traces remember 200,000 of their launches."""
    application = session.application(f"a{number}")
    for each in range(4):
        model = gs.KernelModel(f"m{number}.{each}", threads=64, latency_ns=1000 + (4 * number + each) % 100_000)
        job = application.submit(model, grid=4, block=64)
    job.result(60)


def fill_history(session):
    """Traces remember 200,000 launches: until these are there memory grows."""
    application = session.application("fill")
    model = gs.KernelModel("m", threads=64, latency_ns=1000)
    for _ in range(44):
        for _ in range(5000):
            job = application.submit(model, grid=4, block=64)
        job.result(60)


def bring_sources(session, number):
    """Large ones; standin.py compiles nothing."""
    application = session.application(f"a{number}")
    array = session.zeros(8)
    for each in range(5):
        kernel = gs.Kernel(f"// {number}.{each} {'x' * SOURCE_BYTES}", "add")
        job = application.submit(kernel, grid=1, block=1, args=[array, 1.0])
    job.result(60)
    application.cancel()


@pytest.fixture
def memory_is_flat(folder):
    """Does something for so long, again and again, and compares the worker's memory early and later."""

    def check(worker, bring):
        begun = time.monotonic()
        number, warm, most = 0, None, 0
        while (passed := time.monotonic() - begun) < SECONDS or number < 20:
            bring(number)
            number += 1
            if passed > WARM_UP * SECONDS:
                warm = warm or resident_bytes(worker.pid)
                most = max(most, resident_bytes(worker.pid))
        print(f"{number} times; {warm >> 20} MiB after {WARM_UP:.0%} of the time, then at most {most >> 20}")
        assert most - warm < MOST_MORE

    return check


@pytest.mark.timeout(SECONDS + 120)
@pytest.mark.parametrize(("bring", "options"), [(bring_models, {"worker": COMMAND}), (bring_sources, {})])
def test_memory_is_flat_when_clients_come_and_leave(serve, folder, eventually, memory_is_flat, bring, options):
    worker = serve(**options).workers["sim:h100"]
    if bring is bring_models and SECONDS > 60:  # in less time there is no room for it in the tests
        with gs.connect(folder / "socket") as session:
            fill_history(session)

    def bring_as_new_client(number):
        with gs.connect(folder / "socket") as session:
            bring(session, number)

    with gs.connect(folder / "socket") as observer:
        memory_is_flat(worker, bring_as_new_client)
        eventually(lambda: len(observer.status()["clients"]) == 1)
        assert observer.status()["loaded_kernels"] == 0


@pytest.mark.timeout(SECONDS + 120)
def test_memory_is_flat_while_a_client_stays(serve, folder, memory_is_flat):
    worker = serve().workers["sim:h100"]
    with gs.connect(folder / "socket") as session:
        memory_is_flat(worker, lambda number: bring_sources(session, number))
