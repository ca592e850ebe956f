# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare devices``: lists GPUs and simulated devices, or shows one in full."""

from __future__ import annotations

from typing import Any

import click

import gpushare
from gpushare._core import CudaError, cuda_device_count
from gpushare.cli.arguments import json_option
from gpushare.cli.completion import names
from gpushare.cli.output import print_json, print_table
from gpushare.model.device_file import device_to_dict

COLUMNS = ["name", "SMs", "clock", "threads per SM", "registers per SM", "shared memory per SM", "DRAM"]
GPU_COLUMNS = ["device", "name", *COLUMNS[1:-1]]


@click.command()
@click.argument("name", required=False, shell_complete=names.device)
@json_option()
def devices(name: str | None, as_json: bool) -> None:
    """List GPUs and simulated devices, or show all values of the device NAME (or of a TOML file).

    \b
    Examples:
      gpushare devices
      gpushare devices cuda:0
      gpushare devices sim:h100
      gpushare devices my-gpu.toml --json
    """
    if name is not None:
        one = device_to_dict(gpushare.device(name))
        print_json({"gpushare": gpushare.__version__, "device": one}) if as_json else _print_one(one)
        return
    gpus = _gpus()
    simulated = [device_to_dict(gpushare.device(each)) for each in gpushare.device_names()]
    if as_json:
        print_json({"gpushare": gpushare.__version__, "gpus": gpus, "devices": simulated})
        return
    if gpus:
        print_table("GPUs", GPU_COLUMNS, [_gpu_row(each) for each in gpus], texts=2)
    print_table("simulated devices", COLUMNS, [_row(each) for each in simulated])


def _gpus() -> list[dict[str, Any]]:
    """Those that the driver knows; one that cannot be used says why."""
    found: list[dict[str, Any]] = []
    for ordinal in range(cuda_device_count()):
        name = f"cuda:{ordinal}"
        try:
            found.append({"device": name, **device_to_dict(gpushare.device(name))})
        except CudaError as error:
            found.append({"device": name, "error": str(error)})
    return found


def _gpu_row(gpu: dict[str, Any]) -> list[str]:
    if "error" in gpu:
        return [gpu["device"], f"cannot be used: {gpu['error']}", *[""] * (len(GPU_COLUMNS) - 2)]
    return [gpu["device"], gpu["name"], *_row(gpu)[1:-1]]


def _row(device: dict[str, Any]) -> list[str]:
    dram = device["off_sm"]["dram_gb_per_s"]
    return [
        f"sim:{device['name']}",
        f"{device['sms']}",
        f"{device['clock_mhz']:.0f} MHz",
        f"{device['per_sm']['threads']}",
        f"{device['per_sm']['registers']}",
        f"{device['per_sm']['shared_memory_bytes'] / 1024:.0f} KiB",
        f"{dram:.0f} GB/s" if dram else "not modelled",
    ]


def _print_one(device: dict[str, Any]) -> None:
    rows = []
    for key, value in device.items():
        table = value if isinstance(value, dict) else {"": value}
        rows += [
            [f"{key}.{name}".rstrip("."), _figure(figure) if name else f"{figure}"] for name, figure in table.items()
        ]
    print_table(str(device["name"]), ["key", "value"], rows)


def _figure(figure: str | float | list[int]) -> str:
    if isinstance(figure, str):
        return figure
    return " ".join(f"{each:.10g}" for each in (figure if isinstance(figure, list) else [figure]))
