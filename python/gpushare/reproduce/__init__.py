# SPDX-License-Identifier: Apache-2.0
"""The papers' experiments, run again: one module per paper, each with ``reproduce() -> Reproduction``."""

from __future__ import annotations

from importlib import import_module

from gpushare._core import InvalidInput
from gpushare.reproduce.reproduction import Reproduction

PAPERS = {
    "srtf": "Pai, Govindarajan, Thazhuthaveetil: Preemptive Thread Block Scheduling (2014)",
    "effisha": "Chen, Zhao, Shen, Zhou: EffiSha: Efficient Preemptive Scheduling of GPU (2017)",
    "cumas": "Belviranli, Khorasani, Bhuyan, Gupta: CuMAS, Data Transfer Aware Multi-Application Scheduling (2016)",
    "slate": "Allen, Feng, Ge: Slate, Workload-Aware Efficient Multiprocessing for Modern GPGPUs (2019)",
    "cd-search": "Zhao, Wang, Eeckhout: Classification-Driven Search for Effective SM Partitioning (2018)",
}
"""Name on the command line -> paper."""


ELSEWHERE = ("slate", "cd-search", "effisha", "cumas")
"""Papers whose experiments also run on other devices than theirs, a GPU among them."""


def reproduce(
    paper: str, *, seeds: int = 6, quick: bool = False, progress: bool | None = None, device: str | None = None
) -> Reproduction:
    """Runs a paper's experiments.

    Args:
        paper: a key of :data:`PAPERS`.
        seeds: how many seeds the variation between blocks is averaged over.
        quick: leave out the sensitivity analysis.
        progress: as in :func:`gpushare.compare`.
        device: another one than the paper's, for the papers in :data:`ELSEWHERE`.

    Raises:
        InvalidInput: there is no such paper, or it has its own device only.
    """
    if paper not in PAPERS:
        raise InvalidInput(f"no paper {paper!r}; known: {', '.join(PAPERS)}")
    if seeds < 1:
        raise InvalidInput(f"seeds must be at least 1, got {seeds}")
    if device is not None and paper not in ELSEWHERE:
        raise InvalidInput(f"{paper!r} is reproduced on the paper's device only; elsewhere: {', '.join(ELSEWHERE)}")
    where = {} if device is None else {"device": device}
    module = import_module(f"gpushare.reproduce.{paper.replace('-', '_')}")
    return module.reproduce(seeds=seeds, quick=quick, progress=progress, **where)
