# SPDX-License-Identifier: Apache-2.0
"""A client's part of a session's history, as the server sends it."""

from __future__ import annotations

from typing import Any

import msgpack

Columns = dict[str, list[Any]]


class ClientHistory:
    """What the applications of a client did in the last while, as :meth:`gpushare.Session.history` has it.

    Attributes:
        now_ns: time of the request. All times are nanoseconds since the start of the server's session.
    """

    def __init__(self, packed: bytes) -> None:
        self._tables: dict[str, Any] = msgpack.unpackb(packed)
        self.now_ns: int = self._tables["now_ns"]

    def operations(self) -> Columns:
        """Launches by columns: operation, times, and whether it has ended."""
        return self._tables["operations"]

    def quotas(self) -> Columns:
        """Quotas from plans, in blocks per SM and in total."""
        return self._tables["quotas"]

    def holds(self) -> Columns:
        """Numbers of SMs with blocks of an application, each with its start time."""
        return self._tables["holds"]


def packed_history(past: Any, suffix: str) -> bytes:
    """Of the applications whose names end so, which they lose on the way."""
    tables = {name: _own(getattr(past, name)(), suffix) for name in ("operations", "quotas", "holds")}
    return msgpack.packb({"now_ns": past.now_ns} | tables)


def _own(columns: Columns, suffix: str) -> Columns:
    """The rows of applications with this suffix.

    >>> _own({"application": ["a@1", "a@2"], "sms": [3, 4]}, "@2")
    {'application': ['a'], 'sms': [4]}
    """
    kept = [row for row, name in enumerate(columns["application"]) if name.endswith(suffix)]
    own = {name: [values[row] for row in kept] for name, values in columns.items()}
    return own | {"application": [each.removesuffix(suffix) for each in own["application"]]}
