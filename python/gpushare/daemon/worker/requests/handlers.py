# SPDX-License-Identifier: Apache-2.0
"""What the worker does about each request. A handler returns the answer, or None where one follows by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpushare.daemon.worker.requests import history, memory, operators, programs, shared_arrays, work
from gpushare.daemon.worker.served_client import ServedClient

Handler = Callable[[ServedClient, Any, int, list[int]], Any]

HANDLERS: dict[str, Handler] = {
    "application": work.open_application,
    "kernel": work.register_kernel,
    "model": work.register_model,
    "load": work.load,
    "unload": work.unload,
    "shape": work.shape,
    "variable": memory.find_variable,
    "cancel": work.cancel,
    "own_priority": work.set_priority,
    "program": programs.attach,
    "array": memory.allocate,
    "free": memory.free,
    "arena": memory.share,
    "drop_arena": memory.drop,
    "write": memory.write,
    "read": memory.read,
    "export": shared_arrays.export,
    "status": operators.status,
    "metrics": operators.metrics,
    "policy": operators.set_policy,
    "priority": operators.set_priority,
    "history": history.history,
    "trace": history.trace,
}
