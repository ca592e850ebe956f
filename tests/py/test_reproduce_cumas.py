# SPDX-License-Identifier: Apache-2.0
"""CuMAS's evaluation; how good its figures are is for docs/papers/cumas.md to say."""

import pytest

import gpushare as gs
from gpushare.backends.simulator.simulation import alone_times
from gpushare.reproduce import reproduce
from gpushare.reproduce.cumas.runs import PAPER, permutations

# Table 1: copies to the device and their MB, copies to the host and their MB, kernels.
TABLE_1 = {
    "b+tree": (15, 402, 1, 40, 2),
    "backprop": (5, 1568, 1, 830, 2),
    "BlackScholes": (3, 1200, 2, 800, 256),
    "gaussian": (3, 19, 3, 19, 3070),
    "hotspot": (2, 1212, 2, 606, 1),
    "lavaMD": (4, 43, 3, 18, 1),
    "lud": (1, 205, 1, 205, 670),
    "nw": (2, 1072, 1, 536, 511),
    "particlefilter": (6, 1043, 1, 1, 77),
    "pathfinder": (2, 2139, 3, 1, 3),
    "srad_v2": (2, 1073, 1, 1073, 4),
    "vectorAdd": (2, 1608, 3, 804, 1),
}


@pytest.fixture(scope="module")
def cumas():
    """Our figures by section's title: one permutation of each set."""
    return reproduce("cumas", quick=True, progress=False).tables()


def test_the_workload_is_table_1():
    found = {}
    for application in gs.bundled_workload("cumas").applications:
        copies = [each for each in application.operations if isinstance(each, gs.Copy)]
        up, down = ([each.bytes for each in copies if each.direction == way] for way in ("to_device", "to_host"))
        launches = len(application.operations) - len(copies)
        found[application.name] = (len(up), round(sum(up) / 1e6), len(down), round(sum(down) / 1e6), launches)
    assert found == TABLE_1


def test_applications_alone_take_as_long_as_asked():
    k40c = gs.device("k40c")
    for application in gs.bundled_workload("cumas").applications:
        assert alone_times(application, k40c, 0)[0] == pytest.approx(0.5e9, rel=1e-3)
    for application in permutations(1, alone_s=2.0)[0].applications[:2]:
        assert alone_times(application, k40c, 0)[0] == pytest.approx(2e9, rel=1e-3)


def test_permutations_are_25_different_ones():
    orders = [tuple(each.name for each in order.applications) for order in permutations(5)]
    assert len(set(orders)) == 25
    assert {tuple(sorted(order)) for order in orders} == {tuple(sorted(TABLE_1))}


def test_ordering_saves_time(cumas):
    table = next(table for title, table in cumas.items() if "over all" in title)
    assert table.at["cumas, w = 8", "mean speedup"] > 0.05
    saved = table.at["cumas, w = 8", "less time than the worst Strings, most"]  # section 6.1: 44 % of the time
    assert table.at["cumas, w = 8", "speedup over the worst Strings, most"] == pytest.approx(1 / (1 - saved) - 1)
    assert table.at["cumas, w = 8", "less time than the worst Strings, most, paper"] == 0.44
    assert table.at["cumas, w = 8", "best speedup"] > 0.15
    assert table.at["cumas, w = 8", "total time, ms"] <= table.at["cumas, w = 4", "total time, ms"] * 1.05
    assert table.at["fifo", "mean speedup"] < 0  # what streams do by themselves


def test_engines_are_idle_for_less_time(cumas):
    table = next(table for title, table in cumas.items() if title.startswith("Fig. 9"))
    assert table.at["cumas, w = 8", "P (SMs), ms"] < table.at["strings", "P (SMs), ms"]
    assert (table["R (to host), ms"] > 0).all()


def test_solvers_are_timed(cumas):
    table = next(table for title, table in cumas.items() if title.startswith("Fig. 10"))
    assert float(table.at["w = 8", "exact"]) < PAPER["overhead_ms"]["brute-force"]["8"]


def test_copies_fit_the_model(cumas):
    table = next(table for title, table in cumas.items() if title.startswith("Fig. 11"))
    pinned = table.loc[[name for name in table.index if "pinned" in name]]
    assert (pinned["mean error"] < 0.05).all()


def test_parts_of_a_grid_tell_its_time(cumas):
    table = next(table for title, table in cumas.items() if title.startswith("Fig. 12"))
    assert table.at["mean error", "from 1/2"] <= table.at["mean error", "from 1/8"]
    assert table.at["mean error", "from 1/2"] < 0.15
