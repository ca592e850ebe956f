# SPDX-License-Identifier: Apache-2.0
"""The paper's words for ways of sharing, and the policies that stand for them."""

from __future__ import annotations

TIME_SLICING, MPS, SLATE, LEFTOVER, WHOLE = "time-slicing", "MPS", "slate", "leftover", "left whole"

POLICIES = {TIME_SLICING: "round-robin", MPS: "fifo", SLATE: "slate", LEFTOVER: "slate:rest=leftover"}
"""Where a GPU is simulated."""

POLICIES_ON_A_GPU = POLICIES | {
    TIME_SLICING: "hardware-serial",
    MPS: "hardware-streams",
    WHOLE: "slate:rest=leftover:whole_up_to_us=8000",
}
"""On a GPU the baselines are the hardware's own: streams of one process are shared as MPS shares those of several. Left
whole, launches are no workers, and nobody is resized within one."""
