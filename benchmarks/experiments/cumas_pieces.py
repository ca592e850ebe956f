# SPDX-License-Identifier: Apache-2.0
"""Beyond CuMAS's evaluation: copies in pieces, so that a small application need not wait for a large one's copy.

python benchmarks/experiments/cumas_pieces.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import mean

from gpushare.compare import compare
from gpushare.model.operation import Copy, Launch
from gpushare.model.workload import Application, Workload
from gpushare.reproduce.reproduction import Reproduction, Section
from gpushare.results.result import Result
from gpushare.results.run import Run

LARGE_BYTES = 10**9
SMALL_BYTES = 10**6
PROBES = 8
PROBE_EVERY_NS = 2_000_000
GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, are evenly spread: probes arrive at every phase of a piece."""

LOSSES = (0.02, 0.05, 0.1, 0.2)
ORDERINGS = {
    "streams (fifo)": "fifo",
    "whole copies": "cumas+fifo",
    **{f"pieces, {loss:.0%} lost": f"cumas:pieces=short:bandwidth_loss_share={loss}+fifo" for loss in LOSSES},
    **{
        f"pieces of {megabytes} MB, {at_a_time} at a time": (
            f"cumas:pieces=short:piece_mb={megabytes}:pieces_at_a_time={at_a_time}+fifo"
        )
        for megabytes in (4, 1)
        for at_a_time in (1, 2, 3)
    },
}


def small_behind_large() -> Workload:
    """An application that copies 1 GB, and small ones that arrive meanwhile: 1 MB in, a kernel, 1 MB out."""
    launch = Launch.of_suite("vector_add", "small")
    small = (Copy("to_device", SMALL_BYTES), launch, Copy("to_host", SMALL_BYTES))
    probes = [
        Application(f"small {number}", small, arrival_ns=round((number + 0.5 + number * GOLDEN % 1) * PROBE_EVERY_NS))
        for number in range(PROBES)
    ]
    return Workload("1 MB behind 1 GB", (Application("large", (Copy("to_device", LARGE_BYTES), launch)), *probes))


def pieces_section(compared: Callable[[Workload, list[str]], Result], words: str) -> Section:
    """Turnarounds of the small applications, and bandwidth of the large copy.

    Args:
        compared: runs a workload under policies on a device.
        words: measured or simulated, and the device.
    """
    import pandas as pd

    result = compared(small_behind_large(), list(ORDERINGS.values()))
    rows = {}
    for name, policy in ORDERINGS.items():
        made = result.run(policy)
        rows[name] = {"small, mean us": mean(small_us(made)), "small, longest us": max(small_us(made))}
        rows[name]["large, ms"] = made.applications()["turnaround_ns"].iloc[0] / 1e6
        rows[name]["large, GB/s"] = rate_of_large(made)
    alone = result.runs[0].alone_ns
    rows["alone"] = {"small, mean us": alone["small 0"] / 1e3, "large, ms": alone["large"] / 1e6}
    note = (
        f"{words}. {PROBES} applications of {SMALL_BYTES // 10**6} MB each way come while another one copies "
        f"{LARGE_BYTES // 10**9} GB to the device. 'Small': from arrival to end. A piece goes when the one before has "
        "ended, unless the engine has several at a time; its size follows from the share of the bandwidth that may be "
        "lost: b / (a x + b) for x bytes. "
        "'alone': without other applications."
    )
    return Section("Copies in pieces: 1 MB behind 1 GB", pd.DataFrame(rows).T, note)


def simulated_pieces_section(progress: bool | None) -> Section:
    """The section on the simulated H100, with the copies of a real one."""

    def compared(workload: Workload, policies: list[str]) -> Result:
        return compare(workload, policies, device="sim:h100", progress=progress)

    return pieces_section(compared, "Simulated on sim:h100; cumas_elsewhere.py measures it")


def small_us(made: Run) -> list[float]:
    """Turnarounds of the small applications."""
    return [float(each) / 1e3 for each in made.applications()["turnaround_ns"].iloc[1:]]


def rate_of_large(made: Run) -> float:
    """Bandwidth of the large copy in GB/s, without the time for the small ones' copies."""
    copies = made.copies()
    to_device = copies[copies["direction"] == "to_device"].set_index("application")
    large = to_device.loc["large"]
    begin, end = large["start_ns"], large["end_ns"]
    inside = to_device.drop(index="large")
    inside = inside[(inside["start_ns"] >= begin) & (inside["end_ns"] <= end)]
    own_ns = end - begin - (inside["end_ns"] - inside["start_ns"]).sum()
    return float(large["bytes"] / own_ns)


def main() -> None:
    """Prints the table."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(Reproduction("CuMAS: copies in pieces", (simulated_pieces_section(None),)).text())


if __name__ == "__main__":
    main()
