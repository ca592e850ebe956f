# SPDX-License-Identifier: Apache-2.0
"""Progress bars on stderr: only on a terminal, and only for operations that take longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")


def tracked(items: Iterable[Item], total: int, what: str, show: bool | None = None) -> Iterator[Item]:
    """Yields the items and shows how many of ``total`` have been yielded.

    Args:
        items: the items to yield.
        total: their number.
        what: the label before the bar.
        show: True or False forces the bar or suppresses it; None shows it on a terminal once a second has passed.

    >>> list(tracked([1, 2], total=2, what="doubling", show=False))
    [1, 2]
    """
    if show is False or (show is None and not sys.stderr.isatty()):
        yield from items
        return
    start = time.monotonic()
    bar = None
    try:
        for number, item in enumerate(items, 1):
            yield item
            if bar is None and (show or time.monotonic() - start > 1):
                bar = _started_bar(what, total)
            if bar is not None:
                bar.update(bar.task_ids[0], completed=number)
    finally:
        if bar is not None:
            bar.stop()


def _started_bar(what: str, total: int) -> Progress:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    bar = Progress(console=console, transient=console.is_terminal)
    bar.add_task(what, total=total)
    bar.start()
    return bar
