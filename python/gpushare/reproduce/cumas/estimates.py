# SPDX-License-Identifier: Apache-2.0
"""CuMAS, Figs. 11 and 12: accuracy of predicted times of copies and kernels."""

from __future__ import annotations

from gpushare import _core
from gpushare.backends.simulator.simulation import alone_times
from gpushare.device import device as find_device
from gpushare.extras import pandas as pd
from gpushare.model.operation import Launch
from gpushare.model.workload import Application
from gpushare.profiling.known import device_profile
from gpushare.reproduce.cumas.runs import PAPER
from gpushare.reproduce.reproduction import Section

KERNELS = (
    "backprop_forward",
    "black_scholes",
    "gaussian_fan2",
    "hotspot",
    "lava_md",
    "lud",
    "needleman_wunsch",
    "particle_filter",
    "pathfinder",
    "srad_1",
    "b_plus_tree",
)
"""Kernels of the suite that correspond to those of Table 1."""

PARTS = (8, 4, 2, 1)
LEAST_BYTES = 64 * 1024


def transfer_section() -> Section:
    """Fig. 11: the transfer model, and its fit to measured copies."""
    h100 = device_profile("sim:h100")
    assert h100 is not None
    rows = {
        "K40c, to_device (paper)": {
            "ns per KB": PAPER["transfer"]["a"] * 1e6,
            "us before": PAPER["transfer"]["b"] * 1e3,
            "mean error": float("nan"),
            "worst error": float("nan"),
        }
    }
    for curve in h100.copies:
        fit = _core.fit_transfer(list(map(float, curve.bytes)), list(map(float, curve.host_ns)))
        errors = [abs(error) for size, error in zip(curve.bytes, fit.residuals, strict=True) if size >= LEAST_BYTES]
        rows[f"H100, {curve.direction}, {curve.memory}"] = {
            "ns per KB": fit.ns_per_byte * 1e3,
            "us before": fit.latency_ns / 1e3,
            "mean error": sum(errors) / len(errors),
            "worst error": max(errors),
        }
    note = (
        "Time = a x + b. The paper fits copies of 4 to 100 KB and prints a = 0.0002 and b = 0.0072, read here as "
        "milliseconds per KB and milliseconds; the simulated K40c has them. The other rows: copies of 1 KB to 256 MB "
        "measured on an H100; errors are those of copies of 64 KB and more."
    )
    return Section("Fig. 11: transfer model", pd.DataFrame(rows).T, note)


def kernel_section() -> Section:
    """Fig. 12: the time of a whole grid, predicted from an eighth, a quarter and a half of it."""
    h100 = find_device("sim:h100")
    rows = {}
    for name in KERNELS:
        launch = Launch.of_suite(name)
        model = launch.model_on(h100)
        times = {}
        for part in PARTS:
            blocks = max(1, launch.blocks // part)
            application = Application(name, (Launch(model, blocks),))
            times[part] = (blocks, alone_times(application, h100, 0)[0])
        blocks, whole_ns = times[1]
        rows[name] = {f"from 1/{part}": _estimate([times[part]], blocks) / whole_ns for part in PARTS[:-1]}
        rows[name]["from 1/8 and 1/4"] = _estimate([times[8], times[4]], blocks) / whole_ns
    table = pd.DataFrame(rows).T
    errors = (table - 1).abs()
    table.loc["mean error"] = errors.mean()
    table.loc["worst error"] = errors.max()
    note = (
        "Estimate / time of the whole grid, from the time per thread block of a part of it, for kernels of the suite "
        "on the simulated H100, alone. The paper, on its K40c from an eighth: "
        f"{PAPER['kernel_time']['mean']:.0%} off in the mean, {PAPER['kernel_time']['most']:.0%} at most. These whole "
        "grids take 0.3 to 3 ms (particle_filter 25), of which the launch alone is 43 us: in an eighth of a grid that "
        "is a large part. Two parts determine the constant time. They cannot predict blocks that take "
        "longer towards the grid's end."
    )
    return Section("Fig. 12: kernel times", table, note)


def _estimate(measured: list[tuple[int, int]], blocks: int) -> float:
    times = _core.KernelTime()
    for part_blocks, part_ns in measured:
        times.add(part_blocks, part_ns)
    estimate = times.of(blocks)
    assert estimate is not None
    return float(estimate)
