# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the README: ``python docs/images/draw.py``."""

from pathlib import Path

import matplotlib.pyplot as plt

import gpushare as gs

FOLDER = Path(__file__).parent
STAGGER_NS = 36  # 50 cycles of the GTX 480


def fifo_and_srtf() -> None:
    """The same pair under two policies, side by side."""
    pairs = gs.bundled_workload("ercbench").pairs(stagger_ns=STAGGER_NS)
    pair = next(pair for pair in pairs if pair.name == "RayTracing+JPEG-d")
    result = gs.compare(pair, ["fifo", "srtf"])
    figure, axes = plt.subplots(1, 2, figsize=(13, 5))
    for policy, ax in zip(result.policies, axes, strict=True):
        result.plot.timeline(policy, ax=ax)
    figure.tight_layout()
    figure.savefig(FOLDER / "fifo-and-srtf.png", dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    fifo_and_srtf()
