# SPDX-License-Identifier: Apache-2.0
"""Where the time goes that kernels of workers.cu take longer as workers, one step after the other.

    python -m benchmarks.programs.worker_cost --json worker_cost.json

Each step adds one difference, without gpushare's library: the original in nvcc's machine code; the same compiled by the
driver; its worker with orders in device memory, where a claim takes many blocks; with claims of single blocks; and with
orders in host memory, as programs have them. All are timed by events, in turns.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import struct
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gpu.driver import Event, Function, Stream, call, use_primary_context
from benchmarks.programs.running import compile_with_nvcc, write
from benchmarks.programs.workers import SOURCE, capability_here

from gpushare import _core

SIDE, NUMBERS, THREADS = 2048, 1 << 22, 256
BINS = 256
SMS = 16
"""CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT."""
REGISTERS, LOCAL_BYTES = 4, 3
"""CU_FUNC_ATTRIBUTE_NUM_REGS and CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES."""
MOST_SMS = 1024
CONTROL_BYTES, SM_BYTES = 64, 24
ALL_WORKERS = 0xFFFF | 128 << 16
"""The order to stay, and to claim 128 blocks at most."""


def device_memory(count: int, value: int = 1) -> int:
    """So many words."""
    found = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(found), ctypes.c_size_t(4 * count))
    fill(found.value, count, value)
    return found.value


def fill(address: int, count: int, value: int) -> None:
    """Writes so many words."""
    words = (ctypes.c_uint32 * count)(*[value] * count)
    call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), words, ctypes.c_size_t(4 * count))


def host_orders() -> int:
    """Orders in memory of the host, as the GPU sees them."""
    host, seen = ctypes.c_void_p(), ctypes.c_uint64()
    call("cuMemHostAlloc", ctypes.byref(host), ctypes.c_size_t(4 * MOST_SMS), ctypes.c_uint(2))
    call("cuMemHostGetDevicePointer_v2", ctypes.byref(seen), host, ctypes.c_uint(0))
    (ctypes.c_uint32 * MOST_SMS).from_address(host.value or 0)[:] = [ALL_WORKERS] * MOST_SMS
    return seen.value


class Case:
    """A kernel with its arguments.

    Args:
        grid, block: numbers of blocks and threads.
        arguments: packed.
        shared_bytes: dynamic shared memory.
    """

    def __init__(
        self, grid: tuple[int, int], block: tuple[int, int], arguments: Sequence[bytes], shared_bytes: int = 0
    ) -> None:
        self.grid, self.block = (*grid, 1), (*block, 1)
        self.arguments, self.shared_bytes = list(arguments), shared_bytes

    @property
    def tasks(self) -> int:
        """The number of blocks."""
        return self.grid[0] * self.grid[1]

    @property
    def threads(self) -> int:
        """Of a block."""
        return self.block[0] * self.block[1]


def cases(most_blocks: int) -> dict[str, Case]:
    """The kernels by the beginning of their symbols."""
    numbers = device_memory(NUMBERS)
    square = [struct.pack("Q", device_memory(SIDE * SIDE)) for _ in range(3)]
    blocks = min(NUMBERS // THREADS, most_blocks)
    side = min(SIDE // 32, most_blocks)
    return {
        "_Z14matrix_product": Case((side, side), (32, 32), square),
        "_Z5count": Case(
            (blocks, 1), (THREADS, 1), [struct.pack("Q", numbers), struct.pack("Q", device_memory(BINS, 0))]
        ),
        "_Z4blur": Case(
            (blocks, 1), (THREADS, 1), [struct.pack("Q", numbers), struct.pack("i", 200)], 4 * THREADS
        ),
    }  # fmt: skip


def divisor(value: int) -> bytes:
    """FastDivisor::of(value)."""
    bits = (value - 1).bit_length()
    return struct.pack("III", value, -(-(1 << (31 + bits)) // value), 31 + bits)


class Worker:
    """A worker with its tables.

    Args:
        function: its code.
        case: what it does.
        orders: address of an order per SM.
        guide: a claim takes (blocks left >> guide).
    """

    def __init__(self, function: Function, case: Case, orders: int, guide: int) -> None:
        sms, device = ctypes.c_int(), ctypes.c_int()
        call("cuCtxGetDevice", ctypes.byref(device))
        call("cuDeviceGetAttribute", ctypes.byref(sms), SMS, device)
        self._function, self._case = function, case
        self._places = min(sms.value * function.residency(case.threads, case.shared_bytes), case.tasks)
        self._tables = device_memory((CONTROL_BYTES + SM_BYTES * MOST_SMS) // 4, 0)
        self._last = struct.pack("QQII", self._tables, self._tables + CONTROL_BYTES, case.tasks, guide)
        self._last += divisor(case.grid[0]) + divisor(case.grid[1]) + struct.pack("IIQ", case.grid[2], 0, orders)

    @property
    def places(self) -> int:
        """The number of its blocks."""
        return self._places

    def prepare(self) -> None:
        """No block has been claimed."""
        fill(self._tables, 2, 0)

    def launch(self, stream: Stream) -> None:
        """Does everything."""
        case = self._case
        arguments = [*case.arguments, self._last]
        self._function.launch(stream, (self._places, 1, 1), case.block, case.shared_bytes, arguments)


class Original:
    """A kernel as it was written."""

    def __init__(self, function: Function, case: Case) -> None:
        self._function, self._case = function, case

    def prepare(self) -> None:
        """Does nothing."""

    def launch(self, stream: Stream) -> None:
        """Does everything."""
        case = self._case
        self._function.launch(stream, case.grid, case.block, case.shared_bytes, case.arguments)


def attribute(function: Function, which: int) -> int:
    """Of a function."""
    found = ctypes.c_int()
    call("cuFuncGetAttribute", ctypes.byref(found), which, function.handle)
    return found.value


def timed(steps: Mapping[str, Original | Worker], repeats: int) -> dict[str, float]:
    """Microseconds, medians of launches in turns."""
    stream, begin, end = Stream(), Event(), Event()
    times: dict[str, list[float]] = {name: [] for name in steps}
    for repeat in range(repeats + 1):
        for name, step in steps.items():
            step.prepare()
            begin.record(stream)
            step.launch(stream)
            end.record(stream)
            end.wait()
            if repeat:
                times[name].append(end.us_since(begin))
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Measures all kernels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--blocks", type=int, default=NUMBERS, help="Most blocks of a launch, for a slow GPU.")
    parser.add_argument("--json", type=Path, required=True)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpushare-benchmark-") as made:
        text, code = (Path(made) / name for name in ("kernels.ptx", "kernels.cubin"))
        capability = capability_here()
        compile_with_nvcc("-O3", f"-arch=compute_{capability}", "-ptx", "-o", str(text), str(SOURCE))
        compile_with_nvcc("-O3", f"-arch=sm_{capability}", "-cubin", "-o", str(code), str(SOURCE))
        found = measured(text.read_text(), code.read_bytes(), chosen)
    write(chosen.json, found)


def measured(text: str, cubin: bytes, chosen: argparse.Namespace) -> dict[str, Any]:
    """All steps of all kernels."""
    use_primary_context()
    transformed = _core.make_preemptible(text)
    with_workers = transformed.ptx.encode() + b"\0"
    on_host, on_device = host_orders(), device_memory(MOST_SMS, ALL_WORKERS)
    found: dict[str, Any] = {}
    for name, case in cases(chosen.blocks).items():
        kernel = next(each for each in transformed.kernels if each.name.startswith(name))
        original, compiled = Function(cubin, kernel.name), Function(with_workers, kernel.name)
        worker = Function(with_workers, str(kernel.worker))
        single = case.tasks.bit_length()
        steps: dict[str, Original | Worker] = {
            "machine code": Original(original, case),
            "driver's code": Original(compiled, case),
            "worker, large claims": Worker(worker, case, on_device, max(single - 4, 1)),
            "worker": Worker(worker, case, on_device, single),
            "worker, host's orders": Worker(worker, case, on_host, single),
        }
        functions = {"machine code": original, "driver's code": compiled, "worker": worker}
        found[kernel.name] = {
            "us": timed(steps, chosen.repeats),
            "registers": {each: attribute(function, REGISTERS) for each, function in functions.items()},
            "local_bytes": {each: attribute(function, LOCAL_BYTES) for each, function in functions.items()},
            "blocks_per_sm": {
                each: function.residency(case.threads, case.shared_bytes) for each, function in functions.items()
            },
        }
        first = found[kernel.name]["us"]["machine code"]
        for step, us in found[kernel.name]["us"].items():
            print(f"{kernel.name:32} {step:24} {us:10.1f} us {us / first:8.3f}", flush=True)
        print({each: found[kernel.name][each] for each in ("registers", "local_bytes", "blocks_per_sm")}, flush=True)
    return found


if __name__ == "__main__":
    main()
