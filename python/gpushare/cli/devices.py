# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare devices``: the simulated devices, all in short or one in full."""

from __future__ import annotations

from typing import Any

import click

import gpushare
from gpushare.cli.arguments import json_option
from gpushare.cli.output import print_json, print_table

COLUMNS = ["name", "SMs", "clock", "threads per SM", "registers per SM", "shared memory per SM", "DRAM"]


@click.command()
@click.argument("name", required=False)
@json_option()
def devices(name: str | None, as_json: bool) -> None:
    """List the simulated devices, or show all figures of the device NAME (or of a TOML file).

    \b
    Examples:
      gpushare devices
      gpushare devices sim:h100
      gpushare devices my-gpu.toml --json
    """
    from gpushare.device_file import device_to_dict

    if name is not None:
        one = device_to_dict(gpushare.device(name))
        print_json({"gpushare": gpushare.__version__, "device": one}) if as_json else _print_one(one)
        return
    all_of_them = [device_to_dict(gpushare.device(each)) for each in gpushare.device_names()]
    if as_json:
        print_json({"gpushare": gpushare.__version__, "devices": all_of_them})
    else:
        print_table("simulated devices", COLUMNS, [_row(each) for each in all_of_them])


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
            [f"{key}.{name}".rstrip("."), f"{figure:.10g}" if name else f"{figure}"] for name, figure in table.items()
        ]
    print_table(str(device["name"]), ["key", "value"], rows)
