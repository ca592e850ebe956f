# SPDX-License-Identifier: Apache-2.0
"""The paper's names for ways of sharing, and the corresponding policies."""

from __future__ import annotations

TIME_SLICING, MPS, SLATE, LEFTOVER, WHOLE = "time-slicing", "MPS", "slate", "leftover", "left whole"

POLICIES = {TIME_SLICING: "round-robin", MPS: "fifo", SLATE: "slate", LEFTOVER: "slate:rest=leftover"}
"""Policies on a simulated GPU."""

POLICIES_ON_A_GPU = POLICIES | {
    TIME_SLICING: "hardware-serial",
    MPS: "hardware-streams",
    WHOLE: "slate:rest=leftover:whole_up_to_us=8000",
}
"""On a GPU the baselines are the hardware's: streams of one process share it as MPS shares it among processes. Original
kernels cannot be resized."""
