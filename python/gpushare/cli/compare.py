# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare compare``: runs workloads under several policies."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import gpushare
from gpushare.checks import require
from gpushare.cli.arguments import (
    device_option,
    json_option,
    place_option,
    policies_option,
    profile_missing_option,
    repeats_option,
    seed_option,
    timeout_option,
    to_policies,
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
from gpushare.cli.output import print_json, remark
from gpushare.cli.tables.comparison import print_comparison, telling_workload
from gpushare.model.load import load
from gpushare.model.workload_dict import workload_to_dict
from gpushare.results.ranking import is_oracle, winner

if TYPE_CHECKING:
    from gpushare.model.workload import Workload
    from gpushare.results.result import Result


@click.command()
@click.argument("workloads", nargs=-1, required=True, metavar="WORKLOAD...", shell_complete=names.workload)
@policies_option()
@device_option()
@place_option()
@repeats_option()
@seed_option()
@timeout_option()
@profile_missing_option()
@click.option("--together", is_flag=True, help="Merge the given workloads into one.")
@click.option("--pairs", is_flag=True, help="Compare on all ordered pairs of each workload's applications.")
@written_file("--html", "Write a report.")
@written_file("--perfetto", "Write a trace of the winning policy for ui.perfetto.dev.")
@written_file("--save", "Write all runs, for gpushare.Result.load.")
@json_option()
def compare(
    workloads: tuple[str, ...],
    policies: str | None,
    device: str,
    place: str,
    repeats: int,
    seed: int,
    timeout: float,
    profile_missing: bool,
    together: bool,
    pairs: bool,
    html: Path | None,
    perfetto: Path | None,
    save: Path | None,
    as_json: bool,
) -> None:
    """Compare policies on workloads. WORKLOAD is a TOML file or the name of a bundled workload.

    \b
    Examples:
      gpushare compare pair.toml
      gpushare compare ercbench --pairs --policies fifo,mpmax,srtf --repeats 5
      gpushare compare pair.toml --policies fifo,mine.py:LatestFirst --html report.html
      gpushare compare train.toml infer.toml --together --device sim:h100
      gpushare compare suite_pair --device cuda:0 --policies fifo,srtf,hardware-streams
      gpushare compare mine.toml --device cuda:0 --policies slate,even --profile-missing
      gpushare compare pair.toml --device sim:h100 --json | jq .metrics.srtf.stp
    """
    require_tables()
    require_distinct([*workloads, device], html=html, perfetto=perfetto, save=save)
    if html is not None:
        require_plots()
    given = [load(text) for text in workloads]
    given = [gpushare.together(given)] if together else given
    compared = [pair for each in given for pair in _pairs(each)] if pairs else given
    if save is not None:
        _require_savable(compared)
    result = gpushare.compare(
        compared,
        to_policies(policies),
        device=device,
        place=place,
        repeats=repeats,
        seed=seed,
        timeout=timeout,
        profile_missing=profile_missing,
    )
    files = write_comparison(result, html=html, perfetto=perfetto, save=save)
    report(result, files.paths, as_json=as_json)
    leave_for_failed(result.errors, files.failures)


def _pairs(workload: Workload) -> list[Workload]:
    there = len(workload.applications)
    require(there > 1, f"--pairs: workload {workload.name!r} has only one application, and a pair takes two")
    return workload.pairs()


def _require_savable(workloads: list[Workload]) -> None:
    """What cannot be saved is said before it has run."""
    for each in workloads:
        workload_to_dict(each)


def report(result: Result, files: dict[str, Path], *, as_json: bool) -> None:
    """Writes the result to stdout: one JSON document, or a table, the verdict and the paths of the files."""
    if as_json:
        print_json({**comparison_document(result), "files": files})
        return
    if not result.runs:
        return
    print_comparison(result)
    for what, path in files.items():
        remark(f"{what}: {path}")


def write_comparison(
    result: Result, *, html: Path | None, perfetto: Path | None, save: Path | None, stored: Path | None = None
) -> WrittenFiles:
    """Writes the requested files of a comparison in which at least one policy ran.

    Args:
        result: the comparison.
        html: path of a report, which links to the other files.
        perfetto: path of a trace of the winning policy.
        save: path of the result.
        stored: path at which the result is already.
    """
    if not result.runs:
        return WrittenFiles({})

    def write_winner(path: Path) -> Path:
        return result.to_perfetto(path, winner(result), telling_workload(result))

    def write_html(path: Path) -> Path:
        """Last, so that it links to files that are there."""
        others = {"result": save or stored, f"trace of {winner(result)}": perfetto} if html != ON_STDOUT else {}
        files = {what: each for what, each in others.items() if each is not None and each.is_file()}
        return result.to_html(path, command=shlex.join(["gpushare", *sys.argv[1:]]), files=files)

    return write_files({"perfetto": (perfetto, write_winner), "save": (save, result.save), "html": (html, write_html)})


def comparison_document(result: Result) -> dict[str, Any]:
    """A comparison as JSON: per policy, per workload and policy, and per application of every run."""
    document: dict[str, Any] = {
        "gpushare": gpushare.__version__,
        "devices": list(dict.fromkeys(run.device_name for run in result.runs)),
        "places": list(dict.fromkeys(run.place for run in result.runs if run.place)),
        "workloads": result.workloads,
        "policies": result.policies,
        "oracles": [policy for policy in result.policies if is_oracle(policy)],
        "errors": result.errors,
    }
    if result.runs:
        document["winner"] = winner(result)
        document["metrics"] = result.metrics().to_dict(orient="index")
        document["per_workload"] = result.per_workload().reset_index().to_dict(orient="records")
        document["applications"] = result.to_pandas().to_dict(orient="records")
    return document
