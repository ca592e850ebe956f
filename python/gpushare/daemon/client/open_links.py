# SPDX-License-Identifier: Apache-2.0
"""The links of this process: what becomes of them when it forks, and when the interpreter ends."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import TYPE_CHECKING

from gpushare.daemon.client.awaited_threads import await_threads

if TYPE_CHECKING:
    from gpushare.daemon.client.link import Link

_open: weakref.WeakSet[Link] = weakref.WeakSet()


def keep(link: Link) -> None:
    """From now on; it is not kept alive."""
    _open.add(link)


def _forget_all_after_fork() -> None:
    for link in list(_open):
        link.forget_after_fork()


def _close_all() -> None:
    links = list(_open)
    for link in links:
        link.close()
    await_threads(lambda: not any(link.is_awaited for link in links))


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all_after_fork)
