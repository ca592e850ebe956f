# SPDX-License-Identifier: Apache-2.0
"""Output of ``gpushare record``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gpushare
from gpushare.cli.output import duration, print_json, print_table, remark, share
from gpushare.recorded.summary import ENGINES

if TYPE_CHECKING:
    from gpushare.model.workload import Application, Workload
    from gpushare.recorded.conversion import Converted
    from gpushare.recorded.summary import Summary

MOST_ROWS = 40


def print_converted(
    made: Converted, output: Path, folder: Path, replayed: Mapping[str, int] | None, *, as_json: bool
) -> None:
    """The applications of the new workload."""
    rows = _applications(made, replayed)
    if as_json:
        print_json(
            {
                "gpushare": gpushare.__version__,
                "file": output,
                "recording": folder,
                "device": made.workload.device,
                "applications": rows,
                "remarks": made.remarks,
            }
        )
        return
    columns = ["application", "arrival", "launches", "copies", "recorded"]
    cells = [
        [row["name"], duration(row["arrival_ns"]), str(row["launches"]), str(row["copies"]),
         duration(row["recorded_ns"])]
        for row in rows
    ]  # fmt: skip
    if replayed is not None:
        columns += ["replayed alone", "off by"]
        for cell, row in zip(cells, rows, strict=True):
            cell += [duration(row["replayed_ns"]), f"{row['replayed_ns'] / row['recorded_ns'] - 1:+.1%}"]
    print_table(f"{output}", columns, cells)
    known = made.workload.device
    remark(f"recording: {folder}")
    if known is None:
        remark("there is no simulated device of this GPU: name one with --device for a replay (gpushare devices)")
    remark(f"next: gpushare compare {output}" + (f" --device sim:{known}" if known else " --device DEVICE"))


def _applications(made: Converted, replayed: Mapping[str, int] | None) -> list[dict[str, Any]]:
    rows = []
    for application in made.workload.applications:
        row = {**_contents(application), "recorded_ns": made.recorded_ns[application.name]}
        rows.append(row if replayed is None else {**row, "replayed_ns": replayed[application.name]})
    return rows


def _contents(application: Application) -> dict[str, Any]:
    launches = sum(1 for _ in application.launches())
    return {
        "name": application.name,
        "arrival_ns": application.arrival_ns,
        "launches": launches,
        "copies": len(application.operations) - launches,
    }


def merged_document(workload: Workload, output: Path, files: Sequence[str]) -> dict[str, Any]:
    """The merged workload, as JSON."""
    return {
        "gpushare": gpushare.__version__,
        "file": output,
        "merged": files,
        "device": workload.device,
        "applications": [_contents(application) for application in workload.applications],
    }


def print_summary(summary: Summary, title: str) -> None:
    """Two tables: what took how long, and how idle the engines were."""
    rows = [
        [use.program, use.what, str(use.count), duration(use.total_ns), duration(use.total_ns / use.count),
         share(use.total_ns / summary.length_ns), _amount(use.bytes, use.blocks, use.count)]
        for use in summary.works[:MOST_ROWS]
    ]  # fmt: skip
    print_table(title, ["program", "what", "times", "in all", "mean", "of the time", "each"], rows, texts=2)
    if len(summary.works) > MOST_ROWS:
        remark(f"and {len(summary.works) - MOST_ROWS} more that took less; --json has them all")
    rows = [
        [ENGINES[use.engine], duration(use.busy_ns), share(use.busy_ns / summary.length_ns),
         share(use.alone_ns / summary.length_ns), duration(use.idle_ns), share(use.idle_ns / summary.length_ns)]
        for use in summary.engines
    ]  # fmt: skip
    columns = ["engine", "busy", "share", "share with the others idle", "idle", "idle share"]
    print_table(f"engines over {duration(summary.length_ns)}", columns, rows)


def _amount(size: int, blocks: int, count: int) -> str:
    if size:
        return f"{size / count / 1e6:.3f} MB"
    return f"{blocks / count:.0f} blocks" if blocks else "-"


def summary_document(summary: Summary) -> dict[str, Any]:
    """The summary as JSON."""
    return {"gpushare": gpushare.__version__, **asdict(summary)}
