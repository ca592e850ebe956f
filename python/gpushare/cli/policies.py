# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare policies``: lists built-in policies, orderings, and baselines of a GPU."""

from __future__ import annotations

from typing import Any

import click

import gpushare
from gpushare import _core
from gpushare.backends.baselines import BASELINES
from gpushare.cli.arguments import json_option
from gpushare.cli.output import print_json, print_table
from gpushare.policy import oracles


@click.command()
@json_option()
def policies(as_json: bool) -> None:
    """List the built-in policies with their sources, the orderings, and the scheduling of a GPU alone.

    \b
    Examples:
      gpushare policies
      gpushare policies --json | jq -r '.policies[].name'
    """
    rows: list[dict[str, Any]] = [
        {"name": each.name, "summary": each.summary, "source": each.source, "oracle": each.name in oracles()}
        for each in gpushare.policies()
    ]
    orderings = [{"name": each.name, "summary": each.summary, "source": each.source} for each in _core.orderings()]
    placements = [{"name": each.name, "summary": each.summary} for each in gpushare.placements()]
    if as_json:
        hardware = [{"name": name, "summary": words} for name, words in BASELINES.items()]
        print_json(
            {
                "gpushare": gpushare.__version__,
                "policies": rows,
                "orderings": orderings,
                "placements": placements,
                "hardware": hardware,
            }
        )
        return
    cells = [[row["name"], row["summary"], row["source"]] for row in rows]
    print_table("built-in policies", ["name", "what it does", "from"], cells, texts=3)
    print_table(
        "before a policy's name and a +, or as serve --ordering: selects operations",
        ["name", "what it does", "from"],
        [list(each.values()) for each in orderings],
        texts=3,
    )
    print_table(
        "--place: on which of several devices applications run",
        ["name", "what it does"],
        [list(each.values()) for each in placements],
        texts=2,
    )
    by_hardware = [list(each) for each in BASELINES.items()]
    print_table("on a GPU also, without gpushare", ["name", "what it does"], by_hardware, texts=2)
