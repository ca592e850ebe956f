# SPDX-License-Identifier: Apache-2.0
"""The records of a trace file, as src/record/trace_format.hpp has them (docs/reference/recording-format.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

FILE_HEADER = struct.Struct("<8sII")
"""Magic, version, size of this header."""
RECORD_HEADER = struct.Struct("<IHxx")
"""Bytes of the whole record, kind."""
MAGIC = b"GPUTRACE"
VERSION = 1


class Kind(IntEnum):
    """What a record is of."""

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
"""What follows the header; text comes after it."""


@dataclass(frozen=True, slots=True)
class DeviceRecord:
    """A GPU that the process could see."""

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
    """Where operations follow one another."""

    device: int
    context: int
    stream: int


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """A kernel that has run. Times in nanoseconds, on the clock that all processes share."""

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
    """What CUPTI tells of copies; others stay on the device."""

    TO_DEVICE = 1
    TO_HOST = 2
    TO_DEVICE_ARRAY = 3
    ARRAY_TO_HOST = 4


PAGEABLE = 1
"""CUPTI's number of that kind of memory."""


@dataclass(frozen=True, slots=True)
class CopyRecord:
    """A copy that has been made."""

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
        """Whether the host's side of it was pageable memory."""
        return PAGEABLE in (self.source_memory, self.target_memory)


@dataclass(frozen=True, slots=True)
class MemsetRecord:
    """Memory that has been set."""

    start: int
    end: int
    bytes: int
    stream: Stream
    correlation: int


class What(IntEnum):
    """What was waited for."""

    EVENT = 1
    STREAM_BY_STREAM = 2
    STREAM = 3
    CONTEXT = 4


@dataclass(frozen=True, slots=True)
class WaitRecord:
    """The host waited, or (``STREAM_BY_STREAM``) told a stream to."""

    start: int
    end: int
    what: int
    context: int
    stream: int
    correlation: int


TAKEN = 1
"""CUPTI's number of an allocation; giving back is 2."""
ON_DEVICE = (3, 4, 5, 6)
"""CUPTI's kinds of memory that take room on the GPU: plain, arrays, managed, and that of a program's variables."""


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """Memory that the process took or gave back."""

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
