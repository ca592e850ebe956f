# SPDX-License-Identifier: Apache-2.0
"""Results: medians over repeats, geometric means over workloads, and finding one run."""

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs


@pytest.fixture
def result():
    return gs.compare(gs.bundled_workload("ercbench").pairs(36)[:4], ["fifo", "srtf"], repeats=3)


def test_per_workload_is_the_median_over_the_repeats(result):
    table, runs = result.per_workload(), result.runs_table()
    assert list(table.index.names) == ["workload", "policy"]
    assert len(table) == 8
    for (workload, policy), row in table.iterrows():
        stp = runs[(runs["workload"] == workload) & (runs["policy"] == policy)]["stp"]
        assert len(stp) == 3
        assert row["stp"] == stp.median()
        assert row["stp_spread"] == stp.max() - stp.min()


def test_metrics_are_geometric_means_of_ratios_and_means_of_the_rest(result):
    table = result.per_workload().xs("srtf", level="policy")
    metrics = result.metrics().loc["srtf"]
    for ratio in ("stp", "antt", "strictf"):
        assert metrics[ratio] == pytest.approx(np.prod(table[ratio]) ** (1 / 4))
    assert metrics["makespan_ns"] == pytest.approx(table["makespan_ns"].mean())


def test_order_is_that_of_the_call():
    pairs = gs.bundled_workload("ercbench").pairs()[2:0:-1]
    result = gs.compare(pairs, ["srtf", "even", "fifo"])
    assert result.policies == list(result.metrics().index) == ["srtf", "even", "fifo"]
    assert result.workloads == [pair.name for pair in pairs]


def test_to_pandas_is_tidy(result):
    table = result.to_pandas()
    assert len(table) == 4 * 2 * 3 * 2
    assert not table.duplicated(["workload", "policy", "seed", "application"]).any()
    first = result.run("fifo", repeat=1).applications()
    chosen = table[(table["workload"] == result.workloads[0]) & (table["policy"] == "fifo") & (table["seed"] == 1)]
    assert list(chosen["end_ns"]) == list(first["end_ns"])


def test_run_finds_one_run(result):
    assert result.run() is result.runs[0]
    found = result.run("srtf", result.workloads[2], repeat=2)
    assert (found.policy, found.workload.name, found.seed) == ("srtf", result.workloads[2], 2)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"policy": "mpmax"}, ("mpmax", "fifo", "AES-d")),
        ({"workload": "nothing"}, "nothing"),
        ({"repeat": 3}, 3),
        ({"repeat": -1}, -1),
    ],
)
def test_run_lists_what_there_is(result, arguments, named):
    with raises_naming(gs.InvalidInput, named):
        result.run(**arguments)
