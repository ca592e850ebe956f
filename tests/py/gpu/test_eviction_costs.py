# SPDX-License-Identifier: Apache-2.0
"""The part of benchmarks/gpu/device_costs.py that evicts launches."""

import argparse

import pytest
from benchmark_on_simulator import module_of

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]


@pytest.fixture(scope="module")
def costs():
    return module_of("gpu.device_costs")


def test_evictions_give_the_delays_of_both_plans(costs, runner, size, monkeypatch):
    seen = []
    delays_of = costs.eviction_delays_ns

    def watched(begins, eviction):
        seen.append((len(begins), eviction))
        return delays_of(begins, eviction)

    monkeypatch.setattr(costs, "eviction_delays_ns", watched)
    monkeypatch.setattr(costs, "EVICTED_NS", size(costs.EVICTED_NS, 2_000_000))  # launches begin late on the stand-in
    found = costs.Found()
    costs.evictions(runner.device, argparse.Namespace(waves=size(250, 4), repeats=2), found)
    assert len(seen) == 4
    assert all(blocks > 0 and each.launch == 0 for blocks, each in seen)
    rows = {row["key"]: row for row in found.rows if row["key"]}
    assert list(rows) == ["delays.signal_ns", "delays.top_up_ns"]
    assert rows["delays.signal_ns"]["n"] == rows["delays.top_up_ns"]["n"] > 0
    assert found.values["delays"]["top_up_ns"] > 0  # no block begins before the plan that resumes
