# SPDX-License-Identifier: Apache-2.0
"""EffiSha's evaluation on a simulated K40m, or with the suite's kernels on a GPU: see :func:`reproduce`."""

from __future__ import annotations

from gpushare.reproduce.effisha.closed_loop import preemptions_by_priority
from gpushare.reproduce.effisha.preemption import eviction_delays
from gpushare.reproduce.effisha.slicing import slicing_sections
from gpushare.reproduce.effisha.turnaround import turnaround_sections
from gpushare.reproduce.effisha.workload import Platform
from gpushare.reproduce.reproduction import Reproduction

TITLE = "EffiSha: preemptive scheduling with priorities (Chen et al. 2017)"


def reproduce(
    *, seeds: int = 6, quick: bool = False, progress: bool | None = None, device: str | None = None
) -> Reproduction:
    """Figs. 9 to 15. On a GPU the suite's kernels replace SHOC's, each repeated to the benchmark's length.

    Fig. 9 is left out there: its arrivals depend on earlier ends, which a workload cannot express; repeated simulation
    finds them.
    """
    platform = Platform(device or "k40m")
    sections = turnaround_sections(platform, seeds, progress)
    sections.append(eviction_delays(platform))
    if not quick:
        sections += slicing_sections(platform)
        if not platform.is_real:
            sections.append(preemptions_by_priority(seeds))
    sections.sort(key=lambda section: _number(section.title))
    title = TITLE if platform.is_paper else f"{TITLE}, on {platform.device}"
    return Reproduction(title, tuple(sections))


def varies(_device: str | None) -> bool:
    """Whether block times depend on the seed."""
    return True


def _number(title: str) -> float:
    """Number of the figure; sections without one come after Fig. 12."""
    return float(title.split()[1].rstrip(":")) if title.startswith("Fig.") else 12.5
