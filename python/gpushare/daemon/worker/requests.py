# SPDX-License-Identifier: Apache-2.0
"""What the worker does about each request. A handler returns the answer, or None where one follows by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpushare.daemon.worker import (
    memory_requests,
    operator_requests,
    past_requests,
    program_requests,
    shared_arrays,
    work_requests,
)
from gpushare.daemon.worker.served_client import ServedClient

Handler = Callable[[ServedClient, Any, int, list[int]], Any]

HANDLERS: dict[str, Handler] = {
    "application": work_requests.open_application,
    "kernel": work_requests.register_kernel,
    "model": work_requests.register_model,
    "load": work_requests.load,
    "unload": work_requests.unload,
    "shape": work_requests.shape,
    "variable": memory_requests.find_variable,
    "cancel": work_requests.cancel,
    "own_priority": work_requests.set_priority,
    "program": program_requests.attach,
    "array": memory_requests.allocate,
    "free": memory_requests.free,
    "arena": memory_requests.share,
    "drop_arena": memory_requests.drop,
    "write": memory_requests.write,
    "read": memory_requests.read,
    "export": shared_arrays.export,
    "status": operator_requests.status,
    "policy": operator_requests.set_policy,
    "priority": operator_requests.set_priority,
    "history": past_requests.history,
    "trace": past_requests.trace,
}
