# SPDX-License-Identifier: Apache-2.0
"""Progress bars on stderr: only on a terminal or in a notebook, and only for what takes longer than a second."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def tracked(items: Iterable[Item], total: int, what: str, show: bool | None = None) -> Iterator[Item]:
    """Yields the items and shows how many of ``total`` have been yielded.

    Args:
        items: the items to yield.
        total: their number.
        what: the label before the bar.
        show: True or False forces the bar or suppresses it; None shows it on a terminal or in a notebook, once a second
            has passed.

    >>> list(tracked([1, 2], total=2, what="doubling", show=False))
    [1, 2]
    """
    is_terminal = getattr(sys.stderr, "isatty", lambda: False)()  # stderr is None where it was closed
    is_seen = is_terminal or "ipykernel.zmqshell" in sys.modules  # a notebook's stderr is no terminal
    if not (is_seen if show is None else show):
        yield from items
        return
    with warnings.catch_warnings():  # without ipywidgets the bar in a notebook is text, which needs no warning
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm  # its import takes a tenth of a second, which most calls do not need

    yield from tqdm(items, what, total, leave=False, dynamic_ncols=True, delay=0 if show else 1)
