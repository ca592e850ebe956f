# SPDX-License-Identifier: Apache-2.0
"""One launch on several GPUs: what it gains, and how fast it moves from one to another.

    python -m benchmarks.spread_launch --device cuda:0,cuda:1 --json spread.json

First compute-bound kernels of the suite run as ordinary launches on the first GPU, and then spread over all. Their
results are compared to the byte; the figures are medians of the times from submission to result, and their ratio. Then
launches of one kernel begin on the first GPU and are moved to the second in the middle: from the order, which ends the
one part and submits the other, to the first block on the second GPU, and from there to the last block on the first, by
the trace of the session, which is as exact as polls are.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

import gpushare as gs
from gpushare.files.atomic_write import write_atomically
from gpushare.model.workload import Launch
from gpushare.suite import KERNELS

COMPUTE = ("mandelbrot", "nbody", "coulombic_potential", "black_scholes", "binomial_options", "sha1", "md5", "tpacf")
MOVED = "nbody"


class Loaded:
    """A kernel of the suite with its data on the first device."""

    def __init__(self, session: gs.Session, name: str, size: str) -> None:
        self.launch = Launch.of_suite(name, size)
        self.case = KERNELS[name].case(size)
        self.application = session.application(name, device=0)
        self.arguments = [
            self.application.array(each.value) if np.ndim(each.value) else each.value for each in self.case.arguments
        ]

    def restore(self) -> None:
        """What it writes is as before the first launch."""
        for each, array in zip(self.case.arguments, self.arguments, strict=True):
            if each.is_output:
                array.upload(each.value)

    def outputs(self) -> list[bytes]:
        """Its results."""
        pairs = zip(self.case.arguments, self.arguments, strict=True)
        return [array.numpy().tobytes() for each, array in pairs if each.is_output]

    def submit(self, **how: Any) -> Any:
        """One launch."""
        return self.application.submit(self.launch, args=self.arguments, **how)

    def times(self, repeats: int, **how: Any) -> tuple[list[float], list[bytes]]:
        """Milliseconds of launches, and the results of each."""
        self.submit(**how).result()  # compiles and loads
        found = []
        for _ in range(repeats):
            self.restore()
            begin = time.perf_counter()
            self.submit(**how).result()
            found.append(1e3 * (time.perf_counter() - begin))
        return found, self.outputs()


def speed_ups(session: gs.Session, size: str, repeats: int) -> dict[str, Any]:
    """By kernel."""
    found = {}
    for name in COMPUTE:
        loaded = Loaded(session, name, size)
        one, results = loaded.times(repeats)
        spread, others = loaded.times(repeats, spread=True)
        assert others == results, name
        found[name] = {
            "ms on one": round(statistics.median(one), 4),
            "ms on all": round(statistics.median(spread), 4),
            "speed-up": round(statistics.median(one) / statistics.median(spread), 3),
        }
        print(name, found[name], flush=True)
    return found


def moves(device: str, size: str, count: int) -> dict[str, Any]:
    """Percentiles of many moves, in microseconds."""
    with gs.Session(device, "fifo", measure_alone=False) as session:
        loaded = Loaded(session, MOVED, size)
        loaded.submit(spread=True).result()
        begin = time.perf_counter()
        loaded.submit(spread=0).result()
        length = time.perf_counter() - begin
        moved = 0
        for _ in range(count):
            job = loaded.submit(spread=0)
            time.sleep(length / 3)
            moved += job.move(1)
            job.result()
        run = session.finish()
    launches, blocks = run.launches(), run.blocks()
    second = launches[launches["application"] == f"{MOVED}@1"].iloc[1:]  # without the one that was spread
    firsts = blocks.groupby("launch")["start_ns"].min()
    lasts = blocks.groupby("launch")["end_ns"].max()
    to_first, to_last = [], []
    for launch, arrival in zip(second["launch"], second["arrival_ns"], strict=True):
        if launch not in firsts.index:
            continue
        before = launches[(launches["application"] == MOVED) & (launches["arrival_ns"] < arrival)]["launch"].iloc[-1]
        to_first.append((firsts[launch] - arrival) / 1e3)
        to_last.append((lasts[before] - firsts[launch]) / 1e3)
    return {
        "moves": moved,
        "order to first block there, us": _percentiles(to_first),
        "first block there to last block here, us": _percentiles(to_last),
    }


def _percentiles(values: list[float]) -> dict[str, float]:
    shares = (50, 90, 99) if values else ()
    return {"n": len(values), **{f"p{share}": round(float(np.percentile(values, share)), 1) for share in shares}}


def main() -> None:
    """Measures, and writes the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spread_launch", description=__doc__)
    parser.add_argument("--device", default="cuda:0,cuda:1", help="several GPUs with peer access")
    parser.add_argument("--size", default="large", choices=["small", "large"])
    parser.add_argument("--repeats", type=int, default=9, help="launches of each kernel; the median counts")
    parser.add_argument("--moves", type=int, default=1000)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    with gs.Session(options.device, "fifo", measure_alone=False, keeps_record=False) as session:
        gains = speed_ups(session, options.size, options.repeats)
    found: dict[str, Any] = {"device": options.device, "speed-ups": gains}
    found["moves"] = moves(options.device, options.size, options.moves)
    print(json.dumps(found["moves"], indent=1), flush=True)
    if options.json is not None:
        write_atomically(options.json, (json.dumps(found, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
