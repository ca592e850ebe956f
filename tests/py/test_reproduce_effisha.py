# SPDX-License-Identifier: Apache-2.0
"""The reproduction of EffiSha: what goes in is the paper's, and what comes out is where docs/papers/effisha.md says."""

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.reproduce import reproduce
from gpushare.reproduce.effisha import closed_loop as effisha_closed_loop
from gpushare.reproduce.effisha import preemption as effisha_preemption
from gpushare.reproduce.effisha import workload as effisha_workload
from gpushare.reproduce.effisha.slicing import Slice, tuned
from gpushare.reproduce.effisha.turnaround import DYNAMIC, STATIC, overhead, setting_section
from gpushare.reproduce.effisha.workload import BENCHMARKS, Platform, table_2
from gpushare.suite import KERNELS


@pytest.fixture(scope="module")
def shortest_first():
    """The eleven requests under everything that Fig. 12 compares."""
    workload = Platform().requests("sjf", table_2("sjf"))
    return gs.compare(
        [workload],
        ["fifo", "round-robin:quantum_ns=5e6", "round-robin:quantum_ns=8e6", "pkm", STATIC, DYNAMIC],
        device="k40m",
    )


def test_the_times_alone_are_those_of_table_2(shortest_first):
    alone_ns = shortest_first.run("fifo").alone_ns
    for benchmark, figures in BENCHMARKS.items():
        assert alone_ns[benchmark] / 1e6 == pytest.approx(figures["alone_ms"], rel=0.03)


def test_requests_come_3_ms_apart_in_the_printed_order(shortest_first):
    applications = shortest_first.run("fifo").workload.applications
    assert [each.arrival_ns / 1e6 for each in applications] == [3 * place for place in range(11)]
    assert [applications[place].name for place in (0, 7, 10)] == ["NeuralNet", "Stencil2D", "BFS"]
    assert sorted(each.priority for each in applications) == list(range(11))


def test_fifo_is_what_table_2_implies(shortest_first):
    """One after the other, without anything in between: computed from the printed times alone."""
    free = 0.0
    ntt = []
    for place, figures in enumerate(BENCHMARKS.values()):
        free = max(free, 3 * place) + figures["alone_ms"]
        ntt.append((free - 3 * place) / figures["alone_ms"])
    metrics = shortest_first.metrics().loc["fifo"]
    assert metrics["antt"] == pytest.approx(sum(ntt) / 11, rel=0.03)
    assert metrics["stp"] == pytest.approx(sum(1 / each for each in ntt), rel=0.03)


def test_shortest_job_first_gains_what_the_paper_says(shortest_first):
    table = setting_section(shortest_first, "sjf", "round-robin:quantum_ns=8e6", is_paper=True).table
    assert table.loc[DYNAMIC, "antt / default"] == pytest.approx(0.35, abs=0.05)
    assert table.loc[DYNAMIC, "antt"] < 2.6
    assert table.loc[DYNAMIC, "stp / default"] > 1.8
    assert table.loc["round-robin:quantum_ns=8e6", "antt"] == pytest.approx(6, abs=1)
    assert table.loc[STATIC, "antt"] < table.loc[DYNAMIC, "antt"]


def test_random_priorities_gain_what_the_paper_says():
    """Section 8.4: ANTT falls by 18%. Table 2's requests come 3 ms apart, mostly as a slice ends."""
    default = "round-robin:quantum_ns=8e6"
    result = gs.compare(
        [Platform().requests("random", table_2("random"))], ["fifo", default, STATIC, DYNAMIC], device="k40m"
    )
    table = setting_section(result, "random", default, is_paper=True).table
    assert table.loc[DYNAMIC, "antt / default paper"] == 0.82
    assert table.loc[DYNAMIC, "antt / default"] == pytest.approx(0.79, abs=0.02)


def test_scheduling_costs_less_than_the_paper_allows(shortest_first):
    full = [Platform().requests(setting, table_2(setting)) for setting in effisha_workload.SETTINGS]
    result = gs.compare(full, ["fifo", STATIC, DYNAMIC, "pkm"], device="k40m")
    table = overhead(result).table
    assert (table[[f"{STATIC} deviation", f"{DYNAMIC} deviation"]] < 0.02).all().all()
    assert (table["pkm deviation"] > table[f"{DYNAMIC} deviation"]).all()


def test_round_robin_changes_after_its_quantum():
    h100 = gs.device("h100")
    kernel = gs.KernelModel("k", threads=1024, latency_ns=500_000)
    launch = gs.Launch(kernel, 2 * h100.sms * 12)
    pair = gs.Workload("pair", [gs.Application(name, [launch]) for name in "ab"])
    decisions = gs.run(pair, "round-robin:quantum_ns=2e6", device=h100).decisions()
    first = decisions[decisions["application"] != decisions["application"].shift()]
    assert list(first["application"])[:4] == ["a", "b", "a", "b"]
    assert list(first["time_ns"])[:4] == [0, 2_000_000, 4_000_000, 6_000_000]


def test_round_robin_goes_on_with_an_application_from_launch_to_launch():
    """A launch takes 1 ms and a quantum 2.5: a's third one has begun when b's turn comes."""
    h100 = gs.device("h100")
    kernel = gs.KernelModel("k", threads=1024, latency_ns=500_000)
    launches = 4 * [gs.Launch(kernel, 2 * h100.sms * 2)]
    pair = gs.Workload("pair", [gs.Application(name, launches) for name in "ab"])
    run = gs.run(pair, "round-robin:quantum_ns=2.5e6", device=h100)
    starts = run.blocks().groupby("launch")["start_ns"].min() / 1e6
    assert starts[2] < starts[4]
    assert 2.5 <= starts[4] < 3.2
    assert starts[3] > starts[5]


def test_the_cheapest_slices_that_keep_the_delay_are_taken():
    slices = [Slice(15, 100, 2.0), Slice(30, 105, 0.7), Slice(60, 200, 0.3), Slice(120, 400, 0.1)]
    assert tuned(slices, 250).blocks == 60
    assert tuned(slices, 50).blocks == 30  # none keeps it: the cheapest with nearly the shortest
    assert tuned(slices, 1000).blocks == 120


def test_an_eviction_takes_a_block_and_a_probe_waits_less():
    found = effisha_preemption.interrupted(Platform(), "MD", "effisha-static", effisha_preemption.LONG_PROBE_MS)
    delays = effisha_preemption.eviction_ms(found)
    assert len(delays) == effisha_preemption.PROBES
    assert delays.mean() == pytest.approx(0.4, rel=0.1)  # section 8.3
    idle_ns = effisha_preemption.idle_delay_ns(Platform())
    assert 0 <= effisha_preemption.launch_delay_ns(found) - idle_ns < delays.mean() * 1e6


def test_a_closed_loop_is_closed(monkeypatch):
    monkeypatch.setattr(effisha_closed_loop, "ROUNDS", 2)
    run = effisha_closed_loop.closed_loop(4e6, seed=0)
    arrivals, ends = run.record.arrivals, run.record.ends
    for place in range(len(arrivals)):
        due = ends[place - 1] + 4e6 if place % 2 else 0
        assert arrivals[place] == pytest.approx(due, abs=effisha_closed_loop.CLOSED_WITHIN_NS)


def test_on_a_gpu_the_suite_stands_in_as_often_as_lengths_need(monkeypatch):
    monkeypatch.setattr(Platform, "_alone_ns", lambda self, launch: 500_000)
    platform = Platform("cuda:0")
    for benchmark, figures in BENCHMARKS.items():
        operations = platform.operations(benchmark)
        assert all(operation.is_real for operation in operations)
        assert sum(operation.args.layers for operation in operations) == round(figures["alone_ms"] / 0.5)
        assert (len(operations) == 1) == KERNELS[figures["suite"]].is_layerable


def test_elsewhere_it_needs_a_paper_that_can():
    with raises_naming(gs.InvalidInput, "srtf", "cd-search", "effisha"):
        reproduce("srtf", device="h100")
