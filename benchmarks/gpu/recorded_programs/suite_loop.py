# SPDX-License-Identifier: Apache-2.0
"""Original kernels of the suite, launched by driver calls, with a pause of the host after every round."""

from __future__ import annotations

import json
import sys
import time

from benchmarks.gpu.driver import Function, Stream, use_primary_context

from gpushare.backends.cuda.device import cuda_device
from gpushare.backends.cuda.loaded_workload import LoadedLaunch
from gpushare.model.workload import Launch

KERNELS = ("triad", "nbody", "matrix_product")
PAUSE_S = 0.001


def main(rounds: int) -> None:
    """Five launches of each in a row, then the host waits and works."""
    launches = [Launch.of_suite(name, "small") for name in KERNELS]
    loaded = [LoadedLaunch(cuda_device("cuda:0"), launch) for launch in launches]
    use_primary_context(0)
    functions = [Function(each.compiled.original, each.compiled.symbol) for each in loaded]
    stream = Stream()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        for launch, each, function in zip(launches, loaded, functions, strict=True):
            for _ in range(5):
                function.launch(stream, launch.grid, launch.block, launch.shared_bytes, each.packed)
        stream.wait()
        until = time.perf_counter() + PAUSE_S
        while time.perf_counter() < until:
            pass
        seconds.append(time.perf_counter() - start)
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(int(sys.argv[1]))
