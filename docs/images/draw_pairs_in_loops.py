# SPDX-License-Identifier: Apache-2.0
"""Draws ``auto`` over pairs in loops, for docs/results/pairs.md: ``python docs/images/draw_pairs_in_loops.py``.

The pairs are those of tests/data/gpu_companies.
"""

import json
import lzma
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from scatter import scatter

FOLDER = Path(__file__).parent
RECORDINGS = FOLDER.parents[1] / "tests" / "data" / "gpu_companies"
LOOPS = {"loops of 150 ms": "loops_150ms", "loops of 600 ms": "loops_600ms"}
EVEN, STREAMS, GREEN = "even:whole_up_to_ns=2e6", "hardware-streams", "green-contexts:66,66"
PANELS = {
    "even, short launches left whole": [EVEN],
    "the better of streams and equal green contexts": [STREAMS, GREEN],
}
NAMED = 2


def throughputs(name: str) -> pd.DataFrame:
    """STP by pair and way."""
    tables = json.loads(lzma.decompress((RECORDINGS / f"{name}.json.xz").read_bytes()))["tables"]
    (rows,) = (each["rows"] for each in tables if each["title"] == "pairs: STP of each")
    return pd.DataFrame(rows).set_index("company")


def main() -> None:
    """Both panels."""
    tables = {f"{loops} ({len(table)})": table for loops, table in ((k, throughputs(v)) for k, v in LOOPS.items())}
    everything = pd.concat(tables.values())[["auto", EVEN, STREAMS, GREEN]]
    limits = (everything.min().min() * 0.98, everything.max().max() * 1.05)
    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots(1, len(PANELS), sharey=True)
    for ax, (other, ways) in zip(axes, PANELS.items(), strict=True):
        groups = {
            legend: pd.DataFrame({"across": table[ways].max(axis="columns"), "up": table["auto"]})
            for legend, table in tables.items()
        }
        scatter(ax, groups, limits, named=NAMED, title=f"Against {other}")
        ax.axhline(0.98, color="0.6", linewidth=0.8, linestyle=":")
        ax.set_xlabel("STP")
    axes[0].set_ylabel("STP under auto (dotted: 0.98)")
    axes[1].legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(0.01, 0.92))
    figure.savefig(FOLDER / "pairs_in_loops.png", dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    main()
