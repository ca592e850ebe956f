# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare schedule``: one run of a workload under one policy, with a row per application."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import gpushare
from gpushare.cli.arguments import (
    device_option,
    json_option,
    place_option,
    profile_missing_option,
    seed_option,
    timeout_option,
    to_policy,
)
from gpushare.cli.completion import names
from gpushare.cli.exit_codes import leave_for_failed
from gpushare.cli.files import (
    ON_STDOUT,
    WrittenFiles,
    require_distinct,
    require_plots,
    require_tables,
    write_files,
    written_file,
)
from gpushare.cli.output import duration, print_json, print_table, remark
from gpushare.files.atomic_write import write_atomically
from gpushare.model.load import load
from gpushare.policy import policy_name

if TYPE_CHECKING:
    from gpushare.results.run import Run

NEEDS_LATEX = {"pgf"}
"""File formats that Matplotlib writes only where LaTeX is installed."""
UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""Metadata by format: without the date, so that equal runs give equal files."""


@click.command()
@click.argument("workload", shell_complete=names.workload)
@click.option(
    "--policy",
    required=True,
    metavar="P",
    help="Name of a built-in policy, or FILE.py:CLASS.",
    shell_complete=names.policy,
)
@device_option()
@place_option()
@seed_option()
@timeout_option()
@profile_missing_option()
@written_file("--perfetto", "Write a trace for ui.perfetto.dev.")
@written_file("--plot", "Write the timeline as a picture (.png, .pdf, .svg; on stdout .png).")
@written_file("--trace", "Write every event and plan in a binary format: equal runs give equal files.")
@json_option()
def schedule(
    workload: str,
    policy: str,
    device: str,
    place: str,
    seed: int,
    timeout: float,
    profile_missing: bool,
    perfetto: Path | None,
    plot: Path | None,
    trace: Path | None,
    as_json: bool,
) -> None:
    """Run a workload once under one policy. WORKLOAD is a TOML file or the name of a bundled workload.

    \b
    Examples:
      gpushare schedule pair.toml --policy srtf
      gpushare schedule ercbench --policy even --perfetto run.pftrace --plot run.png
      gpushare schedule suite_pair --policy srtf --device cuda:0
      gpushare schedule pair.toml --policy mine.py:LatestFirst --seed 7 --json
    """
    require_tables()
    require_distinct([workload, device], perfetto=perfetto, plot=plot, trace=trace)
    if plot is not None:
        _require_picture(plot)
    decides = to_policy(policy)
    try:
        one = gpushare.run(
            load(workload),
            decides,
            device=device,
            place=place,
            seed=seed,
            timeout=timeout,
            profile_missing=profile_missing,
        )
    except gpushare.PolicyError as error:
        errors = {policy_name(decides): str(error)}
        if as_json:
            print_json({"gpushare": gpushare.__version__, "errors": errors})
        leave_for_failed(errors)
        raise
    files = _write_files(one, perfetto=perfetto, plot=plot, trace=trace)
    show_run(one, files.paths, as_json=as_json)
    leave_for_failed({}, files.failures)


def show_run(one: Run, files: dict[str, Path] | None = None, *, as_json: bool) -> None:
    """Prints a run as tables, or as one JSON document; ``files`` are its written files."""
    if as_json:
        print_json({**_document(one), "files": files or {}})
        return
    _print_run(one)
    for what, path in (files or {}).items():
        remark(f"{what}: {path}")


def _write_files(one: Run, *, perfetto: Path | None, plot: Path | None, trace: Path | None) -> WrittenFiles:
    return write_files(
        {
            "perfetto": (perfetto, one.to_perfetto),
            "plot": (plot, lambda path: _write_plot(one, path)),
            "trace": (trace, lambda path: write_atomically(path, one.trace.to_bytes())),
        }
    )


def _require_picture(path: Path) -> None:
    require_plots()
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes().keys() - NEEDS_LATEX
    if path != ON_STDOUT and _picture_format(path) not in known:
        raise gpushare.InvalidInput(f"--plot {path}: the name must end in one of: .{', .'.join(sorted(known))}")


def _picture_format(path: Path) -> str:
    return path.suffix.removeprefix(".").lower()


def _write_plot(one: Run, path: Path) -> Path:
    import matplotlib as mpl

    from gpushare.plots.axes import figure_of

    mpl.use("Agg")  # a file needs no window
    picture, kind = io.BytesIO(), _picture_format(path) or "png"  # as on stdout
    with mpl.rc_context({"svg.hashsalt": "gpushare"}):  # equal runs give equal pictures
        figure_of(one.plot.timeline()).savefig(picture, format=kind, metadata=UNDATED.get(kind))
    return write_atomically(path, picture.getvalue())


def _document(one: Run) -> dict[str, Any]:
    return {
        "gpushare": gpushare.__version__,
        "workload": one.workload.name,
        "policy": one.policy,
        "device": one.device_name,
        **({} if one.place is None else {"place": one.place}),
        one.numbered_by: one.seed,
        "metrics": one.metrics(),
        "applications": one.applications().to_dict(orient="records"),
        "errors": {},
    }


def _shown(metric: str, value: float) -> str:
    if math.isnan(value):
        return "-"
    return duration(value) if metric.endswith("_ns") else f"{value:.3f}"


def _print_run(one: Run) -> None:
    times = ["arrival_ns", "end_ns", "turnaround_ns", "alone_ns"]
    rows = [
        [row["application"], *(duration(row[time]) for time in times), f"{row['ntt']:.3f}"]
        for row in one.applications().to_dict(orient="records")
    ]
    placed = "" if one.place is None else f", placed by {one.place}"
    how = "" if one.is_real else f" (simulated){placed}, seed {one.seed}"
    title = f"{one.workload.name} under {one.policy} on {one.device_name}{how}"
    print_table(title, ["application", "arrival", "end", "turnaround", "alone", "slowdown (NTT)"], rows)
    rows = [[name.removesuffix("_ns"), _shown(name, value)] for name, value in one.metrics().items()]
    print_table("", ["metric", "value"], rows)
