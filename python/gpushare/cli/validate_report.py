# SPDX-License-Identifier: Apache-2.0
"""What ``gpushare validate`` says: a table of errors, plots, and every point as CSV."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gpushare
from gpushare.cli.output import print_json, print_table, remark, share
from gpushare.validation import errors
from gpushare.validation.prediction import predicted
from gpushare.validation.recording import Recording

if TYPE_CHECKING:
    import pandas as pd

TABLE_COLUMNS = ["figure", "sharing", "points", "median error", "p90", "worst", "bias"]


def report(recording: Recording, simulator: str, output: Path | None, *, as_json: bool) -> None:
    """Simulates what was recorded, and prints and writes how far the two are apart."""
    table = errors.compared(recording, predicted(recording, gpushare.device(simulator)))
    files = write_files(table, output) if output is not None else []
    if as_json:
        print_json(document(table, recording, simulator, files))
        return
    conditions = recording.conditions
    title = f"{simulator} against {conditions.device} ({conditions.driver}, {conditions.date[:10]})"
    print_table(title, TABLE_COLUMNS, list(_rows(table)), texts=2)
    for file in files:
        remark(f"output: {file}")


def _rows(table: pd.DataFrame) -> Iterator[list[str]]:
    """Every figure, and pairs by way of sharing below."""
    for name, rows in table.groupby("figure", sort=False):
        yield _row(str(name), "", rows)
        ways = [way for way in dict.fromkeys(rows["way"]) if way]
        if len(ways) > 1:
            for way in ways:
                yield _row("", way, rows[rows["way"] == way])


def _row(figure: str, way: str, rows: pd.DataFrame) -> list[str]:
    numbers = errors.summary(rows.assign(all=""), ["all"]).iloc[0]
    bias = numbers["bias"]
    return [
        figure,
        way,
        str(int(numbers["points"])),
        *(share(numbers[name]) for name in ("median", "p90", "worst")),
        "-" if math.isnan(bias) else f"{bias:+.1%}",
    ]


def document(table: pd.DataFrame, recording: Recording, simulator: str, files: list[Path]) -> dict[str, Any]:
    """The same as JSON."""
    by_way = errors.summary(table, ["figure", "way"]).reset_index()
    return {
        "gpushare": gpushare.__version__,
        "simulator": simulator,
        "device": recording.conditions.device,
        "driver": recording.conditions.driver,
        "date": recording.conditions.date,
        "kernels": recording.kernels,
        "ways": recording.ways,
        "failures": recording.failures,
        "figures": errors.summary(table, ["figure"]).to_dict(orient="index"),
        "by_way": by_way.to_dict(orient="records"),
        "files": [str(file) for file in files],
    }


def write_files(table: pd.DataFrame, folder: Path) -> list[Path]:
    """Plots as PNG and all points as CSV."""
    from gpushare.plots import validation as plots

    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "points.csv"]
    table.to_csv(files[0], index=False)
    drawn = {"errors": plots.draw_errors(table)}
    for figure, name, words in (
        (errors.SOLO_SMS, "solo_sms", "SMs"),
        (errors.SOLO_RESIDENCY, "solo_residency", "blocks per SM"),
    ):
        rows = table[table["figure"] == figure]
        if len(rows):
            drawn[name] = plots.draw_solo(rows, words)
    for figure, name in ((errors.STP, "stp"), (errors.ANTT, "antt")):
        rows = table[table["figure"] == figure]
        if len(rows):
            drawn[name] = plots.draw_pairs(rows, figure)
    for name, drawing in drawn.items():
        files.append(folder / f"{name}.png")
        drawing.savefig(files[-1], dpi=150)
    return files
