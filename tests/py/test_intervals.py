# SPDX-License-Identifier: Apache-2.0
"""Confidence intervals over repeats, ratios to a baseline, and results put together."""

import math
from dataclasses import replace

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core
from gpushare.results.intervals import student_quantile
from gpushare.results.pickling import FIGURES

TABLE = {1: 12.7062, 2: 4.3027, 3: 3.1824, 5: 2.5706, 10: 2.2281, 30: 2.0423, 120: 1.9799, 10_000: 1.9602}
"""Of Student's distribution, two-sided, 95 %, as in any statistics book."""


PAIRS = gs.bundled_workload("ercbench").pairs()[:2]


@pytest.fixture(scope="module")
def result():
    return gs.compare(PAIRS, ["srtf", "mpmax"], repeats=5, baseline="fifo")


@pytest.mark.parametrize(("degrees", "quantile"), TABLE.items())
def test_students_quantiles(degrees, quantile):
    assert student_quantile(degrees) == pytest.approx(quantile, abs=1e-4)


def test_the_baseline_runs_first_unless_it_is_there(result, pair):
    assert result.policies == ["fifo", "srtf", "mpmax"]
    assert gs.compare(pair, ["srtf", "fifo"], baseline="fifo").policies == ["srtf", "fifo"]


def test_an_interval_is_that_of_the_repeats(result):
    table = result.runs_table()
    of_policy = table[table["policy"] == "srtf"]
    logs = [np.log(each["antt"]).mean() for _, each in of_policy.groupby("seed")]
    half = 2.7764 * np.std(logs, ddof=1) / math.sqrt(5)
    row = result.intervals().loc["srtf"]
    assert row["repeats"] == 5
    assert row["antt"] == pytest.approx(math.exp(np.mean(logs)))
    assert row["antt_low"] == pytest.approx(math.exp(np.mean(logs) - half))
    assert row["antt_high"] == pytest.approx(math.exp(np.mean(logs) + half))


def test_ninety_five_of_a_hundred_intervals_hold_the_mean(pair):
    """Runs with drawn makespans, so that the true mean is known."""
    run, draws = gs.run(pair, "fifo", record=False), np.random.default_rng(7)
    makespans = np.exp(draws.normal(10, 0.1, (400, 4))).round().astype(int)
    runs = [
        replace(run, policy=f"policy {row}", seed=seed, record=lasting(run, int(makespans[row, seed])))
        for row, seed in np.ndindex(makespans.shape)
    ]
    table = gs.Result(runs).intervals()
    held = (table["makespan_ns_low"] <= math.exp(10)) & (math.exp(10) <= table["makespan_ns_high"])
    assert 0.92 <= held.mean() <= 0.98


def lasting(run, makespan):
    return _core.RunRecord(**{**{name: getattr(run.record, name) for name in FIGURES}, "makespan": makespan})


def test_one_repeat_has_no_interval(pair):
    row = gs.compare(pair, ["fifo"]).intervals().loc["fifo"]
    assert row["stp"] > 0
    assert math.isnan(row["stp_low"])
    assert math.isnan(row["stp_high"])


def test_ratios_are_of_the_same_workload_and_repeat(result):
    relative = result.relative()
    assert (relative.loc["fifo", ["stp", "stp_low", "stp_high"]] == 1).all()
    table = result.runs_table().pivot(index=["workload", "seed"], columns="policy", values="antt")
    assert relative.loc["srtf", "antt"] == pytest.approx(np.exp(np.log(table["srtf"] / table["fifo"]).mean()))
    assert result.relative("srtf").loc["fifo", "antt"] == pytest.approx(1 / relative.loc["srtf", "antt"])


def test_ratios_leave_out_what_has_no_partner(result):
    runs = [run for run in result.runs if run.policy != "fifo" or run.seed < 3]
    assert list(gs.Result(runs).relative("fifo")["repeats"]) == [3, 3, 3]


def test_a_baseline_that_did_not_run_is_named(result, pair):
    with raises_naming(gs.InvalidInput, "sjf", "fifo", "srtf", "mpmax"):
        result.relative("sjf")
    with raises_naming(gs.InvalidInput, "fifo"):
        gs.compare(pair, ["fifo"]).relative()


def test_a_saved_result_keeps_its_baseline(result, tmp_path):
    assert gs.Result.load(result.save(tmp_path / "result.gpushare")).relative().equals(result.relative())


def test_parts_put_together_are_the_whole(result):
    parts = [gs.compare(each, ["srtf", "mpmax"], repeats=5, baseline="fifo") for each in PAIRS]
    whole = gs.Result.concat(parts)
    assert whole.metrics().equals(result.metrics())
    assert whole.relative().equals(result.relative())
    assert gs.Result.concat([]).runs == []


def test_later_seeds_are_more_repeats(pair):
    whole = gs.Result.concat(gs.compare(pair, ["fifo"], repeats=2, seed=seed) for seed in (0, 2))
    assert whole.runs_table().equals(gs.compare(pair, ["fifo"], repeats=4).runs_table())


def test_repeats_on_a_gpu_are_numbered_on(measured_result):
    whole = gs.Result.concat([measured_result, measured_result])
    first = measured_result.runs[0]
    numbers = [run.seed for run in whole.runs if (run.policy, run.workload) == (first.policy, first.workload)]
    assert numbers == list(range(len(numbers)))


def test_what_cannot_be_put_together_is_named(pair):
    once = gs.compare(pair, ["fifo"])
    with raises_naming(gs.InvalidInput, "fifo", "pair", 0):
        gs.Result.concat([once, once])
    with raises_naming(gs.InvalidInput, "pair"):
        gs.Result.concat([once, gs.compare(pair, ["srtf"], device="k20")])
    later = pair.arriving(**{pair.applications[1].name: 500})
    with raises_naming(gs.InvalidInput, "pair"):
        gs.Result.concat([once, gs.compare(later, ["srtf"])])
    with raises_naming(gs.InvalidInput, "other.gpushare", "Result.load"):
        gs.Result.concat([once, "other.gpushare"])


def test_a_policy_that_failed_in_one_part_is_left_out():
    first = gs.compare(PAIRS[0], ["fifo", "srtf"])
    second = gs.compare(PAIRS[1], ["fifo"])
    whole = gs.Result.concat([first, replace(second, errors={"srtf": "not today"})])
    assert (whole.policies, whole.errors) == (["fifo"], {"srtf": "not today"})
