# SPDX-License-Identifier: Apache-2.0
"""A reproduction as text, Markdown and JSON; how good the figures are is for docs/papers/srtf.md to say."""

import pandas as pd
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.reproduce import reproduce
from gpushare.reproduce.reproduction import Reproduction, Section, markdown_table
from gpushare.reproduce.srtf.claims import CLAIMS, claims_section
from gpushare.reproduce.srtf.predictors import on_kepler, runs_alone

K20 = gs.device("sim:k20")


@pytest.fixture
def reproduction():
    table = pd.DataFrame({"stp paper": [1.5, float("nan")], "stp deviation": [0.031, float("nan")]}, ["srtf", "even"])
    return Reproduction("A paper", (Section("Table 5", table, "A note."),))


def test_markdown_has_tables_and_notes(reproduction):
    assert reproduction.to_markdown() == (
        "# A paper\n\n## Table 5\n\n"
        "|  | stp paper | stp deviation |\n|---|---:|---:|\n| srtf | 1.50 | +3.1% |\n| even |  |  |\n\nA note.\n"
    )


def test_markdown_of_a_table_with_two_indices():
    table = pd.DataFrame({"group": ["a"], "model": ["b|c"], "median": ["1.00"]}).set_index(["group", "model"])
    assert markdown_table(table) == "| group | model | median |\n|---|---|---:|\n| a | b\\|c | 1.00 |"


def test_claims_are_counted_over_the_pairs():
    pairs = [pair for pair in gs.bundled_workload("ercbench").pairs(36) if "JPEG-d" in pair.name]
    section = claims_section([gs.compare(pairs, device="sim:gtx480")])
    assert list(section.table.index) == [claim.words for claim in CLAIMS]
    ours = section.table["ours"].astype(float)
    assert ours["worst ANTT under fifo"] > 400
    assert 0 <= ours["pairs where srtf-adaptive enters sharing mode"] <= len(pairs)


def test_claims_tell_how_far_seeds_differ():
    pairs = [
        pair
        for pair in gs.bundled_workload("ercbench").pairs(36)
        if pair.name.endswith("1+JPEG-d") or pair.name == "RayTracing+JPEG-d"
    ]
    results = [gs.compare(pairs, device="sim:gtx480", seed=seed) for seed in range(2)]
    table = claims_section(results).table.loc["RayTracing+JPEG-d, fifo: slowdown of JPEG-d"].drop("paper").astype(float)
    assert table["least"] <= table["ours"] <= table["most"]
    assert table["least"] < table["most"]


@pytest.mark.parametrize("paper", ["cumas", "slate"])
def test_seeds_are_refused_where_nothing_varies(paper):
    with raises_naming(gs.InvalidInput, paper):
        reproduce(paper, seeds=2)


@pytest.fixture(scope="module")
def srtf():
    """Our figures by section's title: one seed of the whole evaluation."""
    found = reproduce("srtf", seeds=1, quick=True)
    return {section.title: section.table for section in found.sections}


def table_starting(srtf, title):
    return next(table for name, table in srtf.items() if name.startswith(title))


def deviations(table, policy):
    """Of STP, ANTT and StrictF, less what the paper's rounding to two decimals may account for."""
    row = table.loc[policy].astype(float)
    metrics = ("stp", "antt", "strictf")
    return [max(0, abs(row[each] - row[f"{each} paper"]) - 0.005) / row[f"{each} paper"] for each in metrics]


def test_bounds_follow_from_table_3(srtf):
    table_5 = table_starting(srtf, "Table 5")
    assert table_5.loc["sjf", ["stp", "antt", "strictf"]].astype(float).tolist() == pytest.approx(
        [1.816, 1.129, 0.805], abs=0.005
    )
    assert float(table_5.at["ljf", "stp"]) == pytest.approx(1.163, abs=0.005)
    assert float(table_starting(srtf, "Fig. 1").at["fifo", "from Table 3"]) == pytest.approx(1.59, abs=0.005)


@pytest.mark.parametrize(
    ("table", "policy", "most"),
    [
        ("Table 5", "srtf", (0.08, 0.08, 0.08)),
        ("Table 5", "srtf-adaptive", (0.08, 0.15, 0.12)),
        ("Table 6: second arrival at 25%", "fifo", (0.05, 0.07, 0.10)),
        ("Table 6: second arrival at 50%", "fifo", (0.05, 0.07, 0.10)),
    ],
)
def test_geomeans_are_near_the_papers(srtf, table, policy, most):
    assert all(
        found <= limit for found, limit in zip(deviations(table_starting(srtf, table), policy), most, strict=True)
    )


def test_policies_rank_in_throughput_as_in_the_paper(srtf):
    stp = table_starting(srtf, "Table 5")["stp"].astype(float)
    order = ["sjf", "srtf-zero-sampling", "srtf", "srtf-adaptive"]
    assert stp[order].is_monotonic_decreasing
    assert stp["srtf-adaptive"] > stp[["fifo", "mpmax"]].max()
    assert stp[["fifo", "mpmax"]].min() > stp["ljf"]
    assert stp["srtf-zero-sampling"] == pytest.approx(1.64, rel=0.07)


def test_the_worst_turnaround_is_that_of_the_papers_pair(srtf):
    """Section 6.2.3: the maximum values of FIFO, SRTF and SRTF/Adaptive are for SHA1+JPEG-d."""
    ours = table_starting(srtf, "Section 6.2")["ours"].astype(float)
    for policy in ("fifo", "srtf", "srtf-adaptive"):
        assert ours[f"share of seeds in which SHA1+JPEG-d is the worst under {policy}"] == 1, policy
    assert ours["worst ANTT under srtf-adaptive"] == pytest.approx(30.95, rel=0.15)


def test_under_mpmax_the_papers_worst_pair_shares_every_sm(srtf):
    """Section 5.2.2: while SHA1 runs, JPEG-d has one of eight places; the paper's 10.08 is not reproduced."""
    ours = table_starting(srtf, "Section 6.2")["ours"].astype(float)
    assert ours["SHA1+JPEG-d, mpmax: ANTT"] == pytest.approx((1 + 7.2) / 2, rel=0.05)
    assert ours["worst ANTT under mpmax"] < 5


def test_on_kepler_the_kernels_have_the_residencies_of_section_9():
    runs = runs_alone(on_kepler(gs.bundled_workload("ercbench")), K20, 1)
    found = {run.workload.applications[0].name: run.max_residency[0] for run in runs}
    assert found == {**dict.fromkeys(found, 16), "AES-e": 8, "AES-d": 6, "RayTracing": 10, "SHA1": 12}


def test_on_kepler_predictions_stand_beside_those_of_section_9(srtf):
    rows = table_starting(srtf, "Figs. 4, 11 and 18").loc["single-kepler"]
    assert list(rows.loc["regression", ["paper min", "paper max"]]) == [0.95, 1.09]
    assert list(rows.loc["staircase", ["paper min", "paper max"]]) == [0.79, 1.33]
    assert rows.loc["regression", "median"] == pytest.approx(1, rel=0.02)
    assert 0.79 < rows.loc["staircase", "median"] < 1  # the first block to end is a short one
