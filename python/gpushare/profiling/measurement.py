# SPDX-License-Identifier: Apache-2.0
"""Measures one kernel: alone, on parts of the GPU, its blocks, its energy, its counters."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from gpushare import _core
from gpushare._core import CudaError
from gpushare.backends.cuda.device import CudaDevice, give_up_if_broken
from gpushare.backends.cuda.energy_meter import EnergyMeter, EnergyUnknownError
from gpushare.backends.cuda.loaded_workload import LoadedLaunch
from gpushare.model.operation import Launch
from gpushare.profile.key import source_hash
from gpushare.profile.record import BlockTimes, Energy, KernelProfile, RateCurve
from gpushare.profiling import counters, trial
from gpushare.profiling.conditions import conditions_now
from gpushare.profiling.effort import Effort, residencies, sm_counts
from gpushare.profiling.energy import energy_of

WORK_PER_CLAIM_NS = 10_000
MOST_PER_CLAIM = 16
CHUNK_TRIES = 3
SAMPLES = 200
LEAST_WAVES = 6
LONGEST_WAIT_NS = 10_000_000_000
"""Longest wait for a first block to start, in nanoseconds."""
SHORTEST_INTERVAL_NS = 5_000
LONGEST_INTERVAL_NS = 100_000
NO_ROOM = "a block of this launch has no room for a worker's registers or shared memory"


def measure_kernel(device: CudaDevice, launch: Launch, effort: Effort | None = None) -> KernelProfile:
    """Measures the profile of a launch of CUDA code. The GPU must not be in use otherwise.

    Args:
        device: the device.
        launch: the kernel with a grid and data, both large enough to fill the GPU.
        effort: the effort of the measurement.

    Raises:
        InvalidInput: the launch cannot run on this device.
        CudaError: the kernel faults or does not end, or another program prevents its blocks from starting.
    """
    try:
        return _Measurement(device, launch, effort or Effort()).profile()
    finally:
        give_up_if_broken(device)


class _Measurement:
    """A launch on the GPU with its data."""

    def __init__(self, device: CudaDevice, launch: Launch, effort: Effort) -> None:
        self.device = device
        self.launch = launch
        self.effort = effort
        self.sms = device.description.sms
        self.loaded = LoadedLaunch(device, launch)
        self.program = _core.CudaProgram()
        code = self.loaded.code
        _, grid, block = launch.cuda
        self.program.add_launch(code, grid, block, launch.shared_bytes, self.loaded.packed)
        self.threads = math.prod(block)
        code.needs(block, launch.shared_bytes)  # this permits the dynamic shared memory, or refuses it

    def profile(self) -> KernelProfile:
        """Measures all steps; counters come last, since CUPTI changes the state of the context."""
        alone_ns = self._alone_ns()
        figures: dict[str, Any] = self._resources()
        if figures["refusal"] is None:
            times = self._block_times(statistics.median(alone_ns))
            against_sms, against_residency = self._curves(alone_ns, times)
            figures |= {"block_times": times, "against_sms": against_sms, "against_residency": against_residency}
        energy = self._energy()
        figures |= {"no_energy": energy} if isinstance(energy, str) else {"energy": energy}
        counted = counters.count(self.device, self.program, self.loaded.restore)
        figures |= {"no_counters": counted} if isinstance(counted, str) else {"counters": counted}
        kernel, grid, block = self.launch.cuda
        return KernelProfile(
            kernel=kernel.name,
            source_hash=source_hash(kernel),
            entry=kernel.name,
            block=block,
            grid=grid,
            shared_bytes=self.launch.shared_bytes,
            alone_ns=tuple(alone_ns),
            conditions=conditions_now(self.device),
            **figures,
        )

    def _resources(self) -> dict[str, Any]:
        """Resources of original and worker on an SM."""
        compiled, code = self.loaded.compiled, self.loaded.code
        shape = (self.device.core, self.threads, self.launch.shared_bytes)
        found: dict[str, Any] = {
            "refusal": compiled.refusal or (None if self.loaded.is_preemptible else NO_ROOM),
            "registers": compiled.original_usage.registers,
            "static_shared_bytes": compiled.original_usage.shared_bytes,
            "residency": _core.original_occupancy(code, *shape),
        }
        if compiled.worker_usage is not None and self.loaded.is_preemptible:
            found["worker_registers"] = compiled.worker_usage.registers
            found["worker_shared_bytes"] = compiled.worker_usage.shared_bytes
            found["worker_residency"] = self._residency
        return found

    @property
    def _residency(self) -> int:
        """Residency of the worker."""
        return self.loaded.code.occupancy(self.device.core, self.launch.cuda.block, self.launch.shared_bytes)

    def _launch_ns(self) -> int:
        return _core.time_of_launch(self.device.core, self.program)

    def _alone_ns(self) -> list[int]:
        times = []
        for _ in range(self.effort.alone_repeats + 1):
            self.loaded.restore()
            times.append(self._launch_ns())
        return times[1:]  # the first warms up

    def _trial(
        self, sms: int, residency: int, *, chunk: int, expected_ns: float, blocks: int = 0, limit_ns: int | None = None
    ) -> trial.Trial:
        """Runs a trial on these SMs at this residency. If no block starts within the limit, a longer one is run."""
        limit = self.effort.trial_limit_ns if limit_ns is None else limit_ns
        while True:
            made = self._one_trial(sms, residency, chunk, expected_ns, blocks, limit)
            if made.total_done[-1] > 0:
                return made
            if limit >= LONGEST_WAIT_NS:
                raise CudaError(
                    f"{self.launch.kernel.name!r}: with {sms} SMs and {residency} blocks on each no block began within "
                    f"{limit / 1e9:.3g} s. Does another program use the GPU?"
                )
            limit = min(4 * limit, LONGEST_WAIT_NS)

    def _one_trial(
        self, sms: int, residency: int, chunk: int, expected_ns: float, blocks: int, limit_ns: int
    ) -> trial.Trial:
        """Runs one trial on restored data."""
        interval = min(expected_ns, limit_ns) / SAMPLES
        interval_ns = round(min(max(interval, SHORTEST_INTERVAL_NS), LONGEST_INTERVAL_NS))
        quotas = [residency] * sms + [0] * (self.sms - sms)
        self.loaded.restore()
        made = _core.run_worker_trial(self.device.core, self.program, quotas, chunk, blocks, limit_ns, interval_ns)
        return trial.Trial.of_core(
            made, blocks=blocks or self.launch.blocks, wanted=sms * residency, limit_ns=limit_ns
        )  # fmt: skip

    def _block_times(self, alone_ns: float) -> BlockTimes:
        """Block times from a trial of the first wave, and of the whole grid unless it takes very long."""
        full = self._residency
        wave = min(self.launch.blocks, self.sms * full)
        self._trial(self.sms, full, chunk=1, expected_ns=alone_ns, blocks=wave)  # warms up the worker
        first = self._trial(self.sms, full, chunk=1, expected_ns=alone_ns, blocks=wave)
        first_ns = trial.mean_block_ns(first)
        limit_ns = max(self.effort.trial_limit_ns, round(4 * alone_ns))
        chunk = self._chunk_for(first_ns)
        for _ in range(CHUNK_TRIES):  # the first wave's blocks may be much slower than the others
            whole = self._trial(self.sms, full, chunk=chunk, expected_ns=alone_ns, limit_ns=limit_ns)
            used, chunk = chunk, self._chunk_for(trial.mean_block_ns(whole))
        ratio, group = trial.group_variation(whole)
        tail_ns = trial.tail_block_ns(whole)
        return BlockTimes(
            first_wave_ns=round(first_ns, 1),
            steady_ns=round(trial.steady_block_ns(whole), 1),
            mean_ns=round(trial.mean_block_ns(whole), 1),
            tail_ns=None if tail_ns is None else round(tail_ns, 1),
            group_variation_ratio=None if ratio is None else round(ratio, 5),
            blocks_per_group=round(group, 2),
            chunk=used,
        )

    def _chunk_for(self, block_ns: float) -> int:
        """The chunk size that the scheduler chooses (worker_demand.hpp)."""
        return int(min(max(WORK_PER_CLAIM_NS / block_ns, 1), MOST_PER_CLAIM)) if block_ns > 0 else 1

    def _curves(self, alone_ns: Sequence[int], times: BlockTimes) -> tuple[RateCurve, RateCurve]:
        full = self._residency
        alone = statistics.median(alone_ns)
        limit_ns = max(self.effort.trial_limit_ns, round(LEAST_WAVES * times.mean_ns))

        def curve(points: Iterable[tuple[int, int]]) -> RateCurve:
            return self._curve(points, times.chunk, alone, limit_ns)

        by_sms = curve((count, full) for count in sm_counts(self.sms))
        return by_sms, curve((self.sms, each) for each in residencies(full))

    def _curve(self, points: Iterable[tuple[int, int]], chunk: int, alone_ns: float, limit_ns: int) -> RateCurve:
        columns: list[tuple[int, int, trial.Rate]] = []
        for sms, residency in points:
            expected_ns = alone_ns * self.sms * self._residency / (sms * residency)
            rates = [
                trial.rate_of(self._trial(sms, residency, chunk=chunk, expected_ns=expected_ns, limit_ns=limit_ns))
                for _ in range(self.effort.trial_repeats)
            ]
            rates.sort(key=lambda rate: rate.per_ns)
            columns.append((sms, residency, rates[len(rates) // 2]))
        return RateCurve(
            sms=tuple(sms for sms, _, _ in columns),
            residency=tuple(residency for _, residency, _ in columns),
            blocks=tuple(rate.blocks for _, _, rate in columns),
            window_ns=tuple(rate.window_ns for _, _, rate in columns),
            block_ns=tuple(round(rate.block_ns, 1) for _, _, rate in columns),
            whole_ns=tuple(rate.whole_ns for _, _, rate in columns),
        )

    def _energy(self) -> Energy | str:
        try:
            meter = EnergyMeter(self.device)
            return energy_of(meter, self._launch_ns, self.loaded.restore, self.effort.energy_ns)
        except EnergyUnknownError as error:
            return f"no energy: {error}"
