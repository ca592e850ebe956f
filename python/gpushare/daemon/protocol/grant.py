# SPDX-License-Identifier: Apache-2.0
"""The supervisor's message to a worker about a new client."""

from __future__ import annotations

from pydantic import Field

from gpushare.files.schema import Schema


class Grant(Schema):
    """A client's identity and permissions.

    Attributes:
        hello: id of the client's first message, which the worker answers.
        name: the name that the client gives.
        program_environment: environment variables for its programs.
        devices: all devices of the server.
        watches: it runs nothing, and is no load of the device.
        gpu: number of the device among those of a program.
        gpus: how many GPUs it is on.
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
    devices: list[str] = Field(default_factory=list)
    watches: bool = False
    gpu: int = 0
    gpus: int = 1


class LoadReport(Schema):
    """The worker's message to the supervisor about what it has.

    Attributes:
        taken: grants that it has seen so far, without those of clients that only watch.
        clients: connected ones, without those that only watch.
        total_bytes: device memory for clients.
        used_bytes: the part of it that they hold.
    """

    taken: int
    clients: int
    total_bytes: int
    used_bytes: int
