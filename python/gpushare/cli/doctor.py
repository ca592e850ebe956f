# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare doctor``: checks what is installed, what is missing, and how to install it."""

from __future__ import annotations

import sys
import textwrap
from typing import Any

import click

import gpushare
from gpushare.cli.arguments import json_option
from gpushare.cli.completion import names
from gpushare.cli.exit_codes import NOT_WORKING
from gpushare.cli.output import print_json, say
from gpushare.doctor import Diagnosis, diagnose
from gpushare.doctor.finding import Finding, State
from gpushare.printable import printable
from gpushare.programs.escapes import findings_of

MARKS = {State.GOOD: "✓", State.HURTS: "!", State.MISSING: "-", State.BROKEN: "✗"}
PLAIN_MARKS = {"✓": "+", "✗": "x"}
COLOURS = {State.GOOD: "green", State.HURTS: "yellow", State.MISSING: "bright_black", State.BROKEN: "red"}
NAME_WIDTH = 16
INDENT = " " * 4


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--require-gpu", is_flag=True, help="Report an error if no GPU can be used.")
@json_option()
@click.argument(
    "command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND [ARGUMENTS]...]", shell_complete=names.program
)
def doctor(require_gpu: bool, as_json: bool, command: tuple[str, ...]) -> None:
    """Check what gpushare needs: what is installed, what is missing, and the command that installs it.

    With a command: whether gpushare run would see all launches of its program, judged by its file.

    A line per item: ✓ good, ! works with a problem, - missing (an error only where a GPU is required),
    ✗ broken. A real GPU is required by --require-gpu, or by GPUSHARE_DEVICE=cuda:0.

    Exit code: 0 the simulator works and nothing is broken; 4 something is broken or required and missing.

    \b
    Examples:
      gpushare doctor
      gpushare doctor --require-gpu --json
      gpushare doctor -- python train.py
    """
    if command:
        _look_at_program(command, as_json=as_json)
        return
    diagnosis = diagnose(require_gpu=require_gpu)
    if as_json:
        print_json(_document(diagnosis))
    else:
        for finding in diagnosis.findings:
            _print(finding)
        click.echo()
        say(_conclusion(diagnosis))
    if not diagnosis.healthy:
        raise click.exceptions.Exit(NOT_WORKING)


def _look_at_program(command: tuple[str, ...], *, as_json: bool) -> None:
    found = findings_of(command)
    if as_json:
        print_json({"gpushare": gpushare.__version__, "findings": [finding.to_dict() for finding in found]})
    else:
        for finding in found:
            _print(finding)
    if any(finding.state is State.BROKEN for finding in found):
        raise click.exceptions.Exit(NOT_WORKING)


def _document(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "gpushare": gpushare.__version__,
        "healthy": diagnosis.healthy,
        "simulator_works": diagnosis.simulator_works,
        "gpu_works": diagnosis.gpu_works,
        "gpu_expected": diagnosis.gpu_expected,
        "findings": [finding.to_dict() for finding in diagnosis.findings],
    }


def _print(finding: Finding) -> None:
    click.echo(f"{_mark(finding.state)} {finding.name:<{NAME_WIDTH}} {printable(finding.summary)}")
    if finding.state is State.GOOD:
        return
    for detail in finding.details:
        for line in detail.strip().splitlines():
            click.echo(textwrap.indent(printable(line), INDENT))
    if finding.fix is not None:
        click.echo(f"{INDENT}{_arrow()} {click.style(printable(finding.fix), bold=True)}")


def _conclusion(diagnosis: Diagnosis) -> str:
    simulator = "Simulated GPUs work" if diagnosis.simulator_works else "Simulated GPUs do not work"
    if diagnosis.gpu_works:
        return f"{simulator}; so do real ones."
    return f"{simulator}. For a real one, see: {', '.join(diagnosis.wanted_for_gpu)}."


def _mark(state: State) -> str:
    mark = MARKS[state]
    return click.style(mark if _can_print(mark) else PLAIN_MARKS.get(mark, mark), fg=COLOURS[state], bold=True)


def _arrow() -> str:
    return "→" if _can_print("→") else "->"


def _can_print(text: str) -> bool:
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "ascii")  # stdout may be closed: gpushare doctor >&-
    except UnicodeEncodeError:
        return False
    return True
