# SPDX-License-Identifier: Apache-2.0
"""Tables of a program's launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from gpushare.cli.output import duration
from gpushare.printable import printable
from gpushare.programs.report import Launches, ProgramReport

MOST_KERNELS = 20
WIDTH = 160
LONGEST_NAME = 96


def show_report(report: ProgramReport, file: IO[str]) -> None:
    """Tables by kernel, kind and library, the kernels with most GPU time first.

    Args:
        report: the program's report.
        file: the output file.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=file, highlight=False, width=WIDTH)
    parts: list[tuple[str, Sequence[Launches]]] = [
        ("kernel", report.by_kernel[:MOST_KERNELS]),
        ("kind", report.by_kind),
        ("launched by", report.by_library),
    ]
    for title, rows in parts:
        table = Table(box=box.SIMPLE_HEAD)
        table.add_column(title, overflow="fold")
        for column in ("launches", "on the GPU", "share", "each"):
            table.add_column(column, justify="right")
        for each in rows:
            share = each.gpu_s / report.gpu_s if report.gpu_s else 0.0
            one = duration(each.gpu_s * 1e9 / each.launches)
            table.add_row(Text(_short(each.name)), str(each.launches), duration(each.gpu_s * 1e9), f"{share:.1%}", one)
        console.print(table)
    left = len(report.by_kernel) - MOST_KERNELS
    if left > 0:
        console.print(f"and {left} kernels with less GPU time")
    console.print(
        f"held {duration(report.held_s * 1e9)}, limited {duration(report.limited_s * 1e9)}, "
        f"{report.processes} processes that used CUDA"
    )
    if report.worker_launches or report.whole_reasons:
        console.print(f"{report.worker_launches} launches as workers, {report.evictions} evictions")
    for reason, count in report.whole_reasons.items():
        console.print(f"{count} x whole, {printable(reason)}")


def _short(name: str) -> str:
    name = printable(name)
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
