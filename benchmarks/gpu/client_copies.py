# SPDX-License-Identifier: Apache-2.0
"""Bandwidth of a client's copies through the server, compared with copies from this process's pinned memory."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from gpushare import _core
from gpushare.backends.cuda.device import cuda_device
from gpushare.daemon.client.session import DaemonSession

from .processes import server
from .report import Report
from .spread import Spread

REPEATS = 7


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this benchmark's options."""
    parser.set_defaults(policies="even")
    parser.add_argument("--mb", type=int, default=1024, help="per copy, in MiB; default 1024")


def measure(options: argparse.Namespace, report: Report) -> None:
    """Measures both ways and both directions alternately."""
    with server(options) as (_, session):
        report.add(
            f"Copies of {options.mb} MiB, GB/s",
            _rows(session, options.mb << 20, options),
            "'own': pinned by this process, copied by its own context. 'pinned array': session.pinned_array(), which "
            "the worker copies from and to. 'any array': of NumPy, through shared memory.",
        )


def _rows(session: DaemonSession, count: int, options: argparse.Namespace) -> list[dict[str, object]]:
    core = cuda_device(options.device).core
    pinned, plain = session.pinned_array(count, np.uint8), np.ones(count, np.uint8)
    pinned[...] = 1
    memory, array = core.allocate(count), session.zeros(count, np.uint8)
    registration = _core.PinnedBuffer(core, pinned)
    ways: dict[tuple[str, str], Callable[[], object]] = {
        ("own", "up"): lambda: memory.upload(pinned),
        ("own", "down"): lambda: memory.download(pinned),
        ("pinned array", "up"): lambda: array.upload(pinned),
        ("pinned array", "down"): lambda: array.numpy(pinned),
        ("any array", "up"): lambda: array.upload(plain),
        ("any array", "down"): lambda: array.numpy(plain),
    }
    speeds: dict[tuple[str, str], list[float]] = {way: [] for way in ways}
    for _ in range(options.repeats):
        for way, copy in ways.items():
            start = time.perf_counter()
            copy()
            speeds[way].append(count / (time.perf_counter() - start) / 1e9)
    registration.close()
    return [
        {"memory": memory_kind, "direction": direction, "GB/s": Spread.of(found)}
        for (memory_kind, direction), found in speeds.items()
    ]
