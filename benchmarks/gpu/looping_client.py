# SPDX-License-Identifier: Apache-2.0
"""A process that loops one original kernel of the suite, for mps.py: windows arrive on stdin, rates go to stdout."""

from __future__ import annotations

import json
import sys
import time
from collections import deque

from gpushare.backends.cuda.device import cuda_device
from gpushare.backends.cuda.loaded_workload import LoadedLaunch
from gpushare.model.workload import Launch

from .driver import Event, Function, Stream, use_primary_context

AHEAD = 4
"""Launches in the stream at a time, so that it is never empty."""
MARGIN_NS = 20_000_000
"""Time for which it continues after the window, so that the other process is never alone within it."""


class Loop:
    """The kernel with its data, ready for repeated launches."""

    def __init__(self, device: str, kernel: str, size: str) -> None:
        self._launch = Launch.of_suite(kernel, size)
        self._loaded = LoadedLaunch(cuda_device(device), self._launch)
        use_primary_context(int(device.partition(":")[2] or 0))
        self._function = Function(self._loaded.compiled.original, self._loaded.compiled.symbol)
        self._stream = Stream()
        self._marks = [Event() for _ in range(AHEAD)]
        self.rate(0, 0)

    def rate(self, start_ns: int, end_ns: int) -> float:
        """Launches per second between the first and the last that end in the window."""
        launch = self._launch
        waiting: deque[Event] = deque()
        ends: list[int] = []
        while not ends or ends[-1] < end_ns + MARGIN_NS:
            mark = self._marks[0]
            self._marks = [*self._marks[1:], mark]
            self._function.launch(self._stream, launch.grid, launch.block, launch.shared_bytes, self._loaded.packed)
            mark.record(self._stream)
            waiting.append(mark)
            if len(waiting) == AHEAD:
                waiting.popleft().wait()
                ends.append(time.monotonic_ns())
        self._stream.wait()
        inside = [end for end in ends if start_ns <= end <= end_ns]
        return (len(inside) - 1) / (inside[-1] - inside[0]) * 1e9 if len(inside) > 1 else 0.0


def main(device: str, kernel: str, size: str) -> None:
    """Answers requests until stdin ends."""
    loop = Loop(device, kernel, size)
    print(0, flush=True)
    for line in sys.stdin:
        start_ns, end_ns = json.loads(line)
        print(loop.rate(start_ns, end_ns), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
