# SPDX-License-Identifier: Apache-2.0
"""Draws the server's ``auto`` against MPS (docs/results/pairs.md): ``python docs/images/draw_pairs.py [PAIRS.json]``.

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
from scatter import Limits, scatter

FOLDER = Path(__file__).parent
RECORDING = FOLDER.parents[1] / "tests" / "data" / "gpu_pairs" / "h100.json.xz"
SERVER, PLAIN, BEST = "server, auto", "MPS 100/100 %", "MPS, best"
PANELS = {PLAIN: "MPS as it comes", BEST: "MPS at the best percentages of each pair"}
MARKED = ("lbm", "nbody")
"""Kernels whose pairs the page speaks of."""
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


def draw(ax: Axes, table: pd.DataFrame, other: str, limits: Limits) -> None:
    """A dot per pair: the other way across, the server up."""
    groups = table.index.map(group_of)
    rows = {name: table[groups == name] for name in ("others", *(f"with {kernel}" for kernel in MARKED))}
    shown = {
        f"{name} ({len(each)})": each.rename(columns={other: "across", SERVER: "up"}) for name, each in rows.items()
    }
    scatter(ax, shown, limits, named=NAMED[other], title=f"Against {PANELS[other]}")
    ax.set_xlabel(f"STP under {PANELS[other]}")


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
