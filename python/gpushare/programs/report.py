# SPDX-License-Identifier: Apache-2.0
"""Report of a program's use of the GPU, as observed by gpushare's library."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from gpushare import _core
from gpushare.kernels.entry_names import demangled

LEAST_COVERAGE = 0.95
"""Below this coverage a warning is printed."""


@dataclass(frozen=True)
class Launches:
    """Launches of one kernel, one kind, or one library.

    Attributes:
        name: the kernel, kind or library.
        launches: number of launches.
        gpu_s: seconds on the GPU: launches times the predicted time of one.
    """

    name: str
    launches: int
    gpu_s: float


@dataclass(frozen=True)
class ProgramReport:
    """The report; times are in seconds.

    Attributes:
        name: name of the program.
        wall_s: time from its start to its end.
        launches: all launches; a graph counts as one. More than the sum over kernels where the table had no room for
            all kernels.
        gpu_s: GPU time of its launches.
        held_s: total time of its threads waiting for the lease.
        limited_s: total time of its threads waiting because too much work was in flight.
        let_go: number of waits that the longest hold ended.
        worker_launches: number of launches made as workers.
        evictions: number of times that a kernel under way was evicted.
        whole_reasons: number of kernels and images of code that run whole though workers were asked for, by reason.
        coverage_ratio: observed GPU time relative to all; None where it is not known.
        escaped: processes that used the driver without the library.
        processes: number of processes that have used CUDA.
        by_kernel: launches by kernel, most GPU time first.
        by_kind: launches by kind, most GPU time first.
        by_library: launches by library, most GPU time first.
    """

    name: str
    wall_s: float
    launches: int
    gpu_s: float
    held_s: float
    limited_s: float
    let_go: int
    worker_launches: int
    evictions: int
    whole_reasons: dict[str, int]
    coverage_ratio: float | None
    escaped: list[str]
    processes: int
    by_kernel: list[Launches]
    by_kind: list[Launches]
    by_library: list[Launches]

    @property
    def untold(self) -> int:
        """Launches of kernels for which the table had no room."""
        return max(self.launches - sum(each.launches for each in self.by_kind), 0)

    @property
    def gpu_ratio(self) -> float:
        """Its GPU time relative to its wall-clock time."""
        return self.gpu_s / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def is_covered(self) -> bool:
        """Whether enough of its GPU time was observed."""
        return not self.escaped or (self.coverage_ratio or 0.0) >= LEAST_COVERAGE

    def to_dict(self) -> dict[str, Any]:
        """The report for JSON."""
        return asdict(self) | {"gpu_ratio": self.gpu_ratio}


def report_of(
    name: str,
    wall_s: float,
    kernels: Iterable[_core.ProgramKernel],
    totals: _core.ProgramTotals,
    processes: int,
    escaped: Iterable[str] = (),
    coverage_of: Callable[[float], float | None] = lambda _: 1.0,
    whole_reasons: Iterable[tuple[str, int]] = (),
) -> ProgramReport:
    """Makes the report.

    Args:
        name: name of the program.
        wall_s: its wall-clock time, in seconds.
        kernels: the kernels of its page.
        totals: the totals of its processes.
        processes: number of processes that have used CUDA.
        escaped: processes that used the driver without the library.
        coverage_of: maps observed seconds of GPU time to their share of all.
        whole_reasons: why kernels or images run whole, and how many.
    """
    kernels = [each for each in kernels if each.launches > 0]
    gpu_s = sum(map(gpu_s_of, kernels))
    return ProgramReport(
        name=name,
        wall_s=wall_s,
        launches=totals.launches,
        gpu_s=gpu_s,
        held_s=totals.held_ns / 1e9,
        limited_s=totals.limited_ns / 1e9,
        let_go=totals.let_go,
        worker_launches=totals.worker_launches,
        evictions=totals.evictions,
        whole_reasons=dict(whole_reasons),
        coverage_ratio=coverage_of(gpu_s),
        escaped=list(escaped),
        processes=processes,
        by_kernel=_summed(kernels, lambda each: demangled(each.name) or each.name),
        by_kind=_summed(kernels, lambda each: each.kind),
        by_library=_summed(kernels, lambda each: each.library or "?"),
    )


def gpu_s_of(kernel: _core.ProgramKernel) -> float:
    """Seconds on the GPU of all its launches, from the prediction of one.

    The prediction follows the smallest measured time, and longer ones slowly, since those include time of the host.
    """
    return kernel.launches * kernel.predicted_ns / 1e9


def _summed(kernels: Iterable[_core.ProgramKernel], name_of: Callable[[_core.ProgramKernel], str]) -> list[Launches]:
    totals: dict[str, tuple[int, float]] = {}
    for each in kernels:
        launches, gpu_s = totals.get(name_of(each), (0, 0.0))
        totals[name_of(each)] = launches + each.launches, gpu_s + gpu_s_of(each)
    found = [Launches(name, launches, gpu_s) for name, (launches, gpu_s) in totals.items()]
    return sorted(found, key=lambda each: (-each.gpu_s, each.name))
