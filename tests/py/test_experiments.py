# SPDX-License-Identifier: Apache-2.0
"""Experiments of our own beside those of the papers: benchmarks/experiments, small and simulated."""

import math
import os
import pathlib
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import cd_search_energy
import pytest
from cd_search_energy import energy_sections
from cumas_arrivals import small_among_large
from cumas_elsewhere import without_delays
from cumas_pieces import simulated_pieces_section
from cumas_scaled import every_launch, modelled, scaled_applications
from slate_elsewhere import (
    POLICIES_ON_A_GPU,
    all_at_once,
    complementary_pairs,
    core_launches,
    long_launches,
    looped_suite,
    resize_us,
)

import gpushare as gs
from gpushare.reproduce import slate
from gpushare.reproduce.cd_search.runs import first_runs
from gpushare.reproduce.cumas.runs import policy_of
from gpushare.reproduce.slate.runs import POLICIES, WHOLE, pairs, throughputs
from gpushare.results.measured import Measured

EXPERIMENTS = pathlib.Path(__file__).parents[2] / "benchmarks" / "experiments"


@pytest.mark.parametrize(
    "name", ["cd_search_energy", "cumas_arrivals", "cumas_elsewhere", "cumas_pieces", "slate_elsewhere"]
)
def test_an_experiment_is_a_program(name):
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(gs.__file__).parents[1])}
    line = [sys.executable, str(EXPERIMENTS / f"{name}.py"), "--help"]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"python benchmarks/experiments/{name}.py" in done.stdout


@pytest.fixture(scope="module")
def titan_xp():
    return gs.device("titan-xp")


def test_of_all_five_at_once_slate_keeps_two_side_by_side():
    table = all_at_once(gs.bundled_workload("slate"), POLICIES, "titan-xp", 1).table
    assert table.loc["slate", "throughput over MPS"] > 1.05
    assert table.loc["slate", "stp"] > table.loc["MPS", "stp"]


def test_a_range_is_claimed_as_soon_as_its_launch_has_ended(titan_xp):
    kernel = gs.KernelModel("k", threads=1024, latency_ns=1000)
    for blocks, waits_us in ((6000, 0), (300, math.nan)):  # of equals, nothing is left when the first has ended
        applications = [gs.Application(name, [gs.Launch(kernel, of)]) for name, of in (("a", 300), ("b", blocks))]
        found = resize_us(gs.run(gs.Workload("pair", applications), "slate", device=titan_xp))
        assert list(found.values()) == pytest.approx([waits_us, waits_us], nan_ok=True)


def test_other_kernels_of_the_suite_go_together_on_an_h100():
    names = {"nbody": "nbody", "triad": "triad", "stencil_2d": "stencil_2d"}
    found = complementary_pairs(looped_suite("sim:h100", names, loop_ns=1e6), "sim:h100")
    assert [pair.name for pair in found] == ["nbody + triad", "nbody + stencil_2d"]


def test_elsewhere_the_suites_kernels_are_looped_for_the_same_time():
    workload = looped_suite("sim:h100", loop_ns=2e6)
    for application in workload.applications:
        alone_ns = gs.run(workload.alone(application.name), "fifo", device="sim:h100", record=False).alone_ns
        assert alone_ns[application.name] == pytest.approx(2e6, rel=0.3)


def test_launches_can_be_longer_where_kernels_have_layers():
    workload = looped_suite("sim:h100", {"MM": "matrix_product", "GS": "gaussian_fan2"}, loop_ns=12e6, launch_ns=4.2e6)
    product, elimination = workload.applications
    assert [launch.args.layers for launch in product.operations] == [2, 2, 2]
    assert {launch.args.layers for launch in elimination.operations} == {1}
    assert len(elimination.operations) > 10


def test_the_pairs_are_run_with_long_launches():
    section = long_launches(POLICIES, "sim:h100", progress=False, launch_ns=4e5, loop_ns=4e5)
    assert list(section.table.index[-2:]) == ["TR-TR", "mean"]
    assert section.table.loc["mean", "over MPS"] == pytest.approx(section.table["over MPS"][:-1].mean())
    assert (section.table > 0.5).all(axis=None)


def test_launches_left_whole_are_one_more_column_where_they_are_run():
    words = POLICIES | {WHOLE: POLICIES_ON_A_GPU[WHOLE]}
    suite = {"BS": "black_scholes", "TR": "transpose"}
    of_suite = pairs(looped_suite("sim:h100", suite, loop_ns=1e6))
    throughput = throughputs(gs.compare(of_suite, words.values(), device="sim:h100", progress=False), words)
    section = slate.means(throughput)
    ratio = throughput[WHOLE] / throughput["MPS"]
    assert section.table.loc["slate with leftover and whole launches over MPS", "mean"] == pytest.approx(ratio.mean())
    known = core_launches(looped_suite("sim:h100", loop_ns=1e6), "sim:h100")
    figure = slate.figure_7(known, gs.device("sim:h100"), throughput)
    assert list(figure.table["left whole, over MPS"]) == pytest.approx(list(ratio))


def test_pieces_let_small_applications_in():
    table = simulated_pieces_section(False).table
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
    of_table_1 = {each.name: each for each in gs.bundled_workload("cumas").applications}
    for scaled in workload.applications:
        copies = [each.bytes for each in scaled.operations if isinstance(each, gs.Copy)]
        launches = [each for each in scaled.operations if isinstance(each, gs.Launch)]
        copied = sum(each.bytes for each in of_table_1[scaled.name].operations if isinstance(each, gs.Copy))
        assert sum(copies) == pytest.approx(copied / 8, rel=0.04)
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


def board_of(name, gpu):
    return gpu if name == "cuda:0" else None


@pytest.fixture
def board(monkeypatch):
    """A GPU whose runs are simulated ones; the board uses 100 W, and 50 more where nobody searches."""

    class Runner:
        def __init__(self, gpu):
            pass

        def prepare(self, workload):
            return workload

        def warm_up(self, prepared):
            pass

        def run(self, workload, policy, repeat, *, record):
            run = gs.run(workload, policy, device="sim:h100", record=record)
            watts = 150 if policy == "even" else 100
            joules = None if workload.name in untold else watts * run.record.makespan / 1e9
            return replace(run, measured=Measured("", "", "", (), {}, board_joules=joules))

    untold = set()
    gpu = SimpleNamespace(description=SimpleNamespace(name="a GPU"))
    monkeypatch.setattr(cd_search_energy, "backend_named", lambda name: SimpleNamespace(gpu=board_of(name, gpu)))
    monkeypatch.setattr(cd_search_energy, "CudaRunner", Runner)
    monkeypatch.setattr(cd_search_energy, "meter_of", lambda gpu: object())
    monkeypatch.setattr(cd_search_energy, "LENGTH_NS", 4e6)
    return untold


MEMORY_PAIRS = [("lbm", "streamcluster"), ("lbm", "bfs")]


@pytest.fixture(scope="module")
def launches_of_memory():
    applications = [gs.Application(name, (gs.Launch.of_suite(name),)) for name in ("lbm", "streamcluster", "bfs")]
    return first_runs(applications, "sim:h100", 1e6)


def energy(known, device="cuda:0"):
    return energy_sections(MEMORY_PAIRS, known, ["even", "cd-search"], device, progress=False)


def test_energy_stands_beside_the_throughput(board, launches_of_memory):
    (section,) = energy(launches_of_memory)
    assert section.title == "Energy of memory-bound pairs on a GPU"
    assert list(section.table["pairs"]) == [2, 2]
    assert list(section.table["power, mean"]) == ["150 W", "100 W"]
    assert section.table.at["cd-search", "power over even, mean"] == "-33.3%"
    assert section.table.at["even", "energy over even, mean"] == "+0.0%"
    assert section.table.at["cd-search", "energy over even, mean"].startswith("-")


def test_a_pair_whose_energy_is_unknown_is_left_out(board, launches_of_memory):
    board.add("lbm+bfs")
    (section,) = energy(launches_of_memory)
    assert list(section.table["pairs"]) == [1, 1]
    board.add("lbm+streamcluster")
    assert energy(launches_of_memory) == []


def test_no_energy_where_no_board_tells(board, launches_of_memory, monkeypatch):
    assert energy(launches_of_memory, "sim:h100") == []
    monkeypatch.setattr(cd_search_energy, "meter_of", lambda gpu: None)
    assert energy(launches_of_memory) == []
