# SPDX-License-Identifier: Apache-2.0
"""Ends sessions that are not closed, and disables the copies that a forked process inherits: they have no thread."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any, NoReturn, cast

from gpushare._core import InvalidInput

if TYPE_CHECKING:
    from gpushare._core import CoreSession
    from gpushare.session.job_watcher import JobWatcher
    from gpushare.session.session import Session

_ends: weakref.WeakKeyDictionary[Session, weakref.finalize[..., Any]] = weakref.WeakKeyDictionary()


class CoreOfParent:
    """Replaces a session's core in a forked process, where waiting for the core's thread would never end."""

    def close(self) -> None:
        """Does nothing: the session goes on in the process that opened it."""

    def __getattr__(self, name: str) -> NoReturn:
        raise InvalidInput(
            "this session belongs to the process that this one was forked from: open another one here, "
            "or have both share the GPU through gpushare.connect()"
        )


def ends_here(session: Session) -> None:
    """Closes the session when it is no longer referenced or this process ends; a forked process does not close it."""
    _ends[session] = weakref.finalize(session, _end, session._devices.ends())


def _end(of_each_device: list[tuple[CoreSession, JobWatcher]]) -> None:
    for core, watcher in of_each_device:
        core.close()
        watcher.join()


def _leave_to_parent() -> None:
    for session, end in list(_ends.items()):
        end.detach()
        for part in session._devices.parts:
            part.core = cast("CoreSession", CoreOfParent())  # stands in for it
    _ends.clear()


os.register_at_fork(after_in_child=_leave_to_parent)
