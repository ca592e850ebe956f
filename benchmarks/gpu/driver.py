# SPDX-License-Identifier: Apache-2.0
"""Calls of the CUDA driver without gpushare: kernels timed with events, and copies that keep both engines busy.

With events, a kernel and its worker are timed in the same way, and without the scheduler.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Sequence
from functools import cache
from types import TracebackType
from typing import Any

NON_BLOCKING = 1
COPY_BYTES = 256 << 20
COPIES_AHEAD = 4


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(os.environ.get("GPUSHARE_LIBCUDA", "libcuda.so.1"))


def call(name: str, *arguments: Any) -> None:
    """Calls the driver.

    Raises:
        RuntimeError: it returned an error.
    """
    error = getattr(_library(), name)(*arguments)
    if error != 0:
        words = ctypes.c_char_p()
        _library().cuGetErrorName(error, ctypes.byref(words))
        raise RuntimeError(f"{name} failed: {(words.value or b'').decode() or error}")


def use_primary_context(ordinal: int = 0) -> None:
    """Makes gpushare's context current in this thread."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), ordinal)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)


class Stream:
    """A stream that does not synchronize with others."""

    def __init__(self) -> None:
        self.handle = ctypes.c_void_p()
        call("cuStreamCreate", ctypes.byref(self.handle), NON_BLOCKING)

    def wait(self) -> None:
        """Waits until everything in it has ended."""
        call("cuStreamSynchronize", self.handle)


class Event:
    """An event in a stream."""

    def __init__(self) -> None:
        self.handle = ctypes.c_void_p()
        call("cuEventCreate", ctypes.byref(self.handle), 0)

    def record(self, stream: Stream) -> None:
        """Records the event at the end of the stream."""
        call("cuEventRecord", self.handle, stream.handle)

    def wait(self) -> None:
        """Waits for the event."""
        call("cuEventSynchronize", self.handle)

    def us_since(self, earlier: Event) -> float:
        """Microseconds between two events that have occurred."""
        elapsed = ctypes.c_float()
        call("cuEventElapsedTime", ctypes.byref(elapsed), earlier.handle, self.handle)
        return 1e3 * elapsed.value


class Function:
    """A kernel of a cubin."""

    def __init__(self, cubin: bytes, symbol: str) -> None:
        self._module = ctypes.c_void_p()
        self.handle = ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(self._module), cubin)
        call("cuModuleGetFunction", ctypes.byref(self.handle), self._module, symbol.encode())

    def residency(self, threads: int, shared_bytes: int) -> int:
        """Blocks per SM."""
        blocks = ctypes.c_int()
        size = ctypes.c_size_t(shared_bytes)
        call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(blocks), self.handle, threads, size)
        return blocks.value

    def launch(
        self, stream: Stream, grid: Sequence[int], block: Sequence[int], shared_bytes: int, arguments: Sequence[bytes]
    ) -> None:
        """Enqueues one launch in the stream."""
        buffers = [ctypes.create_string_buffer(value, len(value)) for value in arguments]
        pointers = (ctypes.c_void_p * max(1, len(buffers)))(*(ctypes.addressof(each) for each in buffers))
        extents = [ctypes.c_uint(extent) for extent in (*grid, *block)]
        call(
            "cuLaunchKernel", self.handle, *extents, ctypes.c_uint(shared_bytes), stream.handle, pointers, None
        )  # fmt: skip


class CopyTraffic:
    """Keeps both copy engines busy while it is open: copies of 256 MB, to the device and back."""

    def __init__(self, ordinal: int = 0) -> None:
        self._ordinal = ordinal
        self._ends = threading.Event()
        self._flows = threading.Event()
        self._thread = threading.Thread(target=self._copy, daemon=True)

    def __enter__(self) -> CopyTraffic:
        self._thread.start()
        if not self._flows.wait(20):
            raise RuntimeError("the copies did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ends.set()
        self._thread.join()

    def _copy(self) -> None:
        use_primary_context(self._ordinal)
        hosts, devices = _buffers("cuMemHostAlloc", 0), _buffers("cuMemAlloc_v2")
        size = ctypes.c_size_t(COPY_BYTES)
        to_device, to_host = Stream(), Stream()
        marks = [[Event(), Event()] for _ in range(COPIES_AHEAD)]
        count = 0
        while not self._ends.is_set():
            mark = marks[count % COPIES_AHEAD]
            if count >= COPIES_AHEAD:
                self._flows.set()
                for each in mark:
                    each.wait()
            device_target, device_source = (ctypes.c_uint64(each.value) for each in devices)
            call("cuMemcpyHtoDAsync_v2", device_target, hosts[0], size, to_device.handle)
            call("cuMemcpyDtoHAsync_v2", hosts[1], device_source, size, to_host.handle)
            mark[0].record(to_device)
            mark[1].record(to_host)
            count += 1
        for stream in (to_device, to_host):
            stream.wait()
        for host, device in zip(hosts, devices, strict=True):
            call("cuMemFreeHost", host)
            call("cuMemFree_v2", ctypes.c_uint64(device.value))


def _buffers(allocate: str, *flags: int) -> list[ctypes.c_void_p]:
    buffers = [ctypes.c_void_p(), ctypes.c_void_p()]
    for each in buffers:
        call(allocate, ctypes.byref(each), ctypes.c_size_t(COPY_BYTES), *(ctypes.c_uint(flag) for flag in flags))
    return buffers
