# SPDX-License-Identifier: Apache-2.0
"""What is run for CuMAS's figures: permutations of the paper's applications, under orderings."""

from __future__ import annotations

import random
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import Launch
from gpushare.model.workload import Application, Workload, bundled_workload

PAPER: dict[str, Any] = tomllib.loads(Path(__file__).with_name("paper.toml").read_text(encoding="utf-8"))

SETS = "ABCDE"
PER_SET = 5
"""Section 6.1: 25 permutations of the applications in five sets."""

NS_PER_BYTE, LATENCY_NS = 0.2, 7200
"""Of copies on the K40c (Fig. 11)."""


def permutations(per_set: int, alone_s: float | None = None) -> list[Workload]:
    """The applications in random orders, named A1, A2, ... B1, ...

    Args:
        per_set: how many in each of the five sets.
        alone_s: how long each application takes alone, in seconds; as in the workload file if left out.
    """
    workload = bundled_workload("cumas")
    applications = [_lasting(each, alone_s) for each in workload.applications]
    shuffler = random.Random(2016)
    found = []
    for name in SETS:
        for number in range(1, per_set + 1):
            order = tuple(shuffler.sample(applications, len(applications)))
            found.append(replace(workload, name=f"{name}{number}", applications=order))
    return found


def _lasting(application: Application, alone_s: float | None) -> Application:
    """The application with its kernels longer or shorter, so that alone it takes so long; it takes 0.5 s."""
    if alone_s is None:
        return application
    kernels = [each for each in application.operations if isinstance(each, Launch)]
    factor = 1 + (alone_s - 0.5) * 1e9 / sum(latency_of(each) for each in kernels)
    longer = {
        each: replace(each, kernel=replace(each.kernel, latency_ns=latency_of(each) * factor)) for each in set(kernels)
    }
    operations = tuple(longer[each] if isinstance(each, Launch) else each for each in application.operations)
    return replace(application, operations=operations)


def latency_of(launch: Launch) -> float:
    """How long a launch of the workload takes: one block per SM, which has it to itself."""
    kernel = launch.kernel
    assert isinstance(kernel, KernelModel)
    assert kernel.latency_ns is not None
    return kernel.latency_ns


def policy_of(ordering: str, options: str = "", sharing: str = "fifo") -> str:
    """Table 1 counts as one task what follows one another to the host."""
    return f"{ordering}:to_host=together{options}+{sharing}"


STRINGS = policy_of("strings")
