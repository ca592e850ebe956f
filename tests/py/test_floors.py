# SPDX-License-Identifier: Apache-2.0
"""Applications that ask for a share of their speed alone, or for launches that end in time: on the H100 model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import gpushare as gs


def application(name: str, kernel: str, launches: int, **asked: Any) -> gs.Application:
    return gs.Application(name, launches * (gs.Launch.of_suite(kernel),), **asked)


def company(asking: gs.Application, other: str, launches: int) -> gs.Workload:
    """The other one is there throughout."""
    return gs.Workload("company", (asking, application("other", other, launches)))


def speed(workload: gs.Workload, policy: str) -> float:
    """Of the first, as a share of that alone."""
    return 1 / gs.run(workload, policy, device="sim:h100", record=False).ntt()[0]


@pytest.mark.parametrize("policy", ["mix", "mix:caution=no", "auto", "auto:floor=0.1"])
@pytest.mark.parametrize(("kernel", "other", "launches", "others"), [("nbody", "matrix_product", 40, 100)])
def test_an_application_keeps_its_floor(policy: str, kernel: str, other: str, launches: int, others: int) -> None:
    asking = application("asking", kernel, launches, floor=0.7)
    assert speed(company(replace(asking, floor=None), other, others), policy) < 0.65
    assert speed(company(asking, other, others), policy) >= 0.7
