# SPDX-License-Identifier: Apache-2.0
"""The papers' experiments, run again: one module per paper, each with ``reproduce() -> Reproduction``."""

from __future__ import annotations

from importlib import import_module

from gpushare._core import InvalidInput
from gpushare.reproduce.reproduction import Reproduction

PAPERS = {
    "srtf": "Pai, Govindarajan, Thazhuthaveetil: Preemptive Thread Block Scheduling (2014)",
    "slate": "Allen, Feng, Ge: Slate, Workload-Aware Efficient Multiprocessing for Modern GPGPUs",
}
"""Name on the command line -> paper."""

ON_OTHER_DEVICES = {"slate"}
"""Papers whose experiments can be run elsewhere than on the paper's own GPU, simulated."""


def reproduce(
    paper: str, *, seeds: int = 6, quick: bool = False, progress: bool | None = None, device: str | None = None
) -> Reproduction:
    """Runs a paper's experiments.

    Args:
        paper: a key of :data:`PAPERS`.
        seeds: how many seeds the variation between blocks is averaged over.
        quick: leave out the sensitivity analysis.
        progress: as in :func:`gpushare.compare`.
        device: where, if not on the paper's own GPU, simulated; ``"cuda:0"`` runs the suite's kernels.

    Raises:
        InvalidInput: there is no such paper, or its experiments need its own GPU.
    """
    if paper not in PAPERS:
        raise InvalidInput(f"no paper {paper!r}; known: {', '.join(PAPERS)}")
    if seeds < 1:
        raise InvalidInput(f"seeds must be at least 1, got {seeds}")
    if device is not None and paper not in ON_OTHER_DEVICES:
        raise InvalidInput(f"{paper} is reproduced on the paper's own GPU, simulated; leave out the device {device!r}")
    where = {} if device is None else {"device": device}
    return import_module(f"gpushare.reproduce.{paper}").reproduce(seeds=seeds, quick=quick, progress=progress, **where)
