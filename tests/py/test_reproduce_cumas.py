# SPDX-License-Identifier: Apache-2.0
"""CuMAS's evaluation; how good its figures are is for docs/papers/cumas.md to say."""

import pytest

import gpushare as gs
from gpushare.backends.simulator.simulation import alone_times
from gpushare.reproduce import reproduce
from gpushare.reproduce.cumas import PAPER, permutations, policy_of
from gpushare.reproduce.cumas_arrivals import small_among_large
from gpushare.reproduce.cumas_elsewhere import without_delays
from gpushare.reproduce.cumas_scaled import every_launch, modelled, scaled_applications

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


def test_pieces_let_small_applications_in(cumas):
    table = cumas["Copies in pieces: 1 MB behind 1 GB"]
    assert table.at["whole copies", "small, mean us"] > 20 * table.at["pieces, 2% lost", "small, mean us"]
    for lost, at_most in (("pieces, 2% lost", 0.021), ("pieces, 10% lost", 0.105)):
        kept = table.at[lost, "large, GB/s"] / table.at["whole copies", "large, GB/s"]
        assert 0 < 1 - kept < at_most


def test_open_arrivals_have_small_ones_among_them():
    workload = small_among_large(0)
    small = [each for each in workload.applications if each.name.startswith("small")]
    assert len(small) > 40
    assert len(workload.applications) - len(small) == 18


def test_applications_elsewhere_keep_the_proportions():
    lengths = {launch: 300_000 if launch.args.size == "large" else 40_000 for launch in every_launch_once()}
    ns_per_byte = 1 / 55
    workload = scaled_applications(lengths, ns_per_byte)
    for scaled in workload.applications:
        copies = [each.bytes for each in scaled.operations if isinstance(each, gs.Copy)]
        launches = [each for each in scaled.operations if isinstance(each, gs.Launch)]
        assert sum(copies) == pytest.approx((TABLE_1[scaled.name][1] + TABLE_1[scaled.name][3]) * 1e6 / 8, rel=0.04)
        alone_ns = sum(copies) * ns_per_byte + sum(lengths[each] for each in launches)
        assert alone_ns == pytest.approx(0.5e9 * ns_per_byte / 0.2 / 8, rel=0.06)
        assert len(launches) > 0


def every_launch_once():
    return every_launch().applications[0].operations[::2]


def test_the_prediction_is_what_orderings_know():
    h100 = gs.device("sim:h100")
    lengths = dict.fromkeys(every_launch_once(), 300_000)
    engines = without_delays(h100)
    models = modelled(scaled_applications(lengths, 1 / 55.34), lengths, engines)
    strings, best = (gs.run(models, policy_of(name, ":window=12"), device=engines) for name in ("strings", "cumas"))
    assert best.record.makespan <= strings.record.makespan
    kernels_ns = sum(isinstance(each, gs.Launch) for app in models.applications for each in app.operations) * 300_000
    assert best.record.makespan > kernels_ns
