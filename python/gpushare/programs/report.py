# SPDX-License-Identifier: Apache-2.0
"""What a program has done with the GPU, as far as gpushare's library has seen it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from gpushare import _core
from gpushare.kernels.entry_names import demangled

LEAST_COVERAGE = 0.95
"""A program of which less is seen is warned of."""


@dataclass(frozen=True)
class Launches:
    """Of one kernel, one kind, or one library.

    Attributes:
        name: what they have in common.
        launches: how many.
        gpu_s: seconds on the GPU: launches times what one is predicted to take.
    """

    name: str
    launches: int
    gpu_s: float


@dataclass(frozen=True)
class ProgramReport:
    """Times in seconds.

    Attributes:
        name: of the program.
        wall_s: from its start to its end.
        launches: in all; a graph is one. More than those by kernel where there was no room for all kernels.
        gpu_s: GPU time of what it has launched.
        held_s: its threads have waited for the lease, in all.
        limited_s: its threads have waited because too much was under way.
        let_go: waits that the longest hold has ended.
        coverage_ratio: GPU time that was seen, of all; None where it cannot be told.
        escaped: processes that used the driver past the library.
        processes: how many have used CUDA.
        by_kernel: most GPU time first.
        by_kind: likewise.
        by_library: likewise.
    """

    name: str
    wall_s: float
    launches: int
    gpu_s: float
    held_s: float
    limited_s: float
    let_go: int
    coverage_ratio: float | None
    escaped: list[str]
    processes: int
    by_kernel: list[Launches]
    by_kind: list[Launches]
    by_library: list[Launches]

    @property
    def untold(self) -> int:
        """Launches of kernels for which there was no room."""
        return max(self.launches - sum(each.launches for each in self.by_kind), 0)

    @property
    def gpu_ratio(self) -> float:
        """Its GPU time, of the time that it ran."""
        return self.gpu_s / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def is_covered(self) -> bool:
        """Whether enough of it was seen."""
        return not self.escaped or (self.coverage_ratio or 0.0) >= LEAST_COVERAGE

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"gpu_ratio": self.gpu_ratio}


def report_of(
    name: str,
    wall_s: float,
    kernels: Iterable[_core.ProgramKernel],
    totals: _core.ProgramTotals,
    processes: int,
    escaped: Iterable[str] = (),
    coverage_of: Callable[[float], float | None] = lambda _: 1.0,
) -> ProgramReport:
    """Puts it together.

    Args:
        name: of the program.
        wall_s: it ran for so long.
        kernels: as its page has them.
        totals: of its processes.
        processes: how many have used CUDA.
        escaped: processes that used the driver past the library.
        coverage_of: the share of GPU time that was seen, by the seconds that were.
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
        coverage_ratio=coverage_of(gpu_s),
        escaped=list(escaped),
        processes=processes,
        by_kernel=_summed(kernels, lambda each: demangled(each.name) or each.name),
        by_kind=_summed(kernels, lambda each: each.kind),
        by_library=_summed(kernels, lambda each: each.library or "?"),
    )


def gpu_s_of(kernel: _core.ProgramKernel) -> float:
    """Seconds on the GPU of all its launches, as one is predicted.

    That is the smallest time that was measured, which follows longer ones slowly: what the host took is in the others.
    """
    return kernel.launches * kernel.predicted_ns / 1e9


def _summed(kernels: Iterable[_core.ProgramKernel], name_of: Callable[[_core.ProgramKernel], str]) -> list[Launches]:
    totals: dict[str, tuple[int, float]] = {}
    for each in kernels:
        launches, gpu_s = totals.get(name_of(each), (0, 0.0))
        totals[name_of(each)] = launches + each.launches, gpu_s + gpu_s_of(each)
    found = [Launches(name, launches, gpu_s) for name, (launches, gpu_s) in totals.items()]
    return sorted(found, key=lambda each: (-each.gpu_s, each.name))
