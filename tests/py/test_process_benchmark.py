# SPDX-License-Identifier: Apache-2.0
"""benchmarks/gpu/processes.py and served.py on a simulated device: real processes and a real server, small."""

import pytest
from benchmark_on_simulator import tables_of


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    options = ["--kernels", "triad,nbody", "--counts", "2,3", "--repeats", "2", "--window-ms", "300"]
    return tables_of(tmp_path_factory.mktemp("benchmark"), "processes", *options, "--policies", "auto,srtf")


def test_a_table_per_number_of_processes(tables):
    assert [each["title"] for each in tables] == [
        "2 processes: triad, reduction now and then",
        "3 processes: triad, nbody, reduction now and then",
    ]
    for table in tables:
        assert [row["way"] for row in table["rows"]] == ["server, auto", "server, srtf"]


def test_the_figures_can_be(tables):
    for row in tables[0]["rows"] + tables[1]["rows"]:
        assert row["STP"]["count"] == 2
        assert row["STP"]["median"] > 0
        assert row["ANTT"]["median"] * row["STP"]["median"] >= 1  # by the inequality of the means
        assert 0 < row["short p50, us"]["median"] <= row["short p99, us"]["median"]
        assert row["short launches"] > 0


def test_what_the_server_costs_an_application(tmp_path):
    options = ["--kernels", "triad,nbody", "--repeats", "2", "--length-ms", "20"]
    by_kernel, in_all = tables_of(tmp_path, "served", *options)
    assert [row["kernel"] for row in by_kernel["rows"]] == ["triad", "nbody"]
    for row in by_kernel["rows"]:
        assert row["launches"] >= 10
        assert 0 < row["launches, ms"]["median"] <= row["all, ms"]["median"]
        assert row["launches, served / own"]["median"] > 0
    assert [(row["of"], row["kernels"]) for row in in_all["rows"]] == [("launches", 2), ("all", 2)]
