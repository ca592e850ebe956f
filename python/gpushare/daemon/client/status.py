# SPDX-License-Identifier: Apache-2.0
"""What a client is told of the server."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class DaemonStatus(dict[str, Any]):
    """What ``gpushare status --json`` prints. Its attributes are those of a session's status in the process.

    >>> alice = {"name": "alice@1", "client": 1, "state": "running", "blocks": 7}
    >>> status = DaemonStatus(now_ns=5, applications=[alice, {"name": "idle@2", "client": 2}])
    >>> [(each.name, each.blocks) for each in status.applications], len(status["applications"])
    ([('alice@1', 7)], 2)
    """

    @property
    def now_ns(self) -> int:
        """Since the worker's session began."""
        return self["now_ns"]

    @property
    def applications(self) -> list[SimpleNamespace]:
        """Of all clients, those that have launched something; ``name`` says whose each is."""
        return [SimpleNamespace(**each) for each in self["applications"] if "state" in each]
