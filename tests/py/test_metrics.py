# SPDX-License-Identifier: Apache-2.0
"""What must hold for STP, ANTT and StrictF whatever the slowdowns are."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gpushare as gs
from gpushare import _core

SLOWDOWN = st.floats(0.01, 1e6)
SLOWDOWNS = st.lists(SLOWDOWN, min_size=1, max_size=20)


def near(value):
    return pytest.approx(value, rel=1e-9)


@given(SLOWDOWNS)
def test_definitions(ntt):
    assert _core.system_throughput(ntt) == near(math.fsum(1 / value for value in ntt))
    assert _core.average_normalized_turnaround(ntt) == near(math.fsum(ntt) / len(ntt))
    assert _core.strict_fairness(ntt) == near(min(ntt) / max(ntt))


@given(SLOWDOWNS, st.randoms(use_true_random=False))
def test_order_does_not_matter(ntt, random):
    shuffled = random.sample(ntt, len(ntt))
    for metric in (_core.system_throughput, _core.average_normalized_turnaround, _core.strict_fairness):
        assert metric(shuffled) == near(metric(ntt))


@given(SLOWDOWNS)
def test_bounds(ntt):
    assert 0 < _core.strict_fairness(ntt) <= 1
    assert min(ntt) * (1 - 1e-9) <= _core.average_normalized_turnaround(ntt) <= max(ntt) * (1 + 1e-9)
    # Arithmetic mean >= harmonic mean.
    assert _core.average_normalized_turnaround(ntt) >= len(ntt) / _core.system_throughput(ntt) * (1 - 1e-9)
    if min(ntt) >= 1:
        assert _core.system_throughput(ntt) <= len(ntt)


@given(SLOWDOWN, st.integers(1, 20))
def test_equal_slowdowns_are_fair(slowdown, count):
    ntt = [slowdown] * count
    assert _core.strict_fairness(ntt) == 1
    assert _core.average_normalized_turnaround(ntt) == near(slowdown)
    assert _core.system_throughput(ntt) == near(count / slowdown)


@given(SLOWDOWNS, st.integers(0, 19), st.floats(1.01, 100))
def test_slowing_one_down_is_never_better(ntt, victim, factor):
    assume(victim < len(ntt))
    slower = [value * factor if number == victim else value for number, value in enumerate(ntt)]
    assert _core.system_throughput(slower) <= _core.system_throughput(ntt)
    assert _core.average_normalized_turnaround(slower) >= _core.average_normalized_turnaround(ntt)
    if ntt[victim] == max(ntt):
        assert _core.strict_fairness(slower) <= _core.strict_fairness(ntt)


@given(SLOWDOWNS, st.floats(0.1, 10))
def test_a_faster_clock_for_all_changes_no_fairness(ntt, factor):
    assert _core.strict_fairness([value * factor for value in ntt]) == near(_core.strict_fairness(ntt))


@given(st.lists(st.integers(0, 10**15), min_size=1, max_size=30), st.floats(0, 1))
def test_percentiles_are_numpys(values, ratio):
    import numpy as np

    assert _core.percentile(values, ratio) == pytest.approx(np.percentile(values, 100 * ratio), rel=1e-9, abs=1e-3)


@given(st.integers(1, 10**12), st.integers(1, 10**12))
def test_normalized_turnaround_is_a_ratio(shared_ns, alone_ns):
    assert _core.normalized_turnaround(shared_ns, alone_ns) == near(shared_ns / alone_ns)


@pytest.mark.parametrize("ntt", [[], [0.0], [-1.0], [math.nan], [math.inf], [1.0, 0.0]], ids=repr)
def test_slowdowns_that_cannot_be(ntt):
    for metric in (_core.system_throughput, _core.average_normalized_turnaround, _core.strict_fairness):
        with pytest.raises(gs.InvalidInput):
            metric(ntt)


def test_other_arguments_that_cannot_be():
    with pytest.raises(gs.InvalidInput):
        _core.normalized_turnaround(1, 0)
    for values, ratio in ([], 0.5), ([1], -0.1), ([1], 1.1), ([1], math.nan):
        with pytest.raises(gs.InvalidInput):
            _core.percentile(values, ratio)
