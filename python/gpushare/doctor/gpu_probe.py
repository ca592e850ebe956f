# SPDX-License-Identifier: Apache-2.0
"""Probes the driver and each GPU, in a separate process that may crash or hang.

The program is started as core_process.py describes.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
from types import ModuleType
from typing import Any

TIMEOUT_S = 60.0
"""The first context of a machine with eight GPUs takes seconds; a broken driver may hang for ever."""

TESTED_BYTES = 1 << 16


def probe(timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
    """The result of :func:`report`, or an ``error`` that tells how the process ended."""
    from gpushare.core_process import command_for

    try:
        ended = subprocess.run(
            command_for(__file__),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _nothing(f"the driver did not answer within {timeout_s:g} s")
    if ended.returncode < 0:
        return _nothing(f"the driver crashed: {signal.Signals(-ended.returncode).name}")
    try:
        return json.loads(ended.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return _nothing(f"the driver could not be asked: {ended.stderr.strip()[-500:] or ended.returncode}")


def _nothing(error: str) -> dict[str, Any]:
    return {"has_library": True, "driver_version": 0, "error": error, "gpus": []}


def report(core: ModuleType) -> dict[str, Any]:
    """``has_library``, ``driver_version`` (13000 is 13.0), ``error`` (why there is no GPU) and ``gpus``."""
    error = None
    gpus = [_gpu(core, ordinal) for ordinal in range(core.cuda_device_count())]
    if not gpus:
        try:
            core.CudaDevice(0)
        except core.CudaError as refusal:
            error = str(refusal)
    return {
        "has_library": _has_library(),
        "driver_version": core.cuda_driver_version(),
        "error": error,
        "gpus": gpus,
    }


def _has_library() -> bool:
    try:
        ctypes.CDLL(os.environ.get("GPUSHARE_LIBCUDA", "libcuda.so.1"))
    except OSError:
        return False
    return True


def _gpu(core: ModuleType, ordinal: int) -> dict[str, Any]:
    """One GPU, with the error of using it."""
    found: dict[str, Any] = {"device": f"cuda:{ordinal}", "error": None}
    try:
        device = core.CudaDevice(ordinal)
        found |= {
            "name": device.description.name,
            "architecture": device.architecture,
            "sms": device.description.sms,
            "memory_bytes": device.memory_bytes,
        }
        found["error"] = _memory_error(device)
    except core.CudaError as refusal:
        found["error"] = str(refusal)
    return found


def _memory_error(device: Any) -> str | None:
    """Copies data to the GPU and back, which needs a context, memory and the copy engines."""
    sent = os.urandom(TESTED_BYTES)
    received = bytearray(TESTED_BYTES)
    memory = device.allocate(TESTED_BYTES)
    memory.upload(sent)
    memory.download(received)
    return None if received == sent else "its memory does not keep what is written to it"


def main(core: ModuleType) -> None:
    """Prints the report as the last line."""
    print(json.dumps(report(core)))
