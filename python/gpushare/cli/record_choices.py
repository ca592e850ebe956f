# SPDX-License-Identifier: Apache-2.0
"""What the options of ``gpushare record`` say. All of them are checked before a program runs, which may take hours."""

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
"""By mode, the options that it uses. But for running a program, a mode has the name of the option that asks for it."""


def trace_folder(output: Path) -> Path:
    """Where the recording of this workload lies.

    >>> str(trace_folder(Path("runs/train.toml"))), str(trace_folder(Path("lr0.1"))), str(trace_folder(Path("x.trace")))
    ('runs/train.trace', 'lr0.1.trace', 'x.trace')
    """
    return output if output.suffix == TRACE_SUFFIX else output.with_name(workload_name(output) + TRACE_SUFFIX)


def workload_name(output: Path) -> str:
    """What the workload in this file is called: as the file, whose dots are its own but for the last one in .toml."""
    return output.stem if output.suffix == WORKLOAD_SUFFIX else output.name


def checked_mode(context: click.Context) -> str:
    """Which of the modes the options ask for.

    Raises:
        InvalidInput: an option is given that it does not use, or a file that cannot be written.
    """
    choices = context.params
    mode = next((each for each in ("summary", "merge", "recorded") if choices[each]), "run")
    _require_used(context, mode)
    if "output" in USED[mode]:
        require(choices["output"] is not None, "say where the workload goes: gpushare record -o FILE -- PROGRAM")
        _require_places(choices["output"], choices["device_file"], runs_program=mode == "run")
        _require_names_workload(choices["output"])
    return mode


def time_span(between: str | None) -> tuple[float, float] | None:
    """Begin and end in nanoseconds of what --between says.

    >>> time_span("100:250"), time_span("0.5:")
    ((100000000.0, 250000000.0), (500000.0, inf))

    Raises:
        InvalidInput: it is no span of time.
    """
    if between is None:
        return None
    begin, colon, end = between.partition(":")
    try:
        begin_ms, end_ms = float(begin or 0), float(end or "inf")
    except ValueError:
        colon = ""
    require(bool(colon), f"--between: write BEGIN:END in milliseconds, such as 100:250, got {between!r}")
    require(0 <= begin_ms < end_ms, f"--between: 0 <= BEGIN < END has to hold, got {between!r}")
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
            f"{str(output)!r}: the workload is called like its file, and {error}: name it otherwise"
        ) from None


def _require_places(output: Path, device_file: Path | None, *, runs_program: bool) -> None:
    files = [output] if device_file is None else [output, device_file]
    for file in files:
        require_writable(file)
        if runs_program:
            require(
                file.resolve() != trace_folder(output).resolve(),
                f"{file}: the recording itself takes this name: name the file otherwise, such as {output.stem}.toml",
            )
    require(len({file.resolve() for file in files}) == len(files), f"{output}: is the workload and the device at once")
