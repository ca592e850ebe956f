# SPDX-License-Identifier: Apache-2.0
"""benchmarks/gpu/pairs.py on a simulated device, with real processes and a real server; and what it makes of rates."""

import pytest
from benchmark_on_simulator import module_of, tables_of


@pytest.fixture(scope="module")
def pairs():
    return module_of("gpu.pairs")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    options = ["--kernels", "triad,nbody,fft", "--repeats", "1", "--window-ms", "100", "--settle-ms", "50"]
    return tables_of(tmp_path_factory.mktemp("benchmark"), "pairs", *options, "--policies", "auto,fifo")


def test_every_pair_is_measured_under_every_policy(tables):
    summary, by_pair = tables
    assert [(row["way"], row["pairs"]) for row in summary["rows"]] == [("server, auto", 3), ("server, fifo", 3)]
    assert [row["pair"] for row in by_pair["rows"]] == ["triad + nbody", "triad + fft", "nbody + fft"]
    for row in summary["rows"]:
        assert 0 < row["least"] <= row["STP"]["median"]


def test_throughput_and_slowdown_fit_each_other(tables):
    for row in tables[1]["rows"]:
        for way in ("server, auto", "server, fifo"):
            stp, antt = row[way].rstrip(")").split(" (")
            assert float(stp) * float(antt) >= 2 * 0.98  # (a + b) (1/a + 1/b) / 2, of rounded figures


def test_a_server_is_compared_with_the_best_setting_of_each_pair(pairs):
    one, other = ("a", "b"), ("a", "c")
    by_way = {
        "server, auto": {one: pairs.Shares(0.6, 0.6), other: pairs.Shares(0.5, 0.5)},
        "MPS 100/100 %": {one: pairs.Shares(0.5, 0.5), other: pairs.Shares(0.4, 0.4)},
        "MPS 50/50 %": {one: pairs.Shares(0.3, 0.3), other: pairs.Shares(0.5, 0.5)},
    }
    rows = {row["way"]: row for row in pairs.summary(by_way)}
    assert rows["server, auto"]["/ best MPS"].p90 == pytest.approx(1.0 + 0.2 * 0.9)
    assert rows["MPS, best pair by pair"]["STP, geomean"] == pytest.approx(1.0)
    assert rows["MPS 50/50 %"]["below 0.98"] == 1


def test_a_setting_that_was_cut_short_is_left_out(pairs):
    by_way = {
        "server, auto": {("a", "b"): pairs.Shares(0.6, 0.6), ("a", "c"): pairs.Shares(0.5, 0.5)},
        "MPS 100/100 %": {("a", "b"): pairs.Shares(0.5, 0.5)},
    }
    assert [(row["way"], row["pairs"]) for row in pairs.summary(by_way)] == [("server, auto", 2)]


def test_a_program_without_progress_has_an_infinite_slowdown(pairs):
    assert pairs.Shares(1.0, 0.0).antt == float("inf")
