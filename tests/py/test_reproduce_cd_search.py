# SPDX-License-Identifier: Apache-2.0
"""What the reproduction of CD-search rests on, with a few of its mixes; docs/papers/cd-search.md has the figures."""

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core
from gpushare.profile.lookup import shipped
from gpushare.reproduce import reproduce
from gpushare.reproduce.cd_search.classes import (
    best_threshold,
    is_memory_bound,
    mixes_wrong,
    paper_section,
    suite_section,
)
from gpushare.reproduce.cd_search.modes import (
    FOUR_MEMORY,
    FOUR_MIXED,
    PAPER,
    SimulatedMixes,
    heterogeneous,
    relative_power,
)
from gpushare.reproduce.cd_search.runs import MixRun, first_runs, run_mixes
from gpushare.reproduce.cd_search.sensitivity import _with_bandwidth
from gpushare.reproduce.cd_search.smk import better_of, over, shared_runs, stp_by_mix
from gpushare.reproduce.cd_search.suite import COMPUTE, MEMORY, best_stp, steady_stp, suite_sections


@pytest.fixture(scope="module")
def gpu():
    return gs.device("sim:gpgpu-sim-24")


@pytest.fixture(scope="module")
def mixes(gpu):
    return SimulatedMixes(gpu, progress=False)


def test_the_papers_kernels_have_the_papers_grids():
    grids = {each.name: each.operations[0].blocks for each in gs.bundled_workload("cd_search").applications}
    assert len(grids) == 14
    assert grids["GAUSSIAN"] == 512 * 512
    assert grids["CP"] == 32 * 128
    assert set(grids) == set(PAPER["types"]["memory"]) | set(PAPER["types"]["compute"])


def test_the_model_finds_the_classes_of_table_1(gpu):
    table = paper_section(gpu).table
    assert list(table["Eqs. 1, 2"]) == list(table["paper"])


def test_saturation_is_where_the_paper_says(gpu):
    saturates = paper_section(gpu).table["saturates at"]
    assert saturates["LAVAMD"] == "5 SMs"
    for name in PAPER["types"]["memory"]:
        assert 4 <= int(saturates[name].split()[0]) <= 7, name


def test_36_of_91_mixes_are_those_with_one_of_three_kernels():
    names = [str(number) for number in range(14)]
    assert mixes_wrong({"0", "1", "2"}, set(), names) == PAPER["classification"]["mixes_wrong_by_utilisation"]


def test_the_best_threshold_makes_the_fewest_errors():
    values = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}
    assert best_threshold(values, {"b", "d"}) in ({"b", "c", "d"}, {"d"})
    assert best_threshold(values, set()) == set()


def test_the_contention_model_classifies_the_suite_by_its_curves():
    table = suite_section().table
    right, of = map(int, table.loc["the fitted contention model's curve", "right"].split(" of "))
    assert of == 54
    assert right >= 52
    baseline = int(table.loc["memory utilisation, best threshold", "right"].split()[0])
    assert right > baseline


def test_the_pairs_are_of_both_kinds_by_measurement():
    kinds = {each.kernel: is_memory_bound(each) for each in shipped().kernels if each.against_sms is not None}
    assert all(kinds[name] for name in MEMORY)
    assert not any(kinds[name] for name in COMPUTE)


def test_performance_mode_gains_and_finds_what_the_memory_bound_needs(mixes):
    deltas = mixes.deltas([("LBM", "LEU"), ("GAUSSIAN", "CP")])
    assert min(deltas.stp) > 0.1
    assert max(deltas.antt) < -0.1
    for run in deltas.runs:
        assert run.is_complete
    # LBM saturates at 5 SMs and GAUSSIAN at 4; section 4.2 stalls two at a time: 12, 10, 8, 6, 4.
    assert [run.parts for run in deltas.runs] == [(6, 18), (4, 20)]


def test_power_mode_leaves_sms_idle_for_little(mixes):
    deltas = mixes.deltas([("LBM", "DWT2D"), ("LAVAMD", "LBM")])
    assert min(deltas.idle) > 0.5
    assert min(deltas.stp) > -0.02
    assert deltas.runs[0].parts == (3, 3)  # section 3.2 says three each
    share = PAPER["power_model"]["sm_share_ratio"]
    assert deltas.power == pytest.approx([-share * idle for idle in deltas.idle])


def test_compute_bound_mixes_stay_even(mixes):
    deltas = mixes.deltas([("LEU", "CP")])
    assert deltas.runs[0].parts == (12, 12)
    assert abs(deltas.stp[0]) < 0.01


def test_a_partition_found_can_be_had_from_the_start(mixes):
    (found,) = mixes.deltas([("LBM", "LEU")]).runs
    (ideal,) = mixes.with_found_parts([found])
    assert found.stp < ideal.stp < 1.05 * found.stp


def test_searching_keeps_sms_powered_that_the_found_partition_does_not_need(mixes):
    (found,) = mixes.deltas([("LBM", "DWT2D")]).runs
    (ideal,) = mixes.with_found_parts([found])
    assert ideal.powered_ratio == sum(found.parts) / 24
    assert relative_power(ideal) < relative_power(found) < 1.1 * relative_power(ideal)  # section 7.3: 2.5 % in the mean
    assert PAPER["overhead"] == {"performance": 0.0092, "power": 0.025}


def test_smk_holds_blocks_of_both_on_every_sm(mixes, gpu):
    (smk,) = shared_runs(mixes, ("LBM", "LEU"))
    assert smk.parts == (gpu.sms, gpu.sms)
    assert smk.powered_ratio == 1
    assert smk.stp > mixes.deltas([("LBM", "LEU")]).even[0].stp


def test_maestro_is_the_better_of_two_by_mix_and_changes_are_over_the_same_mix():
    even = {("a", "b"): 1.0, ("a", "c"): 1.2}
    smk = stp_by_mix(
        [MixRun(("a", "b"), (1.0, 1.0), (1, 1), 0, 1.0, True), MixRun(("a", "c"), (2.0, 2.0), (1, 1), 0, 1.0, True)]
    )
    assert smk == {("a", "b"): 2.0, ("a", "c"): 1.0}
    assert better_of(smk, even) == {("a", "b"): 2.0, ("a", "c"): 1.2}
    assert over(smk, even) == {"STP, mean": "+41.7%", "most": "+100.0%", "least": "-16.7%", "lose": "50%"}


def test_every_seed_is_a_run_and_single_mixes_differ(gpu):
    deltas = SimulatedMixes(gpu, progress=False, seeds=2).deltas([("LBM", "LEU")])
    (both,) = deltas.stp_by_mix.values()
    assert [run.seed for run in deltas.runs] == [0, 1]
    assert both[0] != both[1]
    assert deltas.variation == max(both) - min(both)
    assert deltas.stp_of_mixes == [sum(both) / 2]


def test_eqs_1_and_2_classify_for_the_policy_too(mixes):
    (equations,) = mixes.deltas([("LBM", "LEU")], "cd-search:profile=equations").runs
    (curve,) = mixes.deltas([("LBM", "LEU")], "cd-search:profile=off-line").runs
    assert equations.parts == curve.parts


def test_less_bandwidth_leaves_more_to_gain(gpu):
    gains = []
    for share in (0.75, 1.5):
        changed = SimulatedMixes(_with_bandwidth(gpu, share), progress=False)
        gains += changed.deltas([("PVC", "LEU")]).stp
    assert gains[0] > gains[1] > 0


def test_four_applications_are_of_the_kinds_that_they_should_be():
    assert heterogeneous(FOUR_MIXED) == FOUR_MIXED
    assert heterogeneous(FOUR_MEMORY) == []
    assert len({frozenset(mix) for mix in FOUR_MIXED + FOUR_MEMORY}) == 28


def test_first_runs_are_of_equal_length(mixes, gpu):
    two_million_cycles = 2e6 / gpu.clock_hz * 1e9
    for each in mixes.known.values():
        assert each.alone_ns[0] == pytest.approx(two_million_cycles, rel=0.2)


def test_stp_counts_first_runs_alone(gpu):
    application = gs.bundled_workload("cd_search").applications[3]
    known = first_runs([application], gpu, 1e6)
    (run,) = run_mixes([(application.name,)], known, ["even"], gpu)["even"]
    assert run.stp == pytest.approx(1.0)


def test_the_best_partition_is_no_worse_than_an_even_one():
    mix = (MEMORY[0], COMPUTE[0])
    assert best_stp(mix) >= steady_stp(mix, (66, 66))
    assert steady_stp(mix, (66, 66)) > 1


def test_metrics_of_a_mix():
    run = MixRun(("a", "b"), (1.0, 2.0), (12, 12), 0, 1.0, True)
    assert run.stp == 1.5
    assert run.antt == 1.5


def test_the_suites_pairs_on_the_simulated_h100():
    performance, power = suite_sections("sim:h100", quick=True, length_ns=2e6, progress=False)
    assert list(performance.table.index) == ["cd-search", "cd-search:profile=off-line"]
    assert (performance.table["pairs"] == 4).all()
    assert (performance.table["below 0.98"] == 0).all()
    assert (power.table["pairs"] == 1).all()


def test_a_device_is_refused_where_there_is_nothing_to_run_on_it():
    with raises_naming(gs.InvalidInput, "srtf", "cd-search"):
        reproduce("srtf", device="cuda:0")


def test_eq_1_by_counters():
    demand = _core.off_sm_demand_by_counters(most_ipc=4, apki=250, line_bytes=32, clock_hz=2e9)
    assert demand == 4 * 0.25 * 32 * 2e9


def test_a_quick_reproduction_has_few_mixes_and_says_so():
    mixes = SimulatedMixes(gs.device("sim:gpgpu-sim-24"), progress=False, per_kind=2)
    assert len(mixes.mixed.stp_of_mixes) == 4
    assert len(mixes.bound.stp_of_mixes) == 1
    assert {name for mix in mixes.mixed.stp_by_mix for name in mix} == {*mixes.memory, *mixes.compute}
