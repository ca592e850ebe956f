# SPDX-License-Identifier: Apache-2.0
"""benchmarks/mix on a simulated device, small: its tables are whole, and the figures can be."""

from types import SimpleNamespace

import pytest
from benchmark_on_simulator import tables_of
from benchmarks.mix.search_time import Search
from benchmarks.mix.sweep import best_of

SHARE_AN_SM, KEEP_APART = "reduction+lud", "hotspot+binomial_options"


def measured(folder, part, *options):
    return tables_of(folder, part, "--length-ms", "0.2", *options, package="benchmarks.mix")


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    options = ["--sweep-pairs", f"{SHARE_AN_SM},{KEEP_APART}", "--split-parts", "3"]
    return measured(tmp_path_factory.mktemp("benchmark"), "sweep", *options)


def test_the_best_of_a_sweep_is_among_what_was_swept(sweep):
    sharing, apart = sweep[0]["rows"]
    assert sharing["vectors"] > 0
    assert sharing["best vector"]
    assert apart["vectors"] == 0
    assert apart["best vector"] == ""
    for row in (sharing, apart):
        best = max(row["STP of best split"], row["STP of best vector"] or 0)
        assert row["mix / best of all"] == pytest.approx(row["mix"] / best)


def test_a_line_for_each_policy_says_how_often_it_is_near_the_best(sweep):
    by_pair, in_short, _, _ = sweep
    assert [(row["policy"], row["pairs"]) for row in in_short["rows"]] == [("mix", 2), ("mix:equal_start=no", 2)]
    for row in in_short["rows"]:
        shares = [each[f"{row['policy']} / best of all"] for each in by_pair["rows"]]
        assert row["least"] == min(shares)
        assert row["within 3 %"] == sum(share >= 0.97 for share in shares)


def test_every_way_is_kept_with_all_its_repeats(sweep):
    by_pair, _, settled, every = sweep
    for row in by_pair["rows"]:
        ways = {each["way"]: each["STP"] for each in every["rows"] if each["pair"] == row["pair"]}
        assert len(ways) == row["vectors"] + 2 + 2, "splits into thirds, and two policies"
        assert ways["mix"] == [row["mix"]]
    assert [row["pairs"] for row in settled["rows"]] == [2, 2]


def traced(*decisions, ends):
    """A run of two applications with two launches each, as much of it as searches are read from."""
    arrivals = {"operation": [0, 1, 2, 3], "application": [0, 0, 1, 1]}
    trace = SimpleNamespace(launch_arrivals=lambda: arrivals, decisions=lambda: list(decisions))
    workload = SimpleNamespace(applications=[None, None])
    return SimpleNamespace(trace=trace, workload=workload, record=SimpleNamespace(ends=ends))


def test_a_search_is_over_once_it_has_found_what_it_stays_with():
    ms = 1_000_000
    run = traced(
        (0, 0, 0, 8),
        (2, 0, 0, 4), (2, 1, 2, 4),
        (10 * ms, 0, 0, 6), (10 * ms, 1, 2, 2),
        (20 * ms, 0, 0, 4), (20 * ms, 1, 2, 4),
        (30 * ms, 0, 1, 5), (30 * ms, 1, 2, 3),
        (35 * ms, 0, 1, 8),  # the other's place, while nobody stood there
        (35 * ms + 50, 0, 1, 5), (35 * ms + 50, 1, 3, 3),
        (40 * ms, 0, 1, 2), (40 * ms, 1, 3, 6),
        (45 * ms, 0, 1, 5), (45 * ms, 1, 3, 3),
        (60 * ms, 0, 1, 8),
        ends=[70 * ms, 60 * ms],
    )  # fmt: skip
    assert Search.of(run) == Search(divisions=4, found_ns=30 * ms, over_ns=45 * ms)


def test_without_a_division_that_lasted_there_was_no_search():
    assert Search.of(traced((0, 0, 0, 4), (0, 1, 2, 4), ends=[300_000, 400_000])) is None


def test_the_best_is_not_valued_by_the_runs_it_was_chosen_for():
    lucky_once = {"lucky": [1.5, 1.0, 1.5, 1.0], "good": [1.2, 1.2, 1.2, 1.2]}
    assert best_of(lucky_once) == ("lucky", 1.0)
    assert best_of({}) == ("", 0.0)


def test_pairs_and_threes_are_measured_under_every_policy(tmp_path):
    options = ["--kernels", "triad,nbody,fft", "--sizes", "2,3", "--sets", "1", "--policies", "fifo,even,auto"]
    tables = measured(tmp_path, "sets", *options)
    by_title = {table["title"]: table["rows"] for table in tables}
    assert [len(by_title[f"{words}: STP of each"]) for words in ("pairs", "sets of 3")] == [3, 1]
    for row in by_title["pairs: all"]:
        assert 0 < row["least"] <= row["STP, geomean"]


def test_urgent_launches_are_no_faster_than_alone(tmp_path):
    options = ["--urgent", "5", "--short", "reduction", "--long", "triad"]
    (table,) = measured(tmp_path, "urgent", *options)
    assert {row["policy"] for row in table["rows"]} >= {"fifo", "srtf", "auto"}
    for row in table["rows"]:
        assert row["p50"] >= 0.99
        assert 0 < row["throughput kept"] <= 1.01


def test_a_min_speed_is_measured_against_none(tmp_path):
    options = [
        "--min-speed-kernels",
        "triad,nbody",
        "--min-speeds",
        "0,0.6",
        "--min-speed-policies",
        "mix",
        "--min-speed-pairs",
        "1",
    ]
    (table,) = measured(tmp_path, "min_speeds", *options)
    without, with_min_speed = table["rows"]
    assert (without["min_speed"], with_min_speed["min_speed"]) == (0, 0.6)
    assert with_min_speed["/ without a min_speed"] == pytest.approx(with_min_speed["STP"] / without["STP"])
    assert with_min_speed["kept, 0.97 of it"] == with_min_speed["pairs"] == 1
    assert 0 < with_min_speed["least of the other's"] < 1


def test_launches_with_a_latency_bound_are_counted_where_they_end_in_time(tmp_path):
    options = ["--asking", "reduction", "--beside", "triad", "--bounded", "5", "--pauses-us", "0"]
    (table,) = measured(tmp_path, "latency", *options)
    unbounded, wide, *_ = table["rows"]
    assert (unbounded["bound"], unbounded["in time"]) == (None, None)
    assert wide["bound"] == 1.75
    for row in table["rows"][1:]:
        assert 0 <= row["in time"] <= row["launches"] == 5
        assert (row["in time"] == 5) == (row["longest"] <= row["bound"])
    assert 0 < unbounded["speed of the other"] < 1
