# SPDX-License-Identifier: Apache-2.0
"""Temperatures of a chip after several steps of an explicit difference scheme, computed in one launch.

Source: HotSpot of K. Skadron et al., Temperature-aware microarchitecture, ISCA 2003, with the overlapping tiles of
S. Che et al., Rodinia, IISWC 2009 (there: the pyramid). Both sides round every fp32 operation on its own.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

BLOCK = (16, 16, 1)
SHAPE = {"small": (61, 87), "large": (8_192, 8_192)}
STEPS = {"small": 3, "large": 2}
PATTERN = 1_024  # the side of the repeated pattern of a large chip
ROWS_AT_ONCE = 32
# Conductances relative to each other and to a step: the sum of all shares is below 1, so the scheme is stable.
ACROSS, DOWN, UPWARD, HEATING = (np.float32(value) for value in (0.13, 0.21, 0.004, 0.7))
AMBIENT = np.float32(80)


def after_step(temperatures: np.ndarray, power: np.ndarray) -> np.ndarray:
    """The reference of one step, of temperatures with a margin of one cell."""
    own = temperatures[1:-1, 1:-1]
    twice = own + own
    down = (temperatures[:-2, 1:-1] + temperatures[2:, 1:-1] - twice) * DOWN
    across = (temperatures[1:-1, :-2] + temperatures[1:-1, 2:] - twice) * ACROSS
    return own + (power + down + across + (AMBIENT - own) * UPWARD) * HEATING


def _reference(temperatures: np.ndarray, power: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        wide = np.pad(temperatures, 1, mode="edge")
        temperatures = np.empty_like(power)
        for first in range(0, len(power), ROWS_AT_ONCE):
            last = first + ROWS_AT_ONCE
            temperatures[first:last] = after_step(wide[first : last + 2], power[first:last])
    return temperatures


def _chip(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Temperatures around 90 degrees, and the power of units some of which are busy."""
    rows, columns = (min(extent, PATTERN) for extent in shape)
    temperatures = random.normal(90, 4, (rows, columns)).astype(np.float32)
    units = random.random((rows // 16 + 1, columns // 16 + 1)) * (
        random.random((rows // 16 + 1, columns // 16 + 1)) < 0.4
    )
    power = units.repeat(16, axis=0).repeat(16, axis=1)[:rows, :columns].astype(np.float32)
    times = (shape[0] // rows, shape[1] // columns)
    return np.tile(temperatures, times), np.tile(power, times)


def _build(size: Size, random: np.random.Generator) -> Case:
    rows, columns = SHAPE[size]
    steps = STEPS[size]
    temperatures, power = _chip(random, (rows, columns))
    kept = BLOCK[0] - 2 * steps
    return Case(
        grid=grid_over((columns, rows), (kept, kept)),
        block=BLOCK,
        arguments=[
            output("after", (rows, columns), np.float32),
            Argument("before", temperatures),
            Argument("power", power),
            Argument("steps", np.int32(steps)),
            Argument("across", ACROSS),
            Argument("down", DOWN),
            Argument("upward", UPWARD),
            Argument("heating", HEATING),
            Argument("ambient", AMBIENT),
            Argument("rows", np.int32(rows)),
            Argument("columns", np.int32(columns)),
        ],
        reference=lambda: {"after": _reference(temperatures, power, steps)},
    )


KERNEL = SuiteKernel(
    "hotspot",
    "Several time steps of a stencil in shared memory: a barrier for each, overlapping tiles",
    _build,
    {"CuMAS": "hotspot"},
)
