# SPDX-License-Identifier: Apache-2.0
"""Handlers of requests for the recent history: clients get their applications', operators a trace of all."""

from __future__ import annotations

import time

from gpushare._core import InvalidInput
from gpushare.daemon.protocol.client_history import packed_history
from gpushare.daemon.protocol.messages import TakeHistory, TakeTrace
from gpushare.daemon.worker.history import past_of
from gpushare.daemon.worker.served_client import ServedClient


def history(client: ServedClient, request: TakeHistory, number: int, _descriptors: list[int]) -> None:
    """Sends the history of the client's applications, or of all; a separate thread waits for the limiter."""
    if request.of_all:
        client.require_operator()
    client.answer_later(lambda: _answer_in_turn(client, request, number))


def _answer_in_turn(client: ServedClient, request: TakeHistory, number: int) -> None:
    """It visits all applications' history, and blocks the worker's other Python threads meanwhile."""

    def answer() -> None:
        suffix = "" if request.of_all else client.suffix
        client.reply_in_file(number, packed_history(client.worker.session.history(request.seconds), suffix))

    with client.worker.history_turn(client):
        if not client.is_gone.is_set():
            client.answer_with(number, answer)


def trace(client: ServedClient, request: TakeTrace, number: int, _descriptors: list[int]) -> None:
    """Sends a trace of all applications."""
    worker, now_ns = client.worker, time.monotonic_ns()  # taken before the import, which may take a second
    from gpushare.daemon.worker.history_trace import history_trace

    client.require_operator()
    if request.until_s >= request.seconds:
        raise InvalidInput(
            f"a window that begins {request.seconds:g} s ago cannot end {request.until_s:g} s ago: until must be less "
            "than seconds"
        )
    since_ns, until_ns = (now_ns - round(seconds * 1e9) for seconds in (request.seconds, request.until_s))
    past = past_of(worker.session, (time.monotonic_ns() - since_ns) / 1e9).until(until_ns)
    looks = worker.history.between(since_ns, until_ns)
    client.reply_in_file(number, history_trace(worker.device, past, looks, (since_ns, until_ns), request.part))
