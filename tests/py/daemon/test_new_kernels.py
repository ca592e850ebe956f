# SPDX-License-Identifier: Apache-2.0
"""Clients that bring new kernels again and again: the worker's memory is flat once it has seen some.

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
    """Large ones, which the worker keeps as long as the client; standin.py compiles nothing."""
    application = session.application(f"a{number}")
    array = session.zeros(8)
    for each in range(5):
        kernel = gs.Kernel(f"// {number}.{each} {'x' * SOURCE_BYTES}", "add")
        job = application.submit(kernel, grid=1, block=1, args=[array, 1.0])
    job.result(60)


@pytest.mark.timeout(SECONDS + 120)
@pytest.mark.parametrize(("bring", "options"), [(bring_models, {"worker": COMMAND}), (bring_sources, {})])
def test_memory_is_flat(serve, folder, eventually, bring, options):
    worker = serve(**options).workers["sim:h100"]
    if bring is bring_models and SECONDS > 60:  # in less time there is no room for it in the tests
        with gs.connect(folder / "socket") as session:
            fill_history(session)
    begun = time.monotonic()
    number, warm = 0, None
    most = 0
    with gs.connect(folder / "socket") as observer:
        while (passed := time.monotonic() - begun) < SECONDS or number < 20:
            with gs.connect(folder / "socket") as session:
                bring(session, number)
            number += 1
            if passed > WARM_UP * SECONDS:
                warm = warm or resident_bytes(worker.pid)
                most = max(most, resident_bytes(worker.pid))
        eventually(lambda: len(observer.status()["clients"]) == 1)
        assert observer.status()["loaded_kernels"] == 0
    print(f"{number} clients; {warm >> 20} MiB after {WARM_UP:.0%} of the time, then at most {most >> 20}")
    assert most - warm < MOST_MORE
