# SPDX-License-Identifier: Apache-2.0
"""benchmarks/gpu/device_costs.py: what it makes of the times of blocks. tests/py/gpu runs it."""

import numpy as np
import pytest
from benchmark_on_simulator import module_of


@pytest.fixture(scope="module")
def costs():
    return module_of("gpu.device_costs")


def eviction(costs, evicted_ns, resumed_ns):
    return costs.Eviction(launch=0, due_ns=evicted_ns, evicted_ns=evicted_ns, resumed_ns=resumed_ns)


def test_eviction_delays_are_those_around_the_pause(costs):
    begins = np.array([9_000, 1_000, 108_000, 17_000, 100_500])  # blocks end and begin in any order
    assert costs.eviction_delays_ns(begins, eviction(costs, 10_000, 90_000)) == (7_000, 10_500)


def test_longer_gap_elsewhere_is_not_the_pause(costs):
    begins = np.array([0, 500_000, 510_000, 600_000, 608_000])
    assert costs.eviction_delays_ns(begins, eviction(costs, 505_000, 590_000)) == (5_000, 10_000)


@pytest.mark.parametrize("resumed_ns", [-1, 40_000])
def test_launch_that_had_begun_all_its_blocks_gives_no_delays(costs, resumed_ns):
    begins = np.array([0, 8_000, 16_000])
    assert costs.eviction_delays_ns(begins, eviction(costs, 20_000, resumed_ns)) is None
