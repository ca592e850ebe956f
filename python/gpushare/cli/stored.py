# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""Commands for files of earlier runs: ``gpushare report`` opens one, ``gpushare diff`` compares two."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import TypeAdapter, ValidationError

import gpushare
from gpushare._core import InvalidInput
from gpushare.checks import require
from gpushare.cli.arguments import json_option
from gpushare.cli.compare import report as show_comparison
from gpushare.cli.compare import write_comparison
from gpushare.cli.exit_codes import leave_for_failed
from gpushare.cli.files import require_distinct, require_plots, require_tables, written_file
from gpushare.cli.output import print_json, remark
from gpushare.cli.tables.program_report import show_report
from gpushare.cli.tables.stored import print_difference, print_trace, trace_summary
from gpushare.programs.report import ProgramReport
from gpushare.reports.result_file import load_result, written_by
from gpushare.results.difference import difference

if TYPE_CHECKING:
    from gpushare.results.server_trace import ServerTrace

FORMS = "a result (compare --save), a server's trace (trace -o FILE.pftrace) or a program's report (run --report-file)"
STORED = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("file", type=STORED)
@written_file("--html", "Write the report of a result.")
@written_file("--perfetto", "Write a trace of a result's winning policy for ui.perfetto.dev.")
@json_option()
def report(file: Path, html: Path | None, perfetto: Path | None, as_json: bool) -> None:
    """Show what FILE has stored: a result, a server's trace, or a program's report.

    Results are written by gpushare compare --save and Result.save, traces by gpushare trace, and reports of programs
    by gpushare run --report-file.

    \b
    Examples:
      gpushare report result.gpushare
      gpushare report result.gpushare --html report.html
      gpushare report last.pftrace --json
    """
    require_tables()
    require_distinct([file], html=html, perfetto=perfetto)
    begin = _begin(file)
    if begin.startswith(b"PK"):
        if html is not None:
            require_plots()
        result = load_result(file)
        files = write_comparison(result, html=html, perfetto=perfetto, save=None, stored=file)
        show_comparison(result, files.paths, as_json=as_json)
        leave_for_failed(result.errors, files.failures)
        return
    require(html is None and perfetto is None, f"{file}: only a result becomes a report or a trace, and this is none")
    if begin.lstrip().startswith(b"{"):
        _show_program(file, as_json=as_json)
    else:
        _show_trace(file, as_json=as_json)


@click.command()
@click.argument("old", type=STORED)
@click.argument("new", type=STORED)
@json_option()
def diff(old: Path, new: Path, as_json: bool) -> None:
    """Compare the stored results OLD and NEW: metrics of their common policies side by side, and the ratios.

    Only common workloads count. What else differs is said on stderr: versions, devices, seeds, contents of workloads.

    \b
    Examples:
      gpushare diff monday.gpushare today.gpushare
      gpushare diff monday.gpushare today.gpushare --json | jq .policies.srtf.antt.ratio
    """
    require_tables()
    found = difference(*(_stored_result(path) for path in (old, new)))
    versions = written_by(old), written_by(new)
    if versions[0] != versions[1]:
        found.notes.insert(0, f"written by different versions of gpushare: {versions[0]} and {versions[1]}")
    if as_json:
        print_json({"gpushare": gpushare.__version__, "old": old, "new": new, **found.to_dict()})
        return
    print_difference(found, old.name, new.name)
    for note in found.notes:
        remark(note)


def _stored_result(path: Path) -> gpushare.Result:
    require(_begin(path).startswith(b"PK"), f"{path}: is not a saved result (gpushare compare --save)")
    return load_result(path)


def _begin(path: Path) -> bytes:
    with path.open("rb") as stream:
        begin = stream.read(64)
    require(len(begin) > 0, f"{path}: is empty, expected {FORMS}")
    return begin


def _show_program(path: Path, *, as_json: bool) -> None:
    try:
        data = json.loads(path.read_bytes())
        found = TypeAdapter(ProgramReport).validate_python(data)
    except (ValueError, RecursionError, ValidationError) as error:
        reason = str(error).partition("\n")[0]
        raise InvalidInput(f"{path}: is not a program's report ({reason}), expected {FORMS}") from error
    if as_json:
        print_json({"gpushare": gpushare.__version__, "program": found.to_dict()})
    else:
        show_report(found, sys.stdout)


def _show_trace(path: Path, *, as_json: bool) -> None:
    trace = _trace(path)
    if as_json:
        document: dict[str, Any] = {"device": trace.device, "length_ns": trace.end_ns}
        print_json({"gpushare": gpushare.__version__, **document, "applications": trace_summary(trace)})
    else:
        print_trace(trace)


def _trace(path: Path) -> ServerTrace:
    # Both take long to import, and are not installed with the server alone.
    from google.protobuf.message import DecodeError

    from gpushare.results.server_trace import ServerTrace

    try:
        trace = ServerTrace.of(path)
    except (DecodeError, LookupError) as error:
        raise InvalidInput(f"{path}: expected {FORMS}") from error
    require(trace.device != "", f"{path}: is no server's trace; expected {FORMS}")
    return trace
