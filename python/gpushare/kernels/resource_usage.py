# SPDX-License-Identifier: Apache-2.0
"""Resource usage of kernels, from the assembler's report."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from gpushare import _core
from gpushare._core import Device

ENTRY = re.compile(r"Compiling entry function '([^']+)'")
PROPERTIES = re.compile(r"Function properties for '?([^'\s:]+)")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(.*)")
LINKED = re.compile(r"used (\d+) registers, used \d+ barriers, (\d+) stack")
REGISTERS_AT_A_TIME = 8
Frame = tuple[int, int, int]
"""Stack, spill stores and spill loads of one function, in bytes."""


@dataclass(frozen=True)
class ResourceUsage:
    """Resources of one thread or one block, and register spills, including those of called functions.

    Attributes:
        registers: registers per thread.
        shared_bytes: static shared memory per block.
        local_bytes: stack per thread.
        spill_stores: bytes of spill stores in the whole code of a thread.
        spill_loads: bytes of spill loads in the whole code of a thread.
        barriers: barriers per block, of 16.
    """

    registers: int
    shared_bytes: int
    local_bytes: int
    spill_stores: int
    spill_loads: int
    barriers: int

    @property
    def allocated_registers(self) -> int:
        """Registers per thread as allocated, in units of eight.

        >>> ResourceUsage(33, 0, 0, 0, 0, 0).allocated_registers
        40
        """
        return -(-self.registers // REGISTERS_AT_A_TIME) * REGISTERS_AT_A_TIME

    def blocks_per_sm(self, device: Device, threads: int, dynamic_shared_bytes: int = 0) -> int:
        """Number of blocks of this many threads that are resident on an SM at a time.

        >>> from gpushare import device
        >>> ResourceUsage(40, 1024, 0, 0, 0, 0).blocks_per_sm(device("sim:h100"), threads=256)
        6
        """
        model = _core.KernelModel(
            "kernel",
            threads=threads,
            registers_per_thread=self.registers,
            shared_memory_bytes=self.shared_bytes + dynamic_shared_bytes,
            latency_ns=1,
        )
        return _core.max_residency(device, model)


def resource_usage(log: str, symbol: str, called: Callable[[], Collection[str]] = tuple) -> ResourceUsage:
    """Usage of this kernel and the functions that it calls, from the assembler's verbose report.

    Args:
        log: report of ptxas, which lists functions after the kernel that calls them; or of nvJitLink, which lists them
            before all kernels, and the totals of each kernel at the end.
        symbol: symbol of the kernel.
        called: returns the called functions, for nvJitLink.

    >>> resource_usage('''
    ... ptxas info    : Compiling entry function 'k' for 'sm_90'
    ... ptxas info    : Function properties for k
    ...     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
    ... ptxas info    : Used 16 registers, used 1 barriers, 32 bytes cumulative stack size, 256 bytes smem
    ... ptxas info    : Function properties for f
    ...     24 bytes stack frame, 20 bytes spill stores, 16 bytes spill loads
    ... ''', "k")
    ResourceUsage(registers=16, shared_bytes=256, local_bytes=32, spill_stores=24, spill_loads=20, barriers=1)
    """
    frames: dict[str, dict[str, Frame]] = {"": {}}
    used: dict[str, tuple[int, str]] = {}
    linked: dict[str, tuple[int, int]] = {}
    entry = function = ""
    for line in log.splitlines():
        if found := ENTRY.search(line):
            entry = found[1]
            frames[entry] = {}
        elif found := PROPERTIES.search(line):
            function = found[1]
        elif found := FRAME.search(line):
            frames[entry][function] = (int(found[1]), int(found[2]), int(found[3]))
        elif found := USED.search(line):
            used[entry] = int(found[1]), found[2]
        elif found := LINKED.search(line):
            linked[function] = int(found[1]), int(found[2])
    if symbol not in used:
        raise LookupError(f"the assembler reports no kernel {symbol!r}:\n{log}")
    elsewhere = [frames[""][each] for each in called() if each in frames[""]] if frames[""] else []
    return _usage(*used[symbol], [*frames[symbol].values(), *elsewhere], linked.get(symbol, (0, 0)))


def _usage(registers: int, rest: str, frames: Sequence[Frame], linked: tuple[int, int]) -> ResourceUsage:
    """Usage from a report. The stack of recursive functions is not reported: it is at least the sum of all frames."""
    stacks, stores, loads = map(sum, zip(*frames, strict=True)) if frames else (0, 0, 0)
    whole = max(_count(r"(\d+) bytes cumulative stack size", rest), linked[1])
    return ResourceUsage(
        registers=max(registers, linked[0]),
        shared_bytes=_count(r"(\d+) bytes smem", rest),
        local_bytes=whole or stacks,
        spill_stores=stores,
        spill_loads=loads,
        barriers=_count(r"used (\d+) barriers", rest),
    )


def _count(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else 0
