# SPDX-License-Identifier: Apache-2.0
"""Slate on the simulated Titan Xp; how near its figures are is for docs/papers/slate.md to say."""

from dataclasses import replace

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core
from gpushare.reproduce import reproduce, slate
from gpushare.reproduce.slate.runs import PAPER, pairs
from gpushare.reproduce.slate.sensitivity import ASSUMPTIONS, changed


@pytest.fixture(scope="module")
def titan_xp():
    return gs.device("titan-xp")


@pytest.fixture(scope="module")
def benchmarks():
    return gs.bundled_workload("slate")


@pytest.fixture(scope="module")
def tables():
    """Ours by the beginning of the title."""
    return {section.title.split(":")[0]: section.table for section in reproduce("slate", quick=True).sections}


@pytest.mark.parametrize("name", ["BS", "GS", "MM", "RG", "TR"])
def test_each_benchmark_alone_has_the_rates_of_table_2(benchmarks, titan_xp, name):
    (application,) = benchmarks.alone(name).applications
    launch = application.operations[0]
    launches = len(application.operations)
    paper = PAPER["table_2"][name]
    nanoseconds = gs.run(benchmarks.alone(name), "fifo", record=False).alone_ns[name]
    assert nanoseconds == pytest.approx(8e6, rel=0.03)
    moved = launches * launch.blocks * launch.kernel.off_sm_bytes
    assert moved / nanoseconds == pytest.approx(paper["gb_per_s"], rel=0.01)
    flops = launches * launch.blocks * launch.kernel.flops
    assert flops / nanoseconds == pytest.approx(paper["gflop_per_s"], rel=0.01)


def test_classes_are_those_of_table_2(tables):
    table = tables["Table II"]
    assert list(table["compute"]) == list(table["compute paper"])
    assert list(table["memory"]) == list(table["memory paper"])


def test_only_the_pairs_with_rg_run_together(tables):
    together = tables["Fig. 7"]["Table I"]
    assert {pair for pair in together.index if together[pair] == "corun"} == {
        pair for pair in together.index if "RG" in pair.split("-")
    }
    assert len(together) == 15


def test_the_pair_that_the_paper_looks_into_gains_nearly_what_it_measured(tables):
    figure = tables["Fig. 7"]
    assert figure.loc["BS-RG", "over MPS"] == pytest.approx(1.3055, rel=0.05)
    assert 1 < figure.loc["MM-RG", "over MPS"] < figure.loc["BS-RG", "over MPS"]
    alone = figure[figure["Table I"] == "solo"]
    assert (alone["over MPS"].astype(float) - 1).abs().max() < 0.01


def test_table_4_has_the_papers_instructions_where_they_are_the_input(tables):
    table = tables["Table IV"]
    assert table.loc["MPS", "instructions per cycle"] == pytest.approx(0.94, rel=0.03)
    assert table.loc["slate", "GB/s"] > 1.2 * table.loc["MPS", "GB/s"]


def test_launches_side_by_side_share_no_sm(benchmarks):
    pair = next(each for each in pairs(benchmarks) if each.name == "BS-RG")
    run = gs.run(pair, "slate")
    first_ms = run.blocks().query("end_ns < 1e6")
    sms = {name: set(of["sm"]) for name, of in first_ms.groupby("application")}
    assert len(sms) == 2
    assert set.isdisjoint(*sms.values())


@pytest.mark.parametrize("words", ASSUMPTIONS)
def test_every_assumption_but_the_first_and_the_policy_changes_a_launch(benchmarks, words):
    assumption = ASSUMPTIONS[words]
    is_changed = changed(benchmarks, assumption.change) != benchmarks
    assert is_changed == (words != "as assumed" and assumption.policy == "slate")


def test_changed_kernels_keep_their_rates_alone(benchmarks):
    for words in ("RG in 1350 blocks, not 128", "GS limited by DRAM, its SMs as fast as BS's"):
        new = changed(benchmarks, ASSUMPTIONS[words].change)
        for name in ("GS", "RG"):
            before = gs.run(benchmarks.alone(name), "fifo", record=False).alone_ns[name]
            assert gs.run(new.alone(name), "fifo", record=False).alone_ns[name] == pytest.approx(before, rel=0.02)


def test_table_1_may_depend_on_the_running_kernel(titan_xp):
    def launch(name, **costs):
        kernel = gs.KernelModel(name, threads=64, latency_ns=1000, **costs)
        return gs.Launch(kernel, 100_000).on(titan_xp)

    known = {"busy": launch("busy", issue_ns=900), "stream": launch("stream", off_sm_bytes=4096)}
    assert _core.demand_alone(titan_xp, known["busy"]).compute_intensity == "high"
    assert _core.demand_alone(titan_xp, known["stream"]).memory_intensity == "high"
    assert slate.decision(titan_xp, known, "busy", "stream") == "stream joins busy"
    assert slate.decision(titan_xp, known, "stream", "busy") == "stream joins busy"
    assert slate.decision(titan_xp, known, "stream", "stream") == "solo"


def test_an_unprofiled_kernel_has_no_class_and_runs_alone(titan_xp):
    unknown = _core.Launch(_core.KernelModel("k", threads=64, latency_ns=1000, is_profiled=False), 100)
    assert not unknown.kernel.is_profiled
    row = slate.class_words(titan_xp, unknown)
    assert row == {"compute": "not profiled", "memory": "not profiled"}


def test_pairs_are_all_fifteen(benchmarks):
    names = [pair.name for pair in pairs(benchmarks)]
    assert len(set(names)) == 15
    assert names[0] == "BS-BS"


def test_a_device_is_refused_where_the_paper_needs_its_own():
    with raises_naming(gs.InvalidInput, "srtf"):
        reproduce("srtf", device="sim:h100")


def test_flops_and_peak_survive_their_files(benchmarks, titan_xp):
    assert gs.Workload.from_dict(benchmarks.to_dict()) == benchmarks
    assert titan_xp.flops_per_s == 12_150e9
    kernel = replace(benchmarks.applications[0].operations[0].kernel, flops=0.0)
    assert _core.demand_alone(titan_xp, gs.Launch(kernel, 1000).on(titan_xp)).flops is None
