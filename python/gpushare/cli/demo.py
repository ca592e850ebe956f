# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare demo``: compares policies on bundled workloads."""

from __future__ import annotations

from pathlib import Path

import click

import gpushare
from gpushare.backends.choice import backend_for
from gpushare.cli.arguments import device_option, json_option, policies_option, repeats_option, to_policies
from gpushare.cli.compare import report, write_comparison
from gpushare.cli.exit_codes import leave_for_failed
from gpushare.cli.files import WrittenFiles, require_plots, require_tables
from gpushare.cli.output import remark
from gpushare.cli.tables.comparison import telling_workload
from gpushare.files.atomic_write import require_writable
from gpushare.reproduce.srtf.runs import STAGGER_CYCLES
from gpushare.results.ranking import winner
from gpushare.results.result import Result

WORKLOAD = "ercbench"
WORKLOAD_ON_GPU = "suite_pair"
REPORT = "report.html"


@click.command()
@device_option()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("gpushare-report"),
    show_default=True,
    help="Folder for the report, a trace and the saved result.",
)
@repeats_option()
@policies_option()
@json_option()
def demo(device: str, out: Path, repeats: int, policies: str | None, as_json: bool) -> None:
    """Compare all policies on the 56 ordered pairs of SRTF's eight ERCBench kernels. Takes a few seconds.

    On a GPU: on a short kernel that arrives while a long one runs, including the scheduling of CUDA alone.

    \b
    Examples:
      gpushare demo
      gpushare demo --policies fifo,srtf,even --repeats 5 --out report
      gpushare demo --device sim:h100 --json
      gpushare demo --device cuda:0
    """
    require_tables()
    out.mkdir(parents=True, exist_ok=True)
    require_writable(out / REPORT)
    require_plots()
    workload = gpushare.bundled_workload(WORKLOAD)
    backend = backend_for(device, workload)
    if backend.baselines:
        by_all = [each.name for each in gpushare.policies()] + list(backend.baselines)
        pair = gpushare.bundled_workload(WORKLOAD_ON_GPU)
        result = gpushare.compare(pair, to_policies(policies) or by_all, device=device, repeats=repeats)
    else:
        where = gpushare.device(device, workload.device)
        pairs = workload.pairs(stagger_ns=round(STAGGER_CYCLES / where.clock_hz * 1e9))
        result = gpushare.compare(pairs, to_policies(policies), device=where, repeats=repeats)
    files = _write_folder(result, out) if result.runs else WrittenFiles({})
    report(result, {} if not as_json else files.paths, as_json=as_json)
    if not as_json:
        _say_how_to_open(result, files.paths)
    leave_for_failed(result.errors, files.failures)


def _write_folder(result: Result, out: Path) -> WrittenFiles:
    trace = f"{telling_workload(result)}-{winner(result)}.pftrace".replace("/", "_")
    return write_comparison(result, html=out / REPORT, perfetto=out / trace, save=out / "result.gpushare")


def _say_how_to_open(result: Result, files: dict[str, Path]) -> None:
    if "html" in files:
        remark(f"report: open {files['html']} in a browser")
    if "perfetto" in files:
        shown = f"{telling_workload(result)} under {winner(result)}"
        remark(f"trace:  drop {files['perfetto']} on https://ui.perfetto.dev ({shown})")
    if "save" in files:
        remark(f'result: gpushare.Result.load("{files["save"]}") in Python')
