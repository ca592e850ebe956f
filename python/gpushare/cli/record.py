# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare record``: records an unmodified CUDA program's use of the GPU as a workload."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import gpushare
from gpushare._core import InvalidInput
from gpushare.checks import require
from gpushare.cli.arguments import json_option
from gpushare.cli.completion import names
from gpushare.cli.exit_codes import BAD_INPUT, leave
from gpushare.cli.files import ON_STDOUT, write_file, written_file
from gpushare.cli.output import print_json, remark
from gpushare.cli.record_choices import checked_mode, time_span, trace_folder, workload_name
from gpushare.cli.tables.recordings import merged_document, print_converted, print_summary, summary_document
from gpushare.files.atomic_write import write_atomically
from gpushare.model.device_text import device_text
from gpushare.model.load import load
from gpushare.model.merged_workloads import together
from gpushare.model.workload_text import workload_text
from gpushare.recorded.capture import capture, how_it_ended
from gpushare.recorded.conversion import converted
from gpushare.recorded.recorded_device import recorded_device
from gpushare.recorded.recording import read_recording
from gpushare.recorded.replay import replayed_alone
from gpushare.recorded.summary import summary_of

if TYPE_CHECKING:
    from gpushare.recorded.trace_format import DeviceRecord

STDERR = 2
Span = tuple[float, float] | None


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="The workload. The recording is stored beside it, in FILE.trace (x.trace for x.toml).")  # fmt: skip
@click.option("--by", type=click.Choice(("process", "stream")), default="process", show_default=True,
              help="Unit that becomes an application of the workload.")  # fmt: skip
@click.option("--between", metavar="BEGIN:END", help="Only operations that began in this span, in ms from the first.")
@click.option("--from", "recorded", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Make the workload from this recording, without running a program.")  # fmt: skip
@click.option("--merge", is_flag=True, help="Merge the given workloads into one, without running a program.")
@click.option("--summary", type=click.Path(path_type=Path), metavar="FILE",
              help="Print kernels, copies and idle times of a recording (its workload file or folder).")  # fmt: skip
@written_file("--device-file", "Also write the recorded GPU as a device file, with its launch costs.")
@click.option("--replay", is_flag=True, help="Also simulate every application alone, and compare the times.")
@json_option()
@click.argument(
    "command", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGUMENTS]...", shell_complete=names.program
)
@click.pass_context
def record(context: click.Context, /, **choices: Any) -> None:
    """Run an unmodified CUDA program, record its use of the GPU, and make a workload of it.

    Every process of the program that uses CUDA becomes an application: copies, kernels with their grids and
    times, and what its host does between them. gpushare compare replays it under every policy: what would sharing
    gain? What a replay keeps and what it cannot know: docs/guide/record.md.

    \b
    Examples:
      gpushare record -o train.toml -- python train.py --epochs 1
      gpushare record --summary train.toml
      gpushare compare train.toml infer.toml --together --device sim:h100 --policies fifo,srtf,mix
      gpushare record --from train.trace -o streams.toml --by stream --replay
      gpushare record --merge -o both.toml train.toml infer.toml
    """
    mode, span = checked_mode(context), time_span(choices["between"])
    if mode == "summary":
        _summarise(choices["summary"], as_json=choices["as_json"])
    elif mode == "merge":
        _merge(choices["command"], choices["output"], as_json=choices["as_json"])
    elif mode == "recorded":
        _convert(choices["recorded"], span, choices, command="")
    else:
        _record(span, choices)


def _record(span: Span, choices: dict[str, Any]) -> None:
    command, folder = choices["command"], trace_folder(choices["output"])
    # A document on stdout must be the only output there.
    has_document = choices["as_json"] or choices["device_file"] == ON_STDOUT
    code = capture(command, folder, STDERR if has_document else None)
    said = how_it_ended(command, code)
    try:
        _convert(folder, span, choices, command=shlex.join(command))
    except InvalidInput as error:
        raise InvalidInput(f"{error}\ngpushare: {said}" if code else str(error)) from None
    if code:
        leave(f"{said}; what it did before that is recorded", BAD_INPUT)


def _convert(folder: Path, span: Span, choices: dict[str, Any], *, command: str) -> None:
    output = choices["output"]
    recording = read_recording(folder)
    if span is not None:
        recording = recording.between(*span)
    made = converted(recording, workload_name(output), by_stream=choices["by"] == "stream")
    device = recording.device_record()
    by = f"Recorded by gpushare record {gpushare.__version__} on {device.name}"
    comments = [f"{by}: {command}" if command else by]
    write_atomically(output, workload_text(made.workload, comments, made.full_names))
    for each in made.remarks:
        remark(each)
    if choices["device_file"] is not None:
        _write_device(choices["device_file"], device)
    replayed = replayed_alone(made.workload, recorded_device(device)) if choices["replay"] else None
    print_converted(made, output, folder, replayed, as_json=choices["as_json"])


def _write_device(path: Path, record: DeviceRecord) -> None:
    comments = [
        "By gpushare record, from the driver's data. No delays: recordings contain the launch costs.",
        "The bandwidth of copies is a placeholder: recorded copies have their durations.",
    ]
    write_file(path, lambda to: write_atomically(to, device_text(recorded_device(record), comments)))


def _merge(files: tuple[str, ...], output: Path, *, as_json: bool) -> None:
    require(len(files) > 0, "--merge: name the workloads")
    workload = together([load(file) for file in files], workload_name(output))
    write_atomically(output, workload_text(workload, [f"Merged from {', '.join(files)}"]))
    if as_json:
        print_json(merged_document(workload, output, files))
        return
    remark(f"{output}: {', '.join(application.name for application in workload.applications)}")


def _summarise(path: Path, *, as_json: bool) -> None:
    recording = read_recording(path if path.is_dir() else trace_folder(path))
    for each in recording.remarks():
        remark(each)
    summary = summary_of(recording)
    if as_json:
        print_json(summary_document(summary))
        return
    print_summary(summary, f"{path} on {recording.device_record().name}")
