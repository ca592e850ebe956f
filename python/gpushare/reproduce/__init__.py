# SPDX-License-Identifier: Apache-2.0
"""The papers' experiments, run again: one module per paper, each with ``reproduce() -> Reproduction``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

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


ELSEWHERE = ("cd-search", "effisha")
"""Papers whose experiments also run on other devices than theirs, a GPU among them."""


def reproduce(
    paper: str,
    *,
    seeds: int | None = None,
    quick: bool = False,
    progress: bool | None = None,
    device: str | None = None,
) -> Reproduction:
    """Runs a paper's experiments.

    Args:
        paper: a key of :data:`PAPERS`.
        seeds: how many seeds the variation between blocks is averaged over, on a GPU how many repeats. As many as the
            paper's page has if left out, and one where it is ``quick``.
        quick: leave out the sensitivity analysis.
        progress: as in :func:`gpushare.compare`.
        device: another one than the paper's, for the papers in :data:`ELSEWHERE`.

    Raises:
        InvalidInput: there is no such paper, it has its own device only, or seeds are given where nothing varies.
    """
    if paper not in PAPERS:
        raise InvalidInput(f"no paper {paper!r}; known: {', '.join(PAPERS)}")
    if seeds is not None and seeds < 1:
        raise InvalidInput(f"seeds must be at least 1, got {seeds}")
    if device is not None and paper not in ELSEWHERE:
        raise InvalidInput(f"{paper!r} is reproduced on the paper's device only; elsewhere: {', '.join(ELSEWHERE)}")
    given: dict[str, Any] = {} if device is None else {"device": device}
    if seeds is not None or quick:
        given["seeds"] = 1 if seeds is None else seeds
    module = import_module(f"gpushare.reproduce.{paper.replace('-', '_')}")
    if seeds is not None and not module.varies(device):
        raise InvalidInput(
            f"nothing varies from seed to seed in the reproduction of {paper!r} on {device or 'its own device'}: "
            "leave seeds out"
        )
    return module.reproduce(quick=quick, progress=progress, **given)
