# SPDX-License-Identifier: Apache-2.0
"""The papers' experiments, run again: one module per paper, each with ``reproduce() -> Reproduction``."""

from __future__ import annotations

from importlib import import_module

from gpushare._core import InvalidInput
from gpushare.reproduce.reproduction import Reproduction

PAPERS = {
    "srtf": "Pai, Govindarajan, Thazhuthaveetil: Preemptive Thread Block Scheduling (2014)",
    "cumas": "Belviranli, Khorasani, Bhuyan, Gupta: CuMAS, Data Transfer Aware Multi-Application Scheduling (2016)",
}
"""Name on the command line -> paper."""


def reproduce(paper: str, *, seeds: int = 6, quick: bool = False, progress: bool | None = None) -> Reproduction:
    """Runs a paper's experiments.

    Args:
        paper: a key of :data:`PAPERS`.
        seeds: how many seeds the variation between blocks is averaged over.
        quick: leave out the sensitivity analysis.
        progress: as in :func:`gpushare.compare`.

    Raises:
        InvalidInput: there is no such paper.
    """
    if paper not in PAPERS:
        raise InvalidInput(f"no paper {paper!r}; known: {', '.join(PAPERS)}")
    if seeds < 1:
        raise InvalidInput(f"seeds must be at least 1, got {seeds}")
    return import_module(f"gpushare.reproduce.{paper}").reproduce(seeds=seeds, quick=quick, progress=progress)
