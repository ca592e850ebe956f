# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare workloads``: lists the bundled workloads."""

from __future__ import annotations

from typing import Any

import click

import gpushare
from gpushare.cli.arguments import json_option
from gpushare.cli.output import print_json, print_table
from gpushare.model.workload import WORKLOADS_FOLDER, bundled_workload, workload_names


@click.command()
@json_option()
def workloads(as_json: bool) -> None:
    """List the bundled workloads; each is also an example of the file format.

    \b
    Examples:
      gpushare workloads
      gpushare workloads --json | jq -r '.workloads[0].file'
    """
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "device": (workload := bundled_workload(name)).device,
            "applications": [application.name for application in workload.applications],
            "file": WORKLOADS_FOLDER / f"{name}.toml",
        }
        for name in workload_names()
    ]
    if as_json:
        print_json({"gpushare": gpushare.__version__, "workloads": rows})
        return
    cells = [[row["name"], row["device"] or "any", ", ".join(row["applications"]), str(row["file"])] for row in rows]
    print_table("bundled workloads", ["name", "written for", "applications", "file"], cells, texts=4)
