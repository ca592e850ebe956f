# SPDX-License-Identifier: Apache-2.0
"""The server's status as a client receives it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class DaemonStatus(dict[str, Any]):
    """The status that ``gpushare status --json`` prints, with the attributes of :class:`gpushare.SessionStatus`.

    >>> alice = {"name": "alice@1", "client": 1, "state": "running", "blocks": 7}
    >>> status = DaemonStatus(now_ns=5, applications=[alice, {"name": "idle@2", "client": 2}])
    >>> [(each.name, each.blocks) for each in status.applications], len(status["applications"])
    ([('alice@1', 7)], 2)
    """

    @property
    def now_ns(self) -> int:
        """Time since the worker's session began, in nanoseconds."""
        return self["now_ns"]

    @property
    def applications(self) -> list[SimpleNamespace]:
        """Programs, and the applications that have submitted a launch; ``name`` ends with the client's number."""
        return [SimpleNamespace(**each, device=0) for each in self["applications"] if "state" in each]
