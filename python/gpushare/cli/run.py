# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare run``: runs an unmodified CUDA program that shares the GPU."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpushare import _core
from gpushare._core import CudaError, InvalidInput, PolicyError
from gpushare.checks import require_name
from gpushare.cli.completion import names
from gpushare.cli.output import duration, remark
from gpushare.cli.tables.program_report import show_report
from gpushare.printable import own_name, printable
from gpushare.programs.attachment import with_share
from gpushare.programs.coverage import Coverage
from gpushare.programs.launch import NoProgramError, NotRunnableError, found_program, run_program
from gpushare.programs.own_server import ServerChoice, scheduled
from gpushare.programs.predictions import keep_times, known_times
from gpushare.programs.report import LEAST_COVERAGE, report_of
from gpushare.programs.run_options import bytes_in

if TYPE_CHECKING:
    from gpushare.programs.report import ProgramReport

FAILED = 125
"""Exit code if gpushare itself could not run the program."""
CANNOT_RUN = 126
NOT_FOUND = 127
OF_SIGNAL = 128


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--name", metavar="N", help="Name in status and traces.  [default: the file's name]")
@click.option("--priority", type=int, default=0, show_default=True, metavar="P", help="Larger is more urgent.")
@click.option("--weight", type=float, default=1.0, show_default=True, metavar="W", help="Share for weighted policies.")
@click.option("--memory", metavar="SIZE", help="Limit of GPU memory, such as 20GB; more is out of memory.")
@click.option("--sms", type=click.FloatRange(0.01, 1), metavar="SHARE",
              help="Share of the SMs that it may use, under a server with --mps.  [default: 1]")  # fmt: skip
@click.option("--server", type=click.Path(path_type=Path), metavar="SOCKET", help="Socket of gpushare serve.")
@click.option(
    "--policy",
    metavar="P",
    help="Policy of a server to start, which others may join.  [default: auto]",
    shell_complete=names.served_policy,
)
@click.option(
    "--ordering",
    metavar="O",
    help="Ordering of copies and launches of a server to start, such as cumas.  [default: arrival]",
    shell_complete=names.ordering,
)
@click.option("--all-gpus", is_flag=True, help="Leave it all GPUs, on which it runs and waits at the same moments.")
@click.option("--longest-hold", type=click.FloatRange(0.001, 3600), default=5.0, show_default=True, metavar="SECONDS",
              help="Longest wait of a launch; then it proceeds.")  # fmt: skip
@click.option("--workers", is_flag=True, help="Make long kernels preemptible where there is PTX.")
@click.option("--report", is_flag=True, help="Print its launches by kernel when it has ended.")
@click.option("--report-file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write the report as JSON.")  # fmt: skip
@click.argument(
    "command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND [ARGUMENTS]...", shell_complete=names.program
)
def run(command: tuple[str, ...], **choices: Any) -> None:
    """Run an unmodified CUDA program that shares the GPU with others.

    The program is not modified. Its launches wait until the server's policy admits them. With --server, or if a
    server of this user is running, it joins that server; otherwise it starts one that others may join. The
    program's output is unchanged; gpushare writes to stderr. docs/guide/run.md has the details.

    Exit code: the program's; 128 + N where signal N ended it; 125 gpushare could not run it, 126 it is not a program
    that can be run, 127 there is none.

    \b
    Examples:
      gpushare run -- python train.py
      gpushare run --name serving --priority 10 -- python serve.py
      gpushare run --memory 20GB --report -- ./simulation input.dat
    """
    with _own_exit_codes():
        code = _run(command, choices)
    raise click.exceptions.Exit(code if code >= 0 else OF_SIGNAL - code)


def _run(command: tuple[str, ...], choices: dict[str, Any]) -> int:
    for option in ("policy", "ordering"):
        if choices["server"] is not None and choices[option] is not None:
            raise InvalidInput(f"the server of --server has its {option} already: leave --{option} out")
    program = found_program(command)
    report_file: Path | None = choices["report_file"]
    if report_file is not None:
        _require_writable(report_file)
    name = choices["name"] or own_name(Path(program).name)
    require_name("--name", name)
    memory_bytes = 0 if choices["memory"] is None else bytes_in(choices["memory"])
    page = _core.ProgramPage(memory_bytes, round(choices["longest_hold"] * 1e9), choices["workers"])
    known_times(page)
    application = {"name": name, "priority": choices["priority"], "weight": choices["weight"]}
    server = ServerChoice(choices["server"], choices["policy"], choices["ordering"])
    coverage: list[Coverage] = []
    with scheduled(page, server, application, to_all_gpus=choices["all_gpus"]) as attachments:
        variables = with_share(attachments[0].environment, choices["sms"])
        ended = run_program(
            command, page, lambda pid: coverage.append(Coverage(pid)), lambda: coverage[0].look(), variables
        )
    keep_times(ended.kernels)
    escaped = [f"{each.name} ({each.pid})" for each in coverage[0].escaped.values()]
    report = report_of(
        name,
        ended.wall_s,
        ended.kernels,
        ended.totals,
        ended.processes,
        escaped,
        coverage[0].ratio,
        ended.whole_reasons,
    )
    with suppress(OSError):  # stderr cannot be written: the exit code stays the program's
        _tell(report, show_all=choices["report"])
        _write(report, report_file)
    return ended.code


def _require_writable(file: Path) -> None:
    """Before the program begins, which may run for days. A pipe is not opened here: its reader would see an end."""
    place = file if file.exists() else file.absolute().parent
    if not os.access(place, os.W_OK):
        raise InvalidInput(f"--report-file {file}: cannot be written: name a file in a folder that can be")


def _write(report: ProgramReport, file: Path | None) -> None:
    try:
        if file is not None:
            file.write_text(json.dumps(report.to_dict(), indent=2) + "\n")
    except OSError as error:
        remark(f"gpushare: {file}: the report cannot be written: {error.strerror or error}")


def _tell(report: ProgramReport, *, show_all: bool) -> None:
    if report.launches or report.escaped:
        held = f", held for {duration(report.held_s * 1e9)}" if report.held_s else ""
        remark(
            f"{report.name}: {report.launches} launches, {duration(report.gpu_s * 1e9)} on the GPU "
            f"({report.gpu_ratio:.0%} of {duration(report.wall_s * 1e9)}){held}"
        )
    if report.let_go:
        remark(f"{report.name}: {report.let_go} launches proceeded because of --longest-hold")
    if report.untold:
        remark(f"{report.name}: {report.untold} launches are not listed by kernel: it has too many kernels and shapes")
    if not report.is_covered:
        ratio = "an unknown part" if report.coverage_ratio is None else f"{report.coverage_ratio:.0%}"
        remark(
            f"{report.name}: {ratio} of its GPU time was observed, below {LEAST_COVERAGE:.0%}: these processes use the "
            f"driver without gpushare: {printable(', '.join(report.escaped))}; "
            "gpushare doctor -- COMMAND gives the reason"
        )
    if show_all:
        show_report(report, sys.stderr)


@contextmanager
def _own_exit_codes() -> Iterator[None]:
    """Distinguishes an error of gpushare from the program's exit codes."""
    try:
        yield
    except (InvalidInput, CudaError, PolicyError, ConnectionError, OSError) as error:
        click.echo(f"gpushare: {error}", err=True)
        raise click.exceptions.Exit(_code_of(error)) from None


def _code_of(error: Exception) -> int:
    if isinstance(error, NoProgramError):
        return NOT_FOUND
    return CANNOT_RUN if isinstance(error, NotRunnableError) else FAILED
