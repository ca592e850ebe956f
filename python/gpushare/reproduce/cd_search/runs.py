# SPDX-License-Identifier: Apache-2.0
"""Mixes as CD-search runs them (section 6): applications are launched repeatedly until each has had a first run.

First runs count, and have equal lengths alone. Each is a loop of launches, so that a kernel of any size can be used, on
a simulated device as on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpushare import _core
from gpushare._core import Device, PolicyError
from gpushare.compare import compare
from gpushare.model.workload import Application, Workload
from gpushare.policy import Policy
from gpushare.progress import tracked
from gpushare.results.run import Run

Where = str | Path | Device
ONE_SEED = range(1)


@dataclass(frozen=True)
class FirstRun:
    """An application's first run.

    Attributes:
        application: the application with one launch.
        launches: number of its launches, one after the other.
        alone_ns: their time alone, by seed.
    """

    application: Application
    launches: int
    alone_ns: tuple[int, ...]

    def repeated(self, runs: int) -> Application:
        """An application with this number of runs in a row."""
        return self._of(self.launches * runs)

    def _of(self, launches: int) -> Application:
        return Application(self.application.name, launches * self.application.operations)


def first_runs(
    applications: Iterable[Application], device: Where, length_ns: float, seeds: int = 1
) -> dict[str, FirstRun]:
    """First runs by name: the number of launches nearest to this length alone, and their time alone."""
    single = [FirstRun(each, 1, ()) for each in applications]
    once = {name: alone[0] for name, alone in _alone(single, device, 1).items()}
    enough = [FirstRun(each.application, max(1, round(length_ns / once[name])), ()) for each, name in _named(single)]
    alone = _alone(enough, device, seeds)
    return {name: FirstRun(each.application, each.launches, alone[name]) for each, name in _named(enough)}


def _named(runs: Iterable[FirstRun]) -> list[tuple[FirstRun, str]]:
    return [(each, each.application.name) for each in runs]


def _alone(runs: Sequence[FirstRun], device: Where, seeds: int) -> dict[str, tuple[int, ...]]:
    """Times alone under fifo, so that on a GPU the cost of workers is not counted as a cost of sharing."""
    workloads = [Workload(name, (each.repeated(1),)) for each, name in _named(runs)]
    result = compare(workloads, ["fifo"], device=device, repeats=seeds, progress=False)
    return {
        each.name: tuple(run.record.ends[0] for run in result.runs if run.workload.name == each.name)
        for each in workloads
    }


@dataclass(frozen=True)
class MixRun:
    """A mix under one policy.

    Attributes:
        mix: the applications' names.
        ntt: normalized turnarounds of the first runs, in the same order.
        parts: SMs of each in the last plan with all of them, which is the result of a search.
        settled_ns: time of that plan.
        powered_ratio: mean share of the SMs that a plan assigned, until all first runs had ended.
        is_complete: whether every application had others beside it during its whole first run.
        seed: the run's seed; on a GPU the number of the repeat.
    """

    mix: tuple[str, ...]
    ntt: tuple[float, ...]
    parts: tuple[int, ...]
    settled_ns: int
    powered_ratio: float
    is_complete: bool
    seed: int = 0

    @property
    def stp(self) -> float:
        """System throughput."""
        return _core.system_throughput(self.ntt)

    @property
    def antt(self) -> float:
        """Average normalized turnaround time."""
        return _core.average_normalized_turnaround(self.ntt)


def run_mixes(
    mixes: Sequence[Sequence[str]],
    known: dict[str, FirstRun],
    policies: Sequence[str | Policy],
    device: Where,
    progress: bool | None = None,
    seeds: range = ONE_SEED,
) -> dict[str, list[MixRun]]:
    """Every mix under every policy, by the policy's name; the runs of a mix with all seeds follow one another.

    Every application has one more run than there are applications, so that none ends before the slowest has had its
    first run. There is one comparison per mix, because the traces, which contain the partitions, are large.
    """
    found: dict[str, list[MixRun]] = {}
    for mix in tracked(mixes, len(mixes), "mixes", progress):
        workload = Workload("+".join(mix), tuple(known[name].repeated(len(mix) + 1) for name in mix))
        result = compare(workload, policies, device=device, seed=seeds.start, repeats=len(seeds), progress=False)
        if result.errors:
            raise PolicyError("; ".join(result.errors.values()))
        for policy in result.policies:
            runs = [run for run in result.runs if run.policy == policy]
            found.setdefault(policy, []).extend(
                _mix_run(run, known, seed) for seed, run in zip(seeds, runs, strict=True)
            )
    return found


def _mix_run(run: Run, known: dict[str, FirstRun], seed: int) -> MixRun:
    mix = tuple(each.name for each in run.workload.applications)
    ends = _first_ends(run, known)
    parts, settled_ns, powered = _partition(run, min(run.record.ends), max(ends))
    return MixRun(
        mix=mix,
        ntt=tuple(end / known[name].alone_ns[seed] for name, end in zip(mix, ends, strict=True)),
        parts=tuple(parts.get(name, 0) for name in mix),
        settled_ns=settled_ns,
        powered_ratio=powered,
        is_complete=max(ends) <= min(run.record.ends),
        seed=seed,
    )


def _first_ends(run: Run, known: dict[str, FirstRun]) -> list[int]:
    """Ends of the first runs. All arrive at 0, and a launch arrives when the previous one has ended."""
    ends, first = [], 0
    for application in run.workload.applications:
        durations = run.record.operation_durations[first : first + known[application.name].launches]
        ends.append(sum(durations))
        first += len(application.operations)
    return ends


def _partition(run: Run, all_there_ns: int, until_ns: int) -> tuple[dict[str, int], int, float]:
    """SMs by application in the last plan with all of them, its time, and the mean share of SMs in use."""
    plans = run.decisions()
    sms, members = run.device.sms, len(run.workload.applications)
    parts: dict[str, int] = {}
    settled_ns, powered_ns, last_ns, last_powered = 0, 0.0, 0, sms
    for time_ns, plan in plans.groupby("time_ns"):
        now = min(int(time_ns), until_ns)
        powered_ns += (now - last_ns) * last_powered
        quotas = {row.application: _sms_of(row.quota, sms) for row in plan.itertuples()}
        last_ns, last_powered = now, min(sum(quotas.values()), sms)
        if len(quotas) == members and quotas != parts and time_ns < all_there_ns:
            parts, settled_ns = quotas, int(time_ns)
    powered_ns += (until_ns - last_ns) * last_powered
    return parts, settled_ns, powered_ns / sms / until_ns


def _sms_of(quota: int | list[int], sms: int) -> int:
    return sum(each > 0 for each in quota) if isinstance(quota, list) else sms * (quota > 0)
