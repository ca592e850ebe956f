# SPDX-License-Identifier: Apache-2.0
"""Reproductions of papers' experiments: one module per paper, each with ``reproduce() -> Reproduction``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gpushare._core import InvalidInput
from gpushare.checks import did_you_mean
from gpushare.reproduce.reproduction import Reproduction

PAPERS = {
    "srtf": "Pai, Govindarajan, Thazhuthaveetil: Preemptive Thread Block Scheduling (2014)",
    "effisha": "Chen, Zhao, Shen, Zhou: EffiSha: Efficient Preemptive Scheduling of GPU (2017)",
    "cumas": "Belviranli, Khorasani, Bhuyan, Gupta: CuMAS, Data Transfer Aware Multi-Application Scheduling (2016)",
    "slate": "Allen, Feng, Ge: Slate, Workload-Aware Efficient Multiprocessing for Modern GPGPUs (2019)",
    "cd-search": "Zhao, Wang, Eeckhout: Classification-Driven Search for Effective SM Partitioning (2018)",
}
"""Papers by their names on the command line."""


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
        seeds: number of seeds of the variation between blocks, on a GPU number of repeats. By default as on the paper's
            page, and one if ``quick``.
        quick: leave out the sensitivity analysis.
        progress: as in :func:`gpushare.compare`.
        device: a device to use instead of the paper's, for the papers in :data:`ELSEWHERE`.

    Raises:
        InvalidInput: there is no such paper, it supports only the paper's device, or seeds are given where nothing
            varies.
    """
    if paper not in PAPERS:
        raise InvalidInput(f"no paper {paper!r}; known: {', '.join(PAPERS)}{did_you_mean(paper, PAPERS)}")
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
            f"nothing varies from seed to seed in the reproduction of {paper!r} on {device or 'its device'}: "
            "leave seeds out"
        )
    return module.reproduce(quick=quick, progress=progress, **given)
