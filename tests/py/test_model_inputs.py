# SPDX-License-Identifier: Apache-2.0
"""Fits and model functions refuse numbers that no measurement gives: negative, infinite, and NaN."""

import math

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core

GTX480 = gs.device("gtx480")
KERNEL = gs.KernelModel("k", threads=64, latency_ns=1000).on(GTX480)
NO_MEASUREMENTS = [-1.0, math.nan, math.inf, -math.inf]
COUNTERS = {"most_ipc": 4.0, "apki": 10.0, "line_bytes": 32.0, "clock_hz": 1e9}
CURVE = {"sms": [1, 2], "residency": [1, 1], "blocks_per_ns": [0.1, 0.2], "weights": [1.0, 1.0]}
TRAFFIC = {"cache_bytes": 1.0, "dram_bytes": 1.0, "memory_ns": 1.0}


@pytest.mark.parametrize("value", NO_MEASUREMENTS)
def test_counters_out_of_range_are_refused(value):
    for name in COUNTERS:
        with raises_naming(gs.InvalidInput, name):
            _core.off_sm_demand_by_counters(**{**COUNTERS, name: value})


@pytest.mark.parametrize("value", [*NO_MEASUREMENTS, 1.5])
def test_ratios_out_of_range_are_refused(value):
    for name, call in {
        "llc_hit_ratio": lambda: _core.off_sm_supply(GTX480, value),
        "dram_efficiency": lambda: _core.off_sm_supply(GTX480, 0.5, value),
        "share": lambda: _core.saturating_sms(GTX480, KERNEL, value),
    }.items():
        with raises_naming(gs.InvalidInput, name):
            call()


@pytest.mark.parametrize("value", NO_MEASUREMENTS)
def test_fits_of_what_cannot_be_measured_are_refused(value):
    with pytest.raises(gs.InvalidInput):
        _core.fit_transfer([1.0, 2.0], [10.0, value])
    with pytest.raises(gs.InvalidInput):
        _core.fit_transfer([1.0, value], [10.0, 20.0])
    for name in ("blocks_per_ns", "weights"):
        with pytest.raises(gs.InvalidInput):
            _core.fit_kernel(**{**CURVE, name: [0.1, value]}, **TRAFFIC, device=GTX480)
    for name in TRAFFIC:
        with raises_naming(gs.InvalidInput, 0):
            _core.fit_kernel(**CURVE, **{**TRAFFIC, name: value}, device=GTX480)


def test_counts_out_of_range_are_refused():
    for call, named in [
        (lambda: _core.rate_on_sms(GTX480, KERNEL, -1), ("sms", "0..15", -1)),
        (lambda: _core.rate_on_sms(GTX480, KERNEL, 16), ("sms", "0..15", 16)),
        (lambda: _core.partition_rates(GTX480, [KERNEL, KERNEL], [-1, 2]), (0, -1)),
        (lambda: _core.partition_rates(GTX480, [KERNEL, KERNEL], [8, 8]), (16, 15)),
        (lambda: _core.KernelTime().add(0, 1), ("blocks", 1, 0)),
        (lambda: _core.KernelTime().add(1, -1), ("time_ns", 0, -1)),
        (lambda: _core.KernelTime().of(-1), ("blocks", 1, -1)),
        (lambda: _core.staircase_runtime(2**62, 1, 4), (2, 63)),
        (lambda: _core.linear_regression_runtime([1, -2], 3), (0, -2)),
        (lambda: _core.linear_regression_runtime([1, 2**62], 2**62), (2, 63)),
        (lambda: _core.normalized_turnaround(-1, 1), "turnaround"),
        (lambda: _core.percentile([1.0, math.nan], 0.5), ()),
    ]:
        with raises_naming(gs.InvalidInput, named):
            call()
