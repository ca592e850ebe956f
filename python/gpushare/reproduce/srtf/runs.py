# SPDX-License-Identifier: Apache-2.0
"""The pairs of SRTF's evaluation, and the paper's figures."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpushare._core import Device
from gpushare.backends.simulator.simulation import alone_times
from gpushare.model.workload import Workload

PAPER: dict[str, Any] = tomllib.loads(Path(__file__).with_name("paper.toml").read_text(encoding="utf-8"))
STAGGER_CYCLES = 50
"""Section 6.1.3: "arrivals that are staggered by upto 100 cycles"; every pair here by half of that."""


def pairs_at(ercbench: Workload, device: Device, offset_percent: int, seed: int) -> list[Workload]:
    """The ordered pairs, the second application arriving after this part of the first one's runtime alone."""
    stagger_ns = STAGGER_CYCLES / device.clock_hz * 1e9
    pairs = []
    for pair in ercbench.pairs():
        first, second = pair.applications
        runtime_ns, _ = alone_times(first, device, seed)
        arrival_ns = max(stagger_ns, offset_percent / 100 * runtime_ns)
        pairs.append(replace(pair, applications=(first, replace(second, arrival_ns=arrival_ns))))
    return pairs
