# SPDX-License-Identifier: Apache-2.0
"""What a kernel takes from an SM, as the assembler reports it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpushare._core import Device
from gpushare.kernel_model import KernelModel

ENTRY = re.compile(r"Compiling entry function '([^']+)'")
PROPERTIES = re.compile(r"Function properties for '?([^'\s:]+)")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(.*)")
REGISTERS_AT_A_TIME = 8


@dataclass(frozen=True)
class ResourceUsage:
    """What one thread or one block needs, and what the assembler moved to memory for lack of registers.

    Attributes:
        registers: per thread.
        shared_bytes: static shared memory per block.
        local_bytes: stack frame per thread, that of called functions included.
        spill_stores: bytes per thread.
        spill_loads: bytes per thread.
        barriers: of the 16 that a block has.
    """

    registers: int
    shared_bytes: int
    local_bytes: int
    spill_stores: int
    spill_loads: int
    barriers: int

    @property
    def allocated_registers(self) -> int:
        """Registers come in eights.

        >>> ResourceUsage(33, 0, 0, 0, 0, 0).allocated_registers
        40
        """
        return -(-self.registers // REGISTERS_AT_A_TIME) * REGISTERS_AT_A_TIME

    def blocks_per_sm(self, device: Device, threads: int, dynamic_shared_bytes: int = 0) -> int:
        """How many blocks of so many threads an SM of this device holds at a time.

        >>> from gpushare import device
        >>> ResourceUsage(40, 1024, 0, 0, 0, 0).blocks_per_sm(device("sim:h100"), threads=256)
        6
        """
        model = KernelModel(
            "kernel",
            threads=threads,
            registers_per_thread=self.registers,
            shared_memory_bytes=self.shared_bytes + dynamic_shared_bytes,
            latency_ns=1,
        )
        return model.max_residency(device)


def resource_usage(log: str, symbol: str) -> ResourceUsage:
    """Of this kernel, from what the assembler reports when asked for much.

    >>> resource_usage('''
    ... ptxas info    : Compiling entry function 'k' for 'sm_90'
    ... ptxas info    : Function properties for k
    ... ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
    ... ptxas info    : Used 16 registers, used 1 barriers, 8 bytes cumulative stack size, 256 bytes smem
    ... ''', "k")
    ResourceUsage(registers=16, shared_bytes=256, local_bytes=8, spill_stores=4, spill_loads=4, barriers=1)
    """
    frames: dict[str, tuple[int, int, int]] = {}
    entry = function = ""
    for line in log.splitlines():
        if found := ENTRY.search(line):
            entry = found[1]
        elif found := PROPERTIES.search(line):
            function = found[1]
        elif found := FRAME.search(line):
            frames[function] = (int(found[1]), int(found[2]), int(found[3]))
        elif (found := USED.search(line)) and entry == symbol:
            return _usage(int(found[1]), found[2], frames.get(symbol, (0, 0, 0)))
    raise LookupError(f"the assembler reports no kernel {symbol!r}:\n{log}")


def _usage(registers: int, rest: str, frame: tuple[int, int, int]) -> ResourceUsage:
    stack, stores, loads = frame
    local = max(stack, _count(r"(\d+) bytes cumulative stack size", rest))
    return ResourceUsage(
        registers, _count(r"(\d+) bytes smem", rest), local, stores, loads, _count(r"used (\d+) barriers", rest)
    )


def _count(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else 0
