# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare validate``: runs the same workloads on a GPU and in its simulator, and reports the errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from gpushare._core import InvalidInput
from gpushare.backends.cuda.device import cuda_device
from gpushare.cli.arguments import json_option
from gpushare.cli.completion import names
from gpushare.cli.files import require_plots, require_tables, write_file, written_file
from gpushare.cli.output import remark
from gpushare.cli.tables.validation import POINTS, report
from gpushare.files.atomic_write import require_writable
from gpushare.validation.measure import Recorder
from gpushare.validation.recording import Recording
from gpushare.validation.selection import selected
from gpushare.validation.settings import KERNELS, POLICIES, SPLITS, Settings


@click.command()
@click.option(
    "--kernels",
    metavar="A,B,...",
    default=",".join(KERNELS),
    help="Kernels of the suite, run in all pairs.",
    shell_complete=names.suite_kernels,
)
@click.option(
    "--policies",
    metavar="A,B,...",
    default=",".join(POLICIES),
    show_default=True,
    help="Built-in policies.",
    shell_complete=names.policies,
)
@click.option(
    "--splits",
    metavar="N,M,...",
    default=",".join(map(str, SPLITS)),
    show_default=True,
    help="SMs of the first of a pair.",
)
@click.option(
    "--size", type=click.Choice(("small", "large")), default="large", show_default=True, help="Size of the data."
)
@click.option(
    "--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="Repeats on the GPU; medians count."
)
@click.option("--device", default="cuda:0", show_default=True, metavar="DEVICE", help="The GPU.")
@click.option("--from", "recorded", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Read the GPU's measurements, or the named part, from this file; needs no GPU.")  # fmt: skip
@written_file("--save", "Write the GPU's measurements to this file.")
@click.option("--record-only", is_flag=True, help="Only record on the GPU; needs --save.")
@click.option(
    "--simulator", default="sim:h100", show_default=True, metavar="DEVICE", help="Simulated device to validate."
)
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
              help="Folder for plots and a table of all points.")  # fmt: skip
@json_option()
def validate(**choices: Any) -> None:
    """Run the same workloads on a GPU and in its simulator, and report the simulator's errors.

    Every kernel runs alone in parts of the GPU, then all pairs run under every policy and in every split. Kernels are
    modelled from their profiles (gpushare profile), never from pairs.
    What is compared, and how: docs/results/simulator-accuracy.md.

    \b
    Examples:
      gpushare validate --output validation          # some minutes on the GPU
      gpushare validate --kernels triad,nbody --policies fifo,srtf --splits 66
      gpushare validate --save h100.json --record-only
      gpushare validate --from h100.json             # needs no GPU
      gpushare validate --from h100.json.xz --kernels triad,nbody --policies fifo --splits ""
    """
    if not choices["record_only"]:
        require_tables()
    if choices["output"] is not None:
        require_plots()
        _make_folder(choices["output"])
    recording = _recording(choices)
    if not choices["record_only"]:
        report(recording, choices["simulator"], choices["output"], as_json=choices["as_json"])


def _make_folder(output: Path) -> None:
    """Before minutes of work: it may not be one to write into."""
    output.mkdir(parents=True, exist_ok=True)
    require_writable(output / POINTS)


def _recording(choices: dict[str, Any]) -> Recording:
    recorded, save = choices["recorded"], choices["save"]
    if recorded is not None:
        if save is not None or choices["record_only"]:
            raise InvalidInput("--from reads a recording: leave out --save and --record-only")
        if told := [f"--{name}" for name in ("size", "repeats", "device") if _is_told(name)]:
            raise InvalidInput(f"--from has fixed values for these: leave out {' and '.join(told)}")
        return selected(Recording.load(recorded), **_named(choices))
    if choices["record_only"] and save is None:
        raise InvalidInput("--record-only needs --save FILE, to store the measurements")
    return _record(choices["device"], _settings(choices), save)


def _named(choices: dict[str, Any]) -> dict[str, Any]:
    """Filters a recording by the options that the command line names."""
    return {
        name: parsed(choices[name])
        for name, parsed in (("kernels", _listed), ("policies", _listed), ("splits", _numbers))
        if _is_told(name)
    }


def _is_told(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def _settings(choices: dict[str, Any]) -> Settings:
    return Settings(
        kernels=tuple(_listed(choices["kernels"])),
        policies=tuple(_listed(choices["policies"])),
        splits=tuple(_numbers(choices["splits"])),
        size=choices["size"],
        repeats=choices["repeats"],
    )


def _record(name: str, settings: Settings, save: Path | None) -> Recording:
    """What has been measured before a failure is not lost."""
    recorder = Recorder(cuda_device(name), settings)
    try:
        recording = recorder.record()
    finally:
        if save is not None:
            write_file(save, recorder.recording.save)
            remark(f"save: {save}")
    for failure in recording.failures:
        remark(failure)
    return recording


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _numbers(text: str) -> list[int]:
    try:
        return [int(each) for each in _listed(text)]
    except ValueError as error:
        raise InvalidInput(f"--splits must be whole numbers such as 44,66, got {text!r}") from error
