# SPDX-License-Identifier: Apache-2.0
"""What is known of a run because a real GPU made it: when, with which driver, and how the kernels fit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """The conditions of a run on a real GPU.

    Attributes:
        date: of the run, ISO 8601, UTC.
        driver: its release and the CUDA that it supports.
        gpushare: version that made the run.
        max_residency: per operation of the workload, the blocks that fill an SM; 0 for a copy.
        registers: per kernel, registers per thread of the original and of its worker (None: it has none).
        longest_pause_ns: of the thread that schedules, between two looks at the GPU, its policy's decisions included;
            None where the hardware scheduled by itself, and for sessions.
        without_processor_ns: how long in all that thread was awake and had no processor. Under a built-in policy the
            system ran something else then, and much of it makes a run worthless as a measurement; a policy in Python
            waits for the interpreter, too. None likewise.
        board_joules: that the board used from just before the first launch to just after the last, its idle power
            included; None where NVML does not tell, for runs of less than a second, and for sessions.
    """

    date: str
    driver: str
    gpushare: str
    max_residency: tuple[int, ...]
    registers: dict[str, tuple[int, int | None]]
    longest_pause_ns: int | None = None
    without_processor_ns: int | None = None
    board_joules: float | None = None
