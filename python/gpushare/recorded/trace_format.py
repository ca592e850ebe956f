# SPDX-License-Identifier: Apache-2.0
"""The records of a trace file, as in src/record/trace_format.hpp (docs/reference/recording-format.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

FILE_HEADER = struct.Struct("<8sII")
"""Magic, version, size of this header."""
RECORD_HEADER = struct.Struct("<IHxx")
"""Size of the whole record in bytes, and its kind."""
MAGIC = b"GPUTRACE"
VERSION = 1


class Kind(IntEnum):
    """The kind of a record."""

    PROCESS = 1
    DEVICE = 2
    KERNEL_NAME = 3
    KERNEL = 4
    COPY = 5
    MEMSET = 6
    WAIT = 7
    CALL = 8
    LOST = 9
    PROBLEM = 10
    END = 11
    MEMORY = 12


BODY = {
    Kind.PROCESS: struct.Struct("<IIQ"),
    Kind.DEVICE: struct.Struct("<10IQQ"),
    Kind.KERNEL_NAME: struct.Struct("<I4x"),
    Kind.KERNEL: struct.Struct("<QQ15I4x"),
    Kind.COPY: struct.Struct("<QQQ4IBBBB4x"),
    Kind.MEMSET: struct.Struct("<QQQ4I"),
    Kind.WAIT: struct.Struct("<QQ4I"),
    Kind.CALL: struct.Struct("<QQ4I"),
    Kind.LOST: struct.Struct("<Q"),
    Kind.PROBLEM: struct.Struct("<"),
    Kind.END: struct.Struct("<Q"),
    Kind.MEMORY: struct.Struct("<QQQ4I"),
}
"""The fields after the header; texts come after them."""


@dataclass(frozen=True, slots=True)
class DeviceRecord:
    """A GPU that is visible to the process."""

    device: int
    sms: int
    warps_per_sm: int
    blocks_per_sm: int
    registers_per_sm: int
    shared_bytes_per_sm: int
    threads_per_warp: int
    clock_khz: int
    capability_major: int
    capability_minor: int
    memory_bytes: int
    kilobytes_per_second: int
    name: str


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of operations."""

    device: int
    context: int
    stream: int


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """A finished kernel. Times are nanoseconds on a clock that all processes share."""

    start: int
    end: int
    stream: Stream
    correlation: int
    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers_per_thread: int
    shared_bytes: int
    graph: int


class Direction(IntEnum):
    """CUPTI's directions of copies; others stay on the device."""

    TO_DEVICE = 1
    TO_HOST = 2
    TO_DEVICE_ARRAY = 3
    ARRAY_TO_HOST = 4


PAGEABLE = 1
"""CUPTI's number of pageable memory."""


@dataclass(frozen=True, slots=True)
class CopyRecord:
    """A finished copy."""

    start: int
    end: int
    bytes: int
    stream: Stream
    correlation: int
    direction: int
    source_memory: int
    target_memory: int
    is_asynchronous: bool

    @property
    def is_pageable(self) -> bool:
        """Whether the host's memory was pageable."""
        return PAGEABLE in (self.source_memory, self.target_memory)


@dataclass(frozen=True, slots=True)
class MemsetRecord:
    """A finished memset."""

    start: int
    end: int
    bytes: int
    stream: Stream
    correlation: int


class What(IntEnum):
    """The object of a wait."""

    EVENT = 1
    STREAM_BY_STREAM = 2
    STREAM = 3
    CONTEXT = 4


@dataclass(frozen=True, slots=True)
class WaitRecord:
    """A wait of the host, or (``STREAM_BY_STREAM``) of a stream."""

    start: int
    end: int
    what: int
    context: int
    stream: int
    correlation: int


TAKEN = 1
"""CUPTI's number of an allocation; 2 is a release."""
ON_DEVICE = (3, 4, 5, 6)
"""CUPTI's kinds of memory that occupy the GPU: plain, arrays, managed, and a program's variables."""


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """An allocation or release of memory."""

    time: int
    address: int
    bytes: int
    device: int
    what: int
    memory: int
    context: int


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call of CUDA's runtime or driver."""

    start: int
    end: int
    interface: int
    function: int
    thread: int
    correlation: int
