# SPDX-License-Identifier: Apache-2.0
"""A process that shares the GPU, for processes.py: it loops a kernel of the suite, or launches it with pauses.

Windows arrive on stdin; launches per second and single latencies within them go to stdout. It runs as a plain CUDA
process, or as a client of the server.
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from typing import Any, Protocol

import gpushare as gs
from gpushare.model.workload import Launch

from .session_launcher import SessionLauncher, Wait

AHEAD = 4
"""Launches in flight of a looping client, so that the GPU is never idle."""
MARGIN_NS = 20_000_000
"""Time for which a looping client continues after the window, so that no other one is alone within it."""


class Launcher(Protocol):
    """Launches the kernel once; the returned function waits for the end."""

    def launch(self) -> Wait:
        """One launch."""


class PlainLauncher:
    """The original kernel, without gpushare."""

    def __init__(self, device: str, launch: Launch) -> None:
        from gpushare.backends.cuda.device import cuda_device
        from gpushare.backends.cuda.loaded_workload import LoadedLaunch

        from .driver import Event, Function, Stream, use_primary_context

        self._launch = launch
        self._loaded = LoadedLaunch(cuda_device(device), launch)
        use_primary_context(int(device.partition(":")[2] or 0))
        self._function = Function(self._loaded.compiled.original, self._loaded.compiled.symbol)
        self._stream = Stream()
        self._events = deque(Event() for _ in range(AHEAD + 1))

    def launch(self) -> Wait:
        """Launches into the stream of this process."""
        self._events.rotate()
        event, launch = self._events[0], self._launch
        self._function.launch(self._stream, launch.grid, launch.block, launch.shared_bytes, self._loaded.packed)
        event.record(self._stream)
        return event.wait


def served_launcher(device: str, launch: Launch) -> Launcher:
    """A launcher through the server at GPUSHARE_SOCKET."""
    return SessionLauncher(gs.connect(), device, launch)


LAUNCHERS = {"plain": PlainLauncher, "served": served_launcher}


def looped(launcher: Launcher, start_ns: int, end_ns: int) -> dict[str, Any]:
    """Launches per second between the first and the last that end in the window."""
    waiting: deque[Wait] = deque()
    ends: list[int] = []
    while not ends or ends[-1] < end_ns + MARGIN_NS:
        waiting.append(launcher.launch())
        if len(waiting) == AHEAD:
            waiting.popleft()()
            ends.append(time.monotonic_ns())
    for wait in waiting:
        wait()
    inside = [end for end in ends if start_ns <= end <= end_ns]
    return {"rate": (len(inside) - 1) / (inside[-1] - inside[0]) * 1e9 if len(inside) > 1 else 0.0}


def now_and_then(launcher: Launcher, pause_s: float, start_ns: int, end_ns: int) -> dict[str, Any]:
    """Durations of the launches that began in the window, from the call until the end was known."""
    latencies = []
    time.sleep(max(start_ns - time.monotonic_ns(), 0) / 1e9)
    while (begin := time.monotonic_ns()) < end_ns:
        launcher.launch()()
        latencies.append((time.monotonic_ns() - begin) / 1e3)
        time.sleep(pause_s)
    return {"latencies_us": latencies}


def main(way: str, device: str, kernel: str, size: str, pause_s: str) -> None:
    """Answers requests until stdin ends. With a pause of 0 it loops."""
    launcher = LAUNCHERS[way](device, Launch.of_suite(kernel, size))
    launcher.launch()()
    print(json.dumps({}), flush=True)
    for line in sys.stdin:
        window = json.loads(line)
        answer = now_and_then(launcher, float(pause_s), *window) if float(pause_s) else looped(launcher, *window)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
