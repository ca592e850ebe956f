# SPDX-License-Identifier: Apache-2.0
"""Workloads by the names of their files, or of those that come with the package."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from gpushare._core import InvalidInput
from gpushare.model.workload import Workload, bundled_workload, workload_names

AnyWorkload = Workload | str | Path
"""A workload, or what :func:`load` takes for one."""


def load(workload: str | Path) -> Workload:
    """The workload in a TOML file (docs/guide/workloads.md), or the bundled workload of this name.

    Raises:
        InvalidInput: there is neither such a file nor such a name, or the file is not valid; the message says where.

    >>> load("ercbench").device
    'gtx480'
    """
    if isinstance(workload, Path):
        return Workload.from_toml(workload)
    if not isinstance(workload, str):
        raise InvalidInput(f"load: expected the path of a TOML file or a bundled workload's name, got {workload!r}")
    if workload not in workload_names() and (workload.endswith(".toml") or os.path.isfile(workload)):
        return Workload.from_toml(workload)
    return bundled_workload(workload)


def loaded(workload: AnyWorkload) -> Workload:
    """The workload itself, or what :func:`load` finds."""
    if isinstance(workload, Workload):
        return workload
    if isinstance(workload, str | Path):
        return load(workload)
    raise InvalidInput(f"a workload must be a gpushare.Workload, or the path of its file, got {workload!r}")


def all_loaded(workloads: AnyWorkload | Iterable[AnyWorkload]) -> list[Workload]:
    """One workload or several, as a list."""
    if isinstance(workloads, Workload | str | Path):
        return [loaded(workloads)]
    if not isinstance(workloads, Iterable):
        raise InvalidInput(f"workloads must be a list, got {workloads!r}")
    return [loaded(each) for each in workloads]
