# SPDX-License-Identifier: Apache-2.0
"""What the supervisor tells a worker of a client that it hands over."""

from __future__ import annotations

from gpushare.files.toml_file import Schema


class Grant(Schema):
    """Who it is and what it may do.

    Attributes:
        hello: the id of the client's first message, which the worker answers.
        name: as the client calls itself.
    """

    hello: int
    name: str
    pid: int
    user: str
    highest_priority: int
    highest_min_speed: float
    weight: float
    memory_bytes: int | None
    is_operator: bool
    may_compile: bool
