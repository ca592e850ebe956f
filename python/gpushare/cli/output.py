# SPDX-License-Identifier: Apache-2.0
"""Output of the commands: tables or one JSON document on stdout, remarks on stderr."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpushare.checks import require
from gpushare.printable import printable
from gpushare.version import __version__

if TYPE_CHECKING:
    from rich.text import Text

LEAST_WIDTH_OF_A_FILE = 160
STDOUT = f"{__name__}.stdout"
"""Key of click's metadata for the standard output of a command that writes one document: all else goes to stderr."""
AS_JSON = f"{__name__}.as_json"
"""Key of click's metadata for the option --json."""
ARGUMENTS = f"{__name__}.arguments"
"""Key of click's metadata for all arguments behind ``gpushare``, as they were given."""
PRINTED = f"{__name__}.printed"
"""Key of click's metadata: the document has been written, so that an error adds no second one."""


def keep_stdout(context: click.Context, option: str) -> None:
    """Reserves stdout for this option's output: prints of the command, or of a user's policy, go to stderr."""
    require(STDOUT not in context.meta, f"{option}: the standard output takes one document: name a file for the others")
    context.meta[STDOUT] = sys.stdout
    context.with_resource(contextlib.redirect_stdout(sys.stderr))


def print_json(document: dict[str, Any]) -> None:
    """Writes the document to stdout, with keys in their order.

    NumPy's numbers become Python's; floats that are not finite become null.
    """
    text = json.dumps(_finite(document), indent=2, default=_plain, allow_nan=False)
    meta = _meta()
    meta[PRINTED] = True
    click.echo(text, file=meta.get(STDOUT))


def print_error_as_json(kind: str, message: str, code: int) -> None:
    """With --json the document of a command that ends with an error, unless it has written its document."""
    if _meta().get(AS_JSON) and not _meta().get(PRINTED):
        error = {"kind": kind, "message": message, "exit_code": code}
        print_json({"gpushare": __version__, "error": error})


def _meta() -> dict[str, Any]:
    context = click.get_current_context(silent=True)
    return {} if context is None else context.meta


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return value.tolist()


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> None:
    """A table on stdout; its first ``texts`` columns are texts, the others numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console = Console(file=sys.stdout, highlight=False, width=max(console.width, LEAST_WIDTH_OF_A_FILE))
    table = Table(title=cell(title), title_justify="left", box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(cell(column), justify="left" if number < texts else "right", overflow="fold")
    for row in rows:
        table.add_row(*(cell(each, "bold" if each.endswith(BEST_MARK) else "") for each in row))
    console.print(table)


def cell(words: str, style: str = "") -> Text:
    """An untrusted name or a number in a table, without markup."""
    from rich.text import Text

    return Text(printable(words), style=style)


BEST_MARK = " *"


def marked(cell: str, *, best: bool) -> str:
    """The cell, marked if it is the best of its column; other cells get the same width."""
    return cell + (BEST_MARK if best else " " * len(BEST_MARK))


def duration(nanoseconds: float) -> str:
    """A duration with a suitable unit.

    >>> duration(1_234_567)
    '1.235 ms'
    """
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3f} {unit}"
    return f"{nanoseconds:.0f} ns"


def share(ratio: float) -> str:
    """A ratio in percent; a dash where it is unknown.

    >>> share(0.849), share(math.nan)
    ('84.9%', '-')
    """
    return "-" if math.isnan(ratio) else f"{ratio:.1%}"


def remark(message: str) -> None:
    """A line on stderr."""
    click.echo(printable(message, lines=True), err=True)


def say(message: str) -> None:
    """A line on stdout."""
    click.echo(printable(message, lines=True))


def print_document(text: str) -> None:
    """Text that is the command's result: unchanged, but on a terminal with control characters escaped."""
    click.echo(printable(text, lines=True) if sys.stdout.isatty() else text, nl=False)
