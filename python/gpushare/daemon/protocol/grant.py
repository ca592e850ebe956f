# SPDX-License-Identifier: Apache-2.0
"""The supervisor's message to a worker about a new client."""

from __future__ import annotations

from pydantic import Field

from gpushare.files.toml_file import Schema


class Grant(Schema):
    """A client's identity and permissions.

    Attributes:
        hello: id of the client's first message, which the worker answers.
        name: the name that the client gives.
        program_environment: environment variables for its programs.
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
    program_environment: dict[str, str] = Field(default_factory=dict)
