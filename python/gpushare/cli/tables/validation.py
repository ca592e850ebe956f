# SPDX-License-Identifier: Apache-2.0
"""Output of ``gpushare validate``: a table of errors, plots, and all points as CSV."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gpushare
from gpushare.cli.exit_codes import leave_for_failed
from gpushare.cli.files import Wanted, write_files
from gpushare.cli.output import print_json, print_table, remark, share
from gpushare.extras import pandas as pd
from gpushare.files.atomic_write import write_atomically
from gpushare.plots import validation as plots
from gpushare.validation import errors
from gpushare.validation.prediction import predicted
from gpushare.validation.recording import Recording

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = "points.csv"
TABLE_COLUMNS = ["figure", "sharing", "points", "median error", "p90", "worst", "bias"]


def report(recording: Recording, simulator: str, output: Path | None, *, as_json: bool) -> None:
    """Simulates the recorded workloads, and prints and writes the errors."""
    table = errors.compared(recording, predicted(recording, gpushare.device(simulator)))
    files = write_files({} if output is None else wanted_files(table, output))
    written = list(files.paths.values())
    if as_json:
        print_json(document(table, recording, simulator, written))
    else:
        conditions = recording.conditions
        title = f"{simulator} against {conditions.device} ({conditions.driver}, {conditions.date[:10]})"
        print_table(title, TABLE_COLUMNS, list(_rows(table)), texts=2)
        for file in written:
            remark(f"output: {file}")
    leave_for_failed({}, files.failures)


def _rows(table: pd.DataFrame) -> Iterator[list[str]]:
    """A row per quantity, with rows per policy or split below for pairs."""
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
    """The report as JSON."""
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


def wanted_files(table: pd.DataFrame, folder: Path) -> Wanted:
    """The files by name: all points as CSV, and plots as PNG, each drawn when it is written."""
    wanted = {POINTS: (folder / POINTS, lambda path: write_atomically(path, table.to_csv(index=False)))}
    for name, draw in _drawings(table).items():
        wanted[f"{name}.png"] = (folder / f"{name}.png", partial(_write_png, draw))
    return wanted


def _drawings(table: pd.DataFrame) -> dict[str, Callable[[], Figure]]:
    """What draws each plot that has points to show."""
    drawings: dict[str, Callable[[], Figure]] = {"errors": partial(plots.draw_errors, table)}
    for figure, name, draw in (
        (errors.SOLO_SMS, "solo_sms", partial(plots.draw_solo, x="SMs")),
        (errors.SOLO_RESIDENCY, "solo_residency", partial(plots.draw_solo, x="blocks per SM")),
        (errors.STP, "stp", partial(plots.draw_pairs, figure_name=errors.STP)),
        (errors.ANTT, "antt", partial(plots.draw_pairs, figure_name=errors.ANTT)),
    ):
        rows = table[table["figure"] == figure]
        if len(rows):
            drawings[name] = partial(draw, rows)
    return drawings


def _write_png(draw: Callable[[], Figure], path: Path) -> Path:
    picture = io.BytesIO()
    draw().savefig(picture, dpi=150, format="png")
    return write_atomically(path, picture.getvalue())
