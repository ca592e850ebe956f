# SPDX-License-Identifier: Apache-2.0
"""Draws the server's ``auto`` against MPS, for docs/h100-sharing.md: ``python docs/images/draw_pairs.py [PAIRS.json]``.

The pairs are those that ``python -m benchmarks.gpu pairs --json PAIRS.json`` writes; without them, those that are in
tests/data/gpu_pairs.
"""

import json
import lzma
import sys
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpushare.plots.axes import clean
from gpushare.plots.palette import COLOURS, FAINT, INK, MARKERS

FOLDER = Path(__file__).parent
RECORDING = FOLDER.parents[1] / "tests" / "data" / "gpu_pairs" / "h100.json.xz"
SERVER, PLAIN, BEST = "server, auto", "MPS 100/100 %", "MPS, best"
PANELS = {PLAIN: "MPS as it comes", BEST: "MPS at the best percentages of each pair"}
MARKED = ("lbm", "nbody")
"""Kernels whose pairs the page speaks of."""
CLOSE = 0.02
"""Ratios as near to 1 as this are shaded."""
NAMED = {PLAIN: 2, BEST: 4}
"""So many of the worst pairs are named."""


def throughputs(file: Path) -> pd.DataFrame:
    """STP by pair and way; the cells of the benchmark's table are ``STP (ANTT)``."""
    content = lzma.decompress(file.read_bytes()) if file.suffix == ".xz" else file.read_bytes()
    (rows,) = (each["rows"] for each in json.loads(content)["tables"] if each["title"].startswith("Pair by pair"))
    table = pd.DataFrame(rows).set_index("pair").map(lambda cell: float(cell.split()[0]))
    return table.assign(**{BEST: table.filter(like="MPS").max(axis="columns")})


def group_of(pair: str) -> str:
    """By which pairs are coloured."""
    with_marked = [f"with {kernel}" for kernel in MARKED if kernel in pair.split(" + ")]
    return with_marked[0] if with_marked else "others"


def draw(ax: Axes, table: pd.DataFrame, other: str, limits: tuple[float, float]) -> None:
    """A dot per pair: the other way across, the server up."""
    low, high = limits
    ax.fill_between(limits, [low * (1 - CLOSE), high * (1 - CLOSE)], [low * (1 + CLOSE), high * (1 + CLOSE)],
                    color=FAINT, alpha=0.18, linewidth=0)  # fmt: skip
    ax.plot(limits, limits, color=FAINT, linewidth=1)
    groups = table.index.map(group_of)
    for number, name in enumerate(("others", *(f"with {kernel}" for kernel in MARKED))):
        rows = table[groups == name]
        ax.plot(rows[other], rows[SERVER], MARKERS[number], color=COLOURS[number], markersize=4.5, alpha=0.7,
                markeredgewidth=0, label=f"{name} ({len(rows)})")  # fmt: skip
    ratio = table[SERVER] / table[other]
    for pair in ratio.nsmallest(NAMED[other]).index:
        ax.annotate(pair, table.loc[pair, [other, SERVER]], (7, -3), textcoords="offset points", fontsize=7.5,
                    color=INK)  # fmt: skip
    above, below = (ratio > 1 + CLOSE).sum(), (ratio < 1 - CLOSE).sum()
    ax.text(0.03, 0.97, f"auto better by more than {CLOSE:.0%}: {above} pairs", transform=ax.transAxes, va="top",
            fontsize=9, color=INK)  # fmt: skip
    ax.text(0.97, 0.28, f"worse by more than {CLOSE:.0%}: {below} pairs", transform=ax.transAxes, ha="right",
            fontsize=9, color=INK)  # fmt: skip
    ax.set(xlim=limits, ylim=limits, box_aspect=1, xlabel=f"STP under {PANELS[other]}")
    ax.locator_params(nbins=8)
    clean(ax, f"Against {PANELS[other]}", "both")


def main() -> None:
    """Both panels."""
    table = throughputs(Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDING)
    shown = table[[SERVER, *PANELS]]
    limits = (shown.min().min() * 0.98, shown.max().max() * 1.05)
    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots(1, len(PANELS), sharey=True)
    for ax, other in zip(axes, PANELS, strict=True):
        draw(ax, table, other, limits)
    axes[0].set_ylabel("STP under the server's auto")
    axes[1].legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(0.01, 0.92))
    figure.savefig(FOLDER / "pairs_against_mps.png", dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    main()
