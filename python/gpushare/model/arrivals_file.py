# SPDX-License-Identifier: Apache-2.0
"""Makes the operations of an application with arrivals in a workload file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from gpushare.checks import did_you_mean, require
from gpushare.files.toml_file import at_key
from gpushare.model.arrivals import Arrivals
from gpushare.model.operation import Copy, Launch, Operation
from gpushare.model.request_trace import Tokens
from gpushare.model.workload_schema import ArrivalsTable

PROCESSES: dict[str, Callable[..., Arrivals]] = {
    "poisson": Arrivals.poisson,
    "bursts": Arrivals.bursts,
    "closed_loop": Arrivals.closed_loop,
    "trace": Arrivals.trace,
}
Parts = Sequence[tuple[Operation, str | None]]
"""The operations of a request, and of which tokens each is a multiple."""


def requests_of(table: ArrivalsTable, parts: Parts, folder: Path) -> list[Operation]:
    """The operations of all requests."""
    with at_key("arrivals"):
        arrivals = _arrivals(table, folder)
        if not arrivals.tokens:
            require(not any(per for _, per in parts), "per needs arrivals of a trace, whose requests have tokens")
            return arrivals.of([operation for operation, _ in parts])
        return arrivals.of(lambda tokens: _request(parts, tokens))


def _arrivals(table: ArrivalsTable, folder: Path) -> Arrivals:
    known = ", ".join(PROCESSES)
    wrong = f"no process {table.process!r}; known: {known}{did_you_mean(table.process, PROCESSES)}"
    require(table.process in PROCESSES, wrong)
    make = PROCESSES[table.process]
    given: dict[str, Any] = {name: value for name, value in table if name != "process" and value is not None}
    parameters = signature(make).parameters
    for key in given:
        require(key in parameters, f"{key} is not for {table.process}, which takes {', '.join(parameters)}")
    for key, parameter in parameters.items():
        require(key in given or parameter.default is not Parameter.empty, f"{table.process} needs {key}")
    if "source" in given:
        given["source"] = folder / given["source"]
    return make(**given)


def _request(parts: Parts, tokens: Tokens) -> list[Operation]:
    counts = {None: 1, "context_token": tokens.context, "generated_token": tokens.generated}
    made = [_multiple(operation, counts[per]) for operation, per in parts if counts[per] > 0]
    lacks = f"a request of {tokens.context} context and {tokens.generated} generated tokens has no operations: add one "
    require(len(made) > 0 or len(parts) == 0, f"{lacks}without per")
    return made


def _multiple(operation: Operation, count: int) -> Operation:
    if count == 1:
        return operation
    if isinstance(operation, Copy):
        time_ns = None if operation.time_ns is None else count * operation.time_ns
        return replace(operation, bytes=count * operation.bytes, time_ns=time_ns)
    assert isinstance(operation, Launch)
    return replace(operation, blocks=count * operation.blocks)
