# SPDX-License-Identifier: Apache-2.0
"""CD-search's evaluation; the entry point is :func:`reproduce`.

The paper's figures are recomputed on its simulated GPU, with kernels that have its grids and classes, and assumed
traffic (workloads/cd_search.toml). The suite's kernels then show which results hold on an H100.
"""

from __future__ import annotations

from gpushare.device import device as find_device
from gpushare.reproduce.cd_search.classes import paper_section, suite_section
from gpushare.reproduce.cd_search.modes import SimulatedMixes, four_section, modes_section
from gpushare.reproduce.cd_search.runs import Where
from gpushare.reproduce.cd_search.sensitivity import sensitivity_section
from gpushare.reproduce.cd_search.smk import smk_section
from gpushare.reproduce.cd_search.suite import suite_sections
from gpushare.reproduce.reproduction import Reproduction

QUICK_PER_KIND = 4
"""Of the paper's seven memory-bound and seven compute-bound kernels."""


def reproduce(
    *, seeds: int = 1, quick: bool = False, progress: bool | None = None, device: Where = "sim:h100"
) -> Reproduction:
    """Classification, both modes, four applications, sensitivity, SMK, and the suite's kernels on ``device``.

    Args:
        seeds: number of seeds for every mix; on a GPU number of repeats.
        quick: leave out four applications, the sensitivity analysis and SMK, and run a third of the paper's pairs and
            few of the suite's.
        progress: as in :func:`gpushare.compare`.
        device: device for the suite's kernels: a GPU, or ``sim:h100``.
    """
    paper_gpu = find_device("sim:gpgpu-sim-24")
    mixes = SimulatedMixes(paper_gpu, progress, seeds, **({"per_kind": QUICK_PER_KIND} if quick else {}))
    sections = [paper_section(paper_gpu), modes_section(mixes)]
    if not quick:
        sections += [four_section(mixes), sensitivity_section(mixes), smk_section(mixes)]
    sections += [suite_section(), *suite_sections(device, quick=quick, progress=progress, seeds=seeds)]
    title = "CD-search: classification-driven search for SM partitions (Zhao, Wang, Eeckhout 2018)"
    return Reproduction(title, tuple(sections))


def varies(_device: str | None) -> bool:
    """Whether block times depend on the seed."""
    return True
