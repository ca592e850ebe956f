# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare reproduce``: recomputes a paper's figures beside the printed ones."""

from __future__ import annotations

from pathlib import Path

import click

from gpushare import reproduce as papers
from gpushare.cli.arguments import json_option
from gpushare.cli.completion import names
from gpushare.cli.exit_codes import leave_for_failed
from gpushare.cli.files import Wanted, require_distinct, require_tables, write_files, written_file
from gpushare.cli.output import print_document, print_json, remark
from gpushare.files.atomic_write import write_atomically


@click.command()
@click.argument("paper", shell_complete=names.paper)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    help="Seeds to average over; on a GPU repeats. Default: as in the documentation.",
)
@click.option("--device", help="Device to use instead of the paper's, where possible.", shell_complete=names.device)
@click.option("--quick", is_flag=True, help="One seed by default, and no sensitivity analysis.")
@written_file("--html", "Write the tables as a page.")
@written_file("--markdown", "Write the tables as a page in Markdown.")
@json_option()
def reproduce(
    paper: str,
    seeds: int | None,
    device: str | None,
    quick: bool,
    html: Path | None,
    markdown: Path | None,
    as_json: bool,
) -> None:
    """Recompute a paper's figures and set them beside the printed ones.

    PAPER: srtf, slate, cd-search, effisha or cumas.

    \b
    Examples:
      gpushare reproduce srtf --quick
      gpushare reproduce srtf --html srtf.html
      gpushare reproduce srtf --markdown srtf.md
      gpushare reproduce srtf --json > srtf.json
      gpushare reproduce effisha --device cuda:0
      gpushare reproduce cd-search --device cuda:0 --quick
    """
    require_tables()
    require_distinct(html=html, markdown=markdown)
    found = papers.reproduce(paper, seeds=seeds, quick=quick, device=device)
    if as_json:
        print_json(found.to_dict())
    else:
        print_document(found.text())
    wanted: Wanted = {
        "html": (html, lambda path: write_atomically(path, _page(found.paper, found._repr_html_()))),
        "markdown": (markdown, lambda path: write_atomically(path, found.to_markdown())),
    }
    files = write_files(wanted)
    for what, path in files.paths.items():
        remark(f"{what}: {path}")
    leave_for_failed({}, files.failures)


def _page(title: str, body: str) -> str:
    from html import escape

    style = "body{font-family:sans-serif;margin:2em} table{border-collapse:collapse} td,th{padding:.2em .6em}"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{style}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'
