# SPDX-License-Identifier: Apache-2.0
"""Handlers of requests for the status and metrics, and of operators' requests, which concern all clients."""

from __future__ import annotations

import re
from typing import Any

from gpushare._core import InvalidInput
from gpushare.daemon.protocol.limits import MOST_MESSAGE_BYTES
from gpushare.daemon.protocol.messages import AskMetrics, AskStatus, SetPolicy, SetPriority
from gpushare.daemon.protocol.wire import LENGTH, packed
from gpushare.daemon.worker.metrics import metrics_of
from gpushare.daemon.worker.served_application import ServedApplication
from gpushare.daemon.worker.served_client import ServedClient
from gpushare.daemon.worker.status import status_of

IN_FULL = re.compile(r".+@[0-9]+", re.DOTALL)
"""A name with the client's number."""


def status(client: ServedClient, _request: AskStatus, number: int, _descriptors: list[int]) -> dict[str, Any] | None:
    """The status of the worker and all clients."""
    return _sent(client, status_of(client.worker), number)


def metrics(client: ServedClient, _request: AskMetrics, number: int, _descriptors: list[int]) -> dict[str, Any] | None:
    """Counters of the worker for Prometheus."""
    return _sent(client, metrics_of(client.worker), number)


def _sent(client: ServedClient, found: dict[str, Any], number: int) -> dict[str, Any] | None:
    """The answer; None if it is too large for a message and has gone in a shared file."""
    content = packed(found)[LENGTH.size :]
    if len(content) <= MOST_MESSAGE_BYTES // 2:
        return found
    client.reply_in_file(number, content)
    return None


def set_policy(client: ServedClient, request: SetPolicy, _number: int, _descriptors: list[int]) -> bool:
    """Changes the policy for all clients."""
    client.require_operator()
    client.worker.set_policy(request.policy)
    return True


def set_priority(client: ServedClient, request: SetPriority, _number: int, _descriptors: list[int]) -> str:
    """Changes a priority; returns the full name of the application."""
    client.require_operator()
    application = _named(client, request.application)
    application.set_priority_as_operator(client.worker.session, request.priority)
    return application.name


def _named(client: ServedClient, name: str) -> ServedApplication:
    every = {each.name: each for other in client.worker.clients for each in other.applications}
    if name in every:
        return every[name]
    is_in_full = IN_FULL.fullmatch(name)  # a full name takes precedence, whatever names other clients use
    found = [] if is_in_full else [each for full, each in every.items() if name == full.rpartition("@")[0]]
    if len(found) != 1:
        listed = ", ".join(each.name for each in found) or ", ".join(every) or "none"
        which = f"{name!r} may be any of" if found else f"no application {name!r}; there are"
        raise InvalidInput(f"{which}: {listed}")
    return found[0]
