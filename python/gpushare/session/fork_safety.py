# SPDX-License-Identifier: Apache-2.0
"""How sessions end that nobody closes, and what a forked process has of them: a copy without a thread."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, NoReturn

from gpushare._core import InvalidInput

if TYPE_CHECKING:
    from gpushare.session.session import Session

_ends: weakref.WeakKeyDictionary[Session, weakref.finalize] = weakref.WeakKeyDictionary()


class CoreOfParent:
    """Stands for a session's core in a forked process: to wait for its thread would take for ever."""

    def close(self) -> None:
        """The session goes on where it was opened."""

    def __getattr__(self, name: str) -> NoReturn:
        raise InvalidInput(
            "this session belongs to the process that this one was forked from: open another one here, "
            "or have both share the GPU through gpushare.connect()"
        )


def ends_here(session: Session) -> None:
    """It is closed when nobody has it any more, or with this process, and by no other process."""
    _ends[session] = weakref.finalize(session, session._core.close)


def _leave_to_parent() -> None:
    for session, end in list(_ends.items()):
        end.detach()
        session._core = CoreOfParent()
    _ends.clear()


os.register_at_fork(after_in_child=_leave_to_parent)
