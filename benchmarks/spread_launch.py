# SPDX-License-Identifier: Apache-2.0
"""One launch on several GPUs: what it gains, and how fast it moves from one to another.

    python -m benchmarks.spread_launch --device cuda:0,cuda:1 --json spread.json

First kernels of the suite run as ordinary launches on the first GPU, as launches on several that stay there, spread
over all, and with ``spread="auto"``, which is measured once it has chosen. Their results are compared to the byte; the
figures are medians of the times from submission to result, and their ratio to ordinary ones. Layers repeat the work of
a kernel on the same data. Then launches of one kernel begin on the first GPU and are moved to the second in the middle:
from the order, which ends the one part and submits the other, to the first block on the second GPU, and from there to
the last block on the first, by the trace of the session, which is as exact as polls are.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import gpushare as gs
from gpushare.files.atomic_write import write_atomically
from gpushare.model.workload import Launch
from gpushare.suite import KERNELS

KERNELS_SPREAD = (
    "mandelbrot", "nbody", "coulombic_potential", "binomial_options", "md5", "tpacf", "ray_trace", "aes_encrypt",
    "black_scholes", "sha1", "nlm_denoise", "triad_vector",
)  # fmt: skip
BEFORE = 4
"""Launches that are not measured: they compile and load, and ``auto`` chooses."""
MOVED = "nbody"
WAYS: dict[str, dict[str, Any]] = {
    "on one": {},
    "on one, as on several": {"spread": [0]},
    "on all": {"spread": True},
    "auto": {"spread": "auto"},
}
"""Options of ``submit()``."""


class Loaded:
    """A kernel of the suite with its data on the first device."""

    def __init__(self, session: gs.Session, name: str, size: str, layers: int) -> None:
        self.launch = Launch.of_suite(name, size, layers=layers)
        self.case = KERNELS[name].case(size)
        self.application = session.application(f"{name} x{layers}", device=0)
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
        """Milliseconds of launches, and the results of the last one."""
        for _ in range(BEFORE):
            self.submit(**how).result()
        found = []
        for _ in range(repeats):
            self.restore()
            begin = time.perf_counter()
            self.submit(**how).result()
            found.append(1e3 * (time.perf_counter() - begin))
        return found, self.outputs()


def speed_ups(session: gs.Session, names: Sequence[str], size: str, layers: int, repeats: int) -> list[dict[str, Any]]:
    """A row for each kernel."""
    found = []
    for name in names:
        loaded = Loaded(session, name, size, layers)
        times, results = {}, []
        for way, how in WAYS.items():
            measured, outputs = loaded.times(repeats, **how)
            times[way] = statistics.median(measured)
            results.append(outputs)
        assert all(each == results[0] for each in results), name
        one = times["on one"]
        found.append(
            {"kernel": name, "layers": layers, "ms on one": round(one, 3)}
            | {way: round(one / times[way], 3) for way in WAYS if way != "on one"}
        )
        print(found[-1], flush=True)
    return found


def moves(device: str, size: str, layers: int, count: int) -> dict[str, Any]:
    """Percentiles of many moves, in microseconds."""
    with gs.Session(device, "fifo", measure_alone=False) as session:
        loaded = Loaded(session, MOVED, size, layers)
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
    name = loaded.application.name
    second = launches[launches["application"] == f"{name}@1"].iloc[1:]  # without the one that was spread
    firsts = blocks.groupby("launch")["start_ns"].min()
    lasts = blocks.groupby("launch")["end_ns"].max()
    to_first, to_last = [], []
    for launch, arrival in zip(second["launch"], second["arrival_ns"], strict=True):
        if launch not in firsts.index:
            continue
        before = launches[(launches["application"] == name) & (launches["arrival_ns"] < arrival)]["launch"].iloc[-1]
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
    parser.add_argument("--kernels", default=",".join(KERNELS_SPREAD), help="of the suite, with commas")
    parser.add_argument("--layers", default="1,16", help="lengths of their launches, with commas")
    parser.add_argument("--moved-layers", type=int, default=8, help="of the launches that are moved")
    parser.add_argument("--repeats", type=int, default=9, help="launches of each kernel; the median counts")
    parser.add_argument("--moves", type=int, default=1000)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    with gs.Session(options.device, "fifo", measure_alone=False, keeps_record=False) as session:
        gains = [
            row
            for layers in map(int, options.layers.split(","))
            for row in speed_ups(session, options.kernels.split(","), options.size, layers, options.repeats)
        ]
    found: dict[str, Any] = {"device": options.device, "speed-ups": gains}
    found["moves"] = moves(options.device, options.size, options.moved_layers, options.moves)
    print(json.dumps(found["moves"], indent=1), flush=True)
    if options.json is not None:
        write_atomically(options.json, (json.dumps(found, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
