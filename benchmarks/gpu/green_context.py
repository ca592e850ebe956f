# SPDX-License-Identifier: Apache-2.0
"""What it costs to make a green context and to load a kernel there, while nothing runs."""

from __future__ import annotations

import ctypes
import time
from itertools import pairwise
from typing import NamedTuple

from .driver import call

SM_RESOURCE = 1
RESOURCE_BYTES = 4096
"""Room for a CUdevResource of any version."""
DEFAULT_STREAM = 1
NON_BLOCKING = 1
IGNORE_COSCHEDULING = 1
"""Any number of SMs, not only multiples of those that clusters of blocks need."""


class Costs(NamedTuple):
    """In nanoseconds: a context with a stream, a kernel there, and the end of all of it."""

    make: int
    load: int
    free: int


def green_context_costs(ordinal: int, cubin: bytes, symbol: str, sms: int) -> Costs:
    """One green context of so many SMs."""
    device = ctypes.c_int()
    call("cuDeviceGet", ctypes.byref(device), ordinal)
    description = _part_of(device, sms)
    green, context, stream, module, function, popped = (ctypes.c_void_p() for _ in range(6))
    times = [time.monotonic_ns()]
    call("cuGreenCtxCreate", ctypes.byref(green), description, device, ctypes.c_uint(DEFAULT_STREAM))
    call("cuCtxFromGreenCtx", ctypes.byref(context), green)
    call("cuGreenCtxStreamCreate", ctypes.byref(stream), green, ctypes.c_uint(NON_BLOCKING), ctypes.c_int(0))
    times.append(time.monotonic_ns())
    call("cuCtxPushCurrent_v2", context)
    call("cuModuleLoadData", ctypes.byref(module), cubin)
    call("cuModuleGetFunction", ctypes.byref(function), module, symbol.encode())
    call("cuFuncLoad", function)
    times.append(time.monotonic_ns())
    call("cuModuleUnload", module)
    call("cuStreamDestroy_v2", stream)
    call("cuCtxPopCurrent_v2", ctypes.byref(popped))
    call("cuGreenCtxDestroy", green)
    times.append(time.monotonic_ns())
    return Costs(*(after - before for before, after in pairwise(times)))


def _part_of(device: ctypes.c_int, sms: int) -> ctypes.c_void_p:
    whole, part, rest = (ctypes.create_string_buffer(RESOURCE_BYTES) for _ in range(3))
    groups, description = ctypes.c_uint(1), ctypes.c_void_p()
    call("cuDeviceGetDevResource", device, whole, SM_RESOURCE)
    flags, least = ctypes.c_uint(IGNORE_COSCHEDULING), ctypes.c_uint(sms)
    call("cuDevSmResourceSplitByCount", part, ctypes.byref(groups), whole, rest, flags, least)
    call("cuDevResourceGenerateDesc", ctypes.byref(description), part, ctypes.c_uint(1))
    return description
