# SPDX-License-Identifier: Apache-2.0
"""Checks the options of ``gpushare record``, before a program runs, which may take hours."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from gpushare._core import InvalidInput
from gpushare.checks import require, require_name
from gpushare.files.atomic_write import require_writable

WORKLOAD_SUFFIX = ".toml"
TRACE_SUFFIX = ".trace"
CONVERSION = {"output", "by", "between", "device_file", "replay", "as_json"}
USED = {
    "summary": {"as_json"},
    "merge": {"command", "output", "as_json"},
    "recorded": CONVERSION,
    "run": {"command", *CONVERSION},
}
"""The options that each mode uses. A mode has the name of the option that selects it, except for running a program."""


def trace_folder(output: Path) -> Path:
    """The folder of the recording that belongs to this workload file.

    >>> str(trace_folder(Path("runs/train.toml"))), str(trace_folder(Path("lr0.1"))), str(trace_folder(Path("x.trace")))
    ('runs/train.trace', 'lr0.1.trace', 'x.trace')
    """
    return output if output.suffix == TRACE_SUFFIX else output.with_name(workload_name(output) + TRACE_SUFFIX)


def workload_name(output: Path) -> str:
    """The name of the workload in this file: the file's name without .toml; other dots are part of the name."""
    return output.stem if output.suffix == WORKLOAD_SUFFIX else output.name


def checked_mode(context: click.Context) -> str:
    """The mode that the options select.

    Raises:
        InvalidInput: an option is given that the mode does not use, or a file that cannot be written.
    """
    choices = context.params
    mode = next((each for each in ("summary", "merge", "recorded") if choices[each]), "run")
    _require_used(context, mode)
    if "output" in USED[mode]:
        require(choices["output"] is not None, "name the workload's file: gpushare record -o FILE -- PROGRAM")
        _require_places(choices["output"], choices["device_file"], runs_program=mode == "run")
        _require_names_workload(choices["output"])
    return mode


def time_span(between: str | None) -> tuple[float, float] | None:
    """Begin and end of --between in nanoseconds.

    >>> time_span("100:250"), time_span("0.5:")
    ((100000000.0, 250000000.0), (500000.0, inf))

    Raises:
        InvalidInput: it is not a span of time.
    """
    if between is None:
        return None
    begin, colon, end = between.partition(":")
    try:
        begin_ms, end_ms = float(begin or 0), float(end or "inf")
    except ValueError:
        colon = ""
    require(bool(colon), f"--between: write BEGIN:END in milliseconds, such as 100:250, got {between!r}")
    require(0 <= begin_ms < end_ms, f"--between: expected 0 <= BEGIN < END, got {between!r}")
    return begin_ms * 1e6, end_ms * 1e6


def _require_used(context: click.Context, mode: str) -> None:
    names = {each.name: max(each.opts, key=len) for each in context.command.params}
    for name, option in names.items():
        if name == mode or name in USED[mode] or not _is_given(context, name):
            continue
        if name == "command":
            raise InvalidInput(f"{names[mode]} runs no program: leave the program out")
        raise InvalidInput(f"{names[mode]} does not use {option}: leave it out")


def _is_given(context: click.Context, name: str) -> bool:
    if name == "command":
        return bool(context.params[name])
    return context.get_parameter_source(name) is not ParameterSource.DEFAULT


def _require_names_workload(output: Path) -> None:
    try:
        require_name("a workload's name", workload_name(output))
    except InvalidInput as error:
        raise InvalidInput(
            f"{str(output)!r}: the workload gets the file's name, and {error}: choose another file name"
        ) from None


def _require_places(output: Path, device_file: Path | None, *, runs_program: bool) -> None:
    files = [output] if device_file is None else [output, device_file]
    for file in files:
        require_writable(file)
        if runs_program:
            require(
                file.resolve() != trace_folder(output).resolve(),
                f"{file}: the recording has this name: choose another file name, such as {output.stem}.toml",
            )
    require(
        len({file.resolve() for file in files}) == len(files),
        f"{output}: the workload and the device have the same file: choose another one",
    )
