# SPDX-License-Identifier: Apache-2.0
"""Measurements: every kernel alone on parts of the GPU, and all pairs under every way of sharing."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

from gpushare._core import PolicyError
from gpushare.backends.cuda.device import CudaDevice
from gpushare.backends.cuda.loaded_workload import CudaWorkload, LoadedLaunch
from gpushare.backends.cuda.run import CudaRunner
from gpushare.model.workload import Launch, Workload
from gpushare.policy import Policy
from gpushare.profiling.conditions import conditions_now
from gpushare.profiling.effort import residencies
from gpushare.progress import tracked
from gpushare.results.run import Run
from gpushare.validation import settings as workloads
from gpushare.validation.recording import AloneRuns, PairRuns, Recording, SoloRuns
from gpushare.validation.settings import Settings

THREADS = 8
TIMEOUT_S = 20.0


class Recorder:
    """Runs everything on a GPU that is not in use otherwise, and stores the measurements so far.

    Args:
        device: the device.
        settings: the workloads.
    """

    def __init__(self, device: CudaDevice, settings: Settings) -> None:
        self.device = device
        self.settings = settings
        self.sms = device.description.sms
        self._runner = CudaRunner(device, TIMEOUT_S)
        self._solo: list[SoloRuns] = []
        self._alone: list[AloneRuns] = []
        self._pairs: list[PairRuns] = []
        self._failures: list[str] = []

    def record(self, progress: bool | None = None) -> Recording:
        """Measures everything, with progress bars."""
        self._load(progress)
        names = self.settings.kernels
        for name in tracked(names, len(names), "kernels alone", progress):
            self._alone.append(self._measure_alone(name))
            self._solo += self._measure_solo(name)
        launches = {each.kernel: each.launches for each in self._alone}
        pairs = list(combinations(names, 2))
        for pair in tracked(pairs, len(pairs), "pairs", progress):
            self._pairs += self._measure_pair(pair, (launches[pair[0]], launches[pair[1]]))
        return self.recording

    @property
    def recording(self) -> Recording:
        """The measurements so far. A kernel without a finished run alone is only in the failures."""
        alone = tuple(each for each in self._alone if each.turnaround_ns)
        never_ended = {each.kernel for each in self._alone} - {each.kernel for each in alone}
        return Recording(
            size=self.settings.size,
            sms=self.sms,
            solo=tuple(each for each in self._solo if each.kernel not in never_ended),
            alone=alone,
            pairs=tuple(each for each in self._pairs if never_ended.isdisjoint(each.kernels)),
            failures=tuple(self._failures),
            conditions=conditions_now(self.device),
        )

    def _load(self, progress: bool | None) -> None:
        """Compiles, then generates and uploads the data, which takes the host some seconds per kernel."""
        launches = [Launch.of_suite(name, self.settings.size) for name in self.settings.kernels]
        for launch in tracked(launches, len(launches), "compiling", progress):
            self.device.load(launch.cuda.kernel)
        with ThreadPoolExecutor(THREADS) as pool:
            loaded = pool.map(lambda launch: LoadedLaunch(self.device, launch, self._runner.code), launches)
            for launch, each in zip(launches, tracked(loaded, len(launches), "making data", progress), strict=True):
                self._runner._loaded[launch] = each

    def _measure_alone(self, name: str) -> AloneRuns:
        once = self._runner._alone(workloads.alone(name, self.settings.size), name).turnaround_ns
        launches = self.settings.launches(once)
        workload = workloads.alone(name, self.settings.size, launches)
        prepared = self._prepared(workload)
        runs = [self._run(prepared, "fifo", repeat) for repeat in range(self.settings.repeats)]
        original = self._runner._alone(workload, name).turnaround_ns
        return AloneRuns(name, launches, original, tuple(_turnarounds(run)[0] for run in runs if run is not None))

    def _measure_solo(self, name: str) -> Iterator[SoloRuns]:
        prepared = self._prepared(workloads.alone(name, self.settings.size))
        (loaded,) = prepared.launches()
        launch = loaded.launch
        full = loaded.code.occupancy(self.device.core, launch.cuda.block, launch.shared_bytes)
        once = self._runner._alone(prepared.workload, name).turnaround_ns
        parts = [(sms, 0) for sms in workloads.sm_counts(self.sms)]
        parts += [(self.sms, residency) for residency in residencies(full) if residency < full]
        for sms, residency in parts:
            expected_ns = once * self.sms / sms * (full / residency if residency else 1)
            if expected_ns > self.settings.longest_ns:
                continue
            policy = workloads.in_part(name, sms, residency or None)
            runs = [self._run(prepared, policy, repeat) for repeat in range(self.settings.repeats)]
            times = tuple(_turnarounds(run)[0] for run in runs if run is not None)
            if times:
                yield SoloRuns(name, sms, residency, times)

    def _measure_pair(self, names: tuple[str, str], launches: tuple[int, int]) -> Iterator[PairRuns]:
        """Interleaves the ways within each repeat, so that drift affects all alike."""
        prepared = self._prepared(workloads.pair(names, launches, self.settings.size))
        ways = self.settings.ways(self.sms)
        found: dict[str, list[Run]] = {way: [] for way in ways}
        for repeat in range(self.settings.repeats):
            for way, runs in found.items():
                run = self._run(prepared, workloads.policy_of(way, names, self.sms), repeat)
                if run is not None:
                    runs.append(run)
        for way, runs in found.items():
            if runs:
                turnarounds = tuple((_turnarounds(run)[0], _turnarounds(run)[1]) for run in runs)
                yield PairRuns(names, launches, way, turnarounds, tuple(runs[0].record.operation_durations))

    def _prepared(self, workload: Workload) -> CudaWorkload:
        prepared = self._runner.prepare(workload)
        self._runner.warm_up(prepared)
        return prepared

    def _run(self, prepared: CudaWorkload, policy: str | Policy, repeat: int) -> Run | None:
        """A run; None, with a note, if a policy fails or the run takes too long: the others are not affected."""
        try:
            return self._runner.run(prepared, policy, repeat, record=False)
        except (PolicyError, TimeoutError) as error:
            self._failures.append(f"{prepared.workload.name}: {error}")
            return None


def _turnarounds(run: Run) -> list[int]:
    return list(run.record.turnarounds)
