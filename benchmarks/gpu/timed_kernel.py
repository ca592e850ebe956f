# SPDX-License-Identifier: Apache-2.0
"""A suite kernel as the original and as a full set of workers, each timed with events, without a scheduler."""

from __future__ import annotations

import struct

import numpy as np

from gpushare.backends.cuda.device import CudaDevice
from gpushare.backends.cuda.loaded_workload import LoadedLaunch

from .driver import Event, Function, Stream

CONTROL_BYTES = 8
SM_ENTRY = np.dtype(
    [("workers", "<u4"), ("unused", "<u4"), ("done", "<u4"), ("chunks", "<u4"), ("busy_ns", "<u8")]
)  # as in src/core/transform/worker/worker_control.hpp


class TimedKernel:
    """One launch with its data on the GPU."""

    def __init__(self, gpu: CudaDevice, loaded: LoadedLaunch) -> None:
        self.loaded = loaded
        self.launch = loaded.launch
        self.sms = gpu.description.sms
        self._work_per_claim_ns = gpu.description.runtime.work_per_claim_ns
        compiled = loaded.compiled
        self._original = Function(compiled.original, compiled.symbol)
        self._worker = Function(compiled.worker, compiled.worker_symbol) if compiled.worker else None
        threads = int(np.prod(self.launch.block))
        needs = (threads, self.launch.shared_bytes)
        self.original_residency = self._original.residency(*needs)
        self.residency = self._worker.residency(*needs) if self._worker else self.original_residency
        self._orders_offset = CONTROL_BYTES + self.sms * SM_ENTRY.itemsize
        self._tables = gpu.core.allocate(self._orders_offset + 4 * self.sms)
        self._stream = Stream()
        self._start, self._end = Event(), Event()
        self.block_us = 0.0

    @property
    def is_preemptible(self) -> bool:
        """Whether it has a worker."""
        return self._worker is not None

    def original_us(self) -> float:
        """Time of the original kernel."""
        self.loaded.restore()
        return self._timed(self._original, self.launch.grid, self.loaded.packed)

    def worker_us(self, chunk: int) -> float:
        """Time of as many workers as fit, with claims of ``chunk`` blocks. Stores the mean time of a block."""
        assert self._worker is not None
        self.loaded.restore()
        workers = self.sms * self.residency
        order = struct.pack("<HH", self.residency, chunk)
        self._tables.upload(np.frombuffer(bytes(self._orders_offset) + self.sms * order, np.uint8))
        parameters = self._parameters(workers)
        time = self._timed(self._worker, (workers, 1, 1), [*self.loaded.packed, parameters])
        self.block_us = self._mean_block_us()
        return time

    def chosen_chunk(self) -> int:
        """The chunk size that gpushare chooses."""
        return chosen_chunk(self.block_us, self._work_per_claim_ns)

    def _parameters(self, workers: int) -> bytes:
        x, y, z = self.launch.grid
        guide = (4 * workers).bit_length() - 1
        control = self._tables.address
        head = struct.pack("<QQII", control, control + CONTROL_BYTES, self.launch.blocks, guide)
        return head + _divisor(x) + _divisor(y) + struct.pack("<IxxxxQ", z, control + self._orders_offset)

    def _mean_block_us(self) -> float:
        host = np.empty(self._orders_offset + 4 * self.sms, np.uint8)
        self._tables.download(host)
        table = host[CONTROL_BYTES : self._orders_offset].view(SM_ENTRY)
        done = int(table["done"].sum())
        if done != self.launch.blocks:
            raise RuntimeError(f"{self.launch.kernel.name}: the workers ran {done} of {self.launch.blocks} blocks")
        return float(table["busy_ns"].sum()) / done / 1e3

    def _timed(self, function: Function, grid: tuple[int, ...], arguments: list[bytes]) -> float:
        self._start.record(self._stream)
        function.launch(self._stream, grid, self.launch.block, self.launch.shared_bytes, arguments)
        self._end.record(self._stream)
        self._end.wait()
        return self._end.us_since(self._start)


def chosen_chunk(block_us: float, work_per_claim_ns: int) -> int:
    """As in src/core/workers/worker_demand.hpp."""
    return int(min(max(work_per_claim_ns / 1e3 / block_us, 1), 16)) if block_us > 0 else 1


def _divisor(divisor: int) -> bytes:
    bits = max(divisor - 1, 0).bit_length()
    power = 1 << (31 + bits)
    return struct.pack("<III", divisor, (power + divisor - 1) // divisor, 31 + bits)
