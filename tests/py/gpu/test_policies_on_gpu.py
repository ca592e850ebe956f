# SPDX-License-Identifier: Apache-2.0
"""Every policy and every way of the hardware on a GPU: runs end, traces add up, and replay decides the same."""

from types import SimpleNamespace

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core
from gpushare.backends.baselines import BASELINES
from gpushare.backends.cuda import energy_meter
from gpushare.suite import KERNELS

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

POLICIES = [entry.name for entry in gs.policies()]


@pytest.fixture
def pair(size):
    """A long application, and a short one with copies that arrives while the long one runs."""
    product = gs.Launch.of_suite("matrix_product", size("large", "small"))
    sums = gs.Launch.of_suite("early_return", "small")
    short = [gs.Copy("to_device", 1 << 20), sums, sums, gs.Copy("to_host", 4096), sums]
    applications = [gs.Application("long", [product] * 3), gs.Application("short", short, arrival_ns=100_000)]
    return gs.Workload("pair", applications, device="cuda:0")


@pytest.fixture
def prepared(runner, pair):
    return runner.prepare(pair)


def check_results(prepared):
    """The short application's launches have a reference; the long one's must have written everything."""
    case = KERNELS["early_return"].case("small")
    loaded = prepared.loaded[gs.Launch.of_suite("early_return", "small")]
    (index,) = [place for place, each in enumerate(case.arguments) if each.is_output]
    assert case.mistakes({case.arguments[index].name: loaded.arguments[index].numpy()}) == []


def check_copies(run):
    copies = run.copies()
    assert copies["direction"].tolist() == ["to_device", "to_host"]
    assert (copies["start_ns"] <= copies["end_ns"]).all()


SHORT_ONES_WHOLE = ["fifo:whole_up_to_ns=1e8", "even:whole_up_to_ns=1e8", "srtf:whole_up_to_ns=1e8"]
"""Whole once it is known how short they are, which the policies before have shown."""


@pytest.mark.parametrize("policy", [*POLICIES, *SHORT_ONES_WHOLE])
def test_a_policy(runner, prepared, check_trace, check_metrics, policy):
    run = runner.run(prepared, policy, 0, record=True)
    check_trace(run)
    check_metrics(run)
    check_copies(run)
    check_results(prepared)
    assert run.trace.decision_count >= 6  # a launch's arrival or end at least


of_real_size = pytest.mark.real_gpu("has fewer SMs")


@pytest.mark.parametrize(
    "policy",
    [
        *BASELINES,
        pytest.param("green-contexts:40,92", marks=of_real_size),
    ],
)
def test_a_way_of_the_hardware(runner, prepared, check_metrics, policy):
    run = runner.run(prepared, policy, 0, record=True)
    check_metrics(run)
    check_copies(run)
    check_results(prepared)
    launches = run.launches()
    assert len(launches) == 6
    assert (launches["arrival_ns"] <= launches["end_ns"]).all()
    assert run.blocks().empty
    assert run.trace.decision_count == 0
    short = launches[launches["application"] == "short"]
    assert short["end_ns"].is_monotonic_increasing
    if policy == "hardware-serial":
        assert short["arrival_ns"].min() >= launches[launches["application"] == "long"]["end_ns"].max()


@pytest.mark.parametrize("policy", [*POLICIES, *SHORT_ONES_WHOLE])
def test_replay_decides_the_same(runner, prepared, policy):
    run = runner.run(prepared, policy, 0, record=True)
    assert _core.replay(run.trace, run.device, prepared.core, policy) == run.trace


def test_replay_of_random_quotas_decides_the_same(runner, prepared, stress, check_trace, quota_changes):
    run = runner.run(prepared, stress(7), 0, record=True)
    check_trace(run)
    assert quota_changes(run) > 0
    assert _core.replay(run.trace, run.device, prepared.core, stress(7)) == run.trace
    assert _core.replay(run.trace, run.device, prepared.core, stress(8)) != run.trace


def test_a_trace_from_a_gpu_survives_its_bytes(runner, prepared):
    trace = runner.run(prepared, "srtf", 0, record=True).trace
    assert _core.Trace.from_bytes(trace.to_bytes()) == trace


def test_the_state_that_a_policy_sees_adds_up(runner, prepared):
    seen = []  # not in the policy: a run gets a copy of that

    class Looks(gs.Policy):
        def decide(self, state):
            for launch in state.running:
                resident, done = launch.resident_per_sm(), launch.done_per_sm()
                seen.append((launch.application, launch.done))
                assert len(resident) == len(done) == state.sms
                assert (resident >= 0).all()
                assert done.sum() == launch.done
                assert resident.sum() == launch.started - launch.done
                assert 0 <= launch.done <= launch.started <= launch.blocks
            return gs.Plan({launch: launch.max_residency for launch in state.running}, state.now_ns + 100_000)

    runner.run(prepared, Looks(), 0, record=False)
    assert {application for application, _ in seen} == {"long", "short"}
    assert any(done > 0 for _, done in seen)


def test_compare(pair, odd_policies):
    policies = ["hardware-streams", "fifo", "srtf", odd_policies.Fails(), odd_policies.Starves()]
    result = gs.compare(pair, policies, device="cuda:0", repeats=2)
    assert set(result.errors) == {"Fails", "Starves"}
    assert "not today" in result.errors["Fails"]
    assert "idle for ever" in result.errors["Starves"]
    assert list(result.metrics().index) == ["hardware-streams", "fifo", "srtf"]
    assert np.isfinite(result.metrics()[["stp", "antt", "strictf"]].to_numpy()).all()
    assert len(result.to_pandas()) == 3 * 2 * 2


def test_run_takes_the_device_of_the_workload(pair):
    run = gs.run(pair, "fifo")
    assert run.policy == "fifo"
    assert run.device.sms > 1
    assert run.trace.event_count > 0


def test_a_scheduler_that_does_not_run_is_told_of(pair, odd_policies):
    run = gs.run(pair, odd_policies.Dawdles())
    decision_ns = odd_policies.Dawdles.DECISION_S * 1e9
    assert run.measured.longest_pause_ns >= decision_ns
    assert run.measured.without_processor_ns >= 0.9 * decision_ns * run.trace.decision_count
    assert gs.run(pair, "hardware-streams").measured.longest_pause_ns is None


@pytest.mark.parametrize(
    ("policy", "named"),
    [
        ("Fails", "not today"),
        ("Starves", "wake_at"),
        ("TooMuch", "0.."),
        ("NamesTheAbsent", 1000),
    ],
    ids=["Fails", "Starves", "TooMuch", "NamesTheAbsent"],
)
def test_a_policy_that_breaks_its_contract(pair, odd_policies, policy, named):
    with raises_naming(gs.PolicyError, named):
        gs.run(pair, getattr(odd_policies, policy)(), device="cuda:0")
    gs.run(pair, "fifo", device="cuda:0")


@pytest.mark.parametrize(
    ("policy", "named"),
    [
        ("fastest", ("fastest", "fifo")),
        ("green-contexts:40", 2),
        ("green-contexts:400,92", ()),
        ("green-contexts:a,b", ()),
    ],
)
def test_a_policy_that_does_not_exist(pair, policy, named):
    with raises_naming(gs.InvalidInput, named):
        gs.run(pair, policy, device="cuda:0")


SLOWER_THAN_ITS_WAKE_UPS = """
class Hurries(gs.Policy):
    def decide(self, state):
        return gs.Plan({launch: launch.max_residency for launch in state.running}, state.now_ns + 1)

blocks = 100 if ON_STAND_IN else 20_000
spinning = gs.Launch(kernel("spin"), grid=blocks, block=64, args=[gs.Zeros(1, np.uint32), 10_000])
workload = gs.Workload("hurried", [gs.Application("a", [spinning] * 3), gs.Application("b", [spinning])])
print(gs.run(workload, Hurries(), device="cuda:0", record=False).record.blocks)
with gs.Session("cuda:0", Hurries()) as session:
    counter = session.zeros(1, np.uint32)
    session.application("a").submit(kernel("spin"), grid=blocks, block=64, args=[counter, 10_000]).result(20)
    session.finish()
print(counter.numpy()[0])
"""


def test_a_policy_that_is_slower_than_its_wake_ups_still_ends(in_a_process, prelude, size):
    said = in_a_process(prelude + SLOWER_THAN_ITS_WAKE_UPS)
    assert said.split() == size(["80000", "20000"], ["400", "100"])


@pytest.mark.parametrize("policy", ["fifo", "hardware-streams"])
def test_the_energy_of_a_run_is_read_around_it(runner, prepared, policy, monkeypatch):
    readings = iter([1_000, 3_500])
    meter = SimpleNamespace(millijoules=lambda: next(readings))
    monkeypatch.setitem(vars(runner), "_meter", meter)
    monkeypatch.setattr(energy_meter, "LEAST_RUN_NS", 0)
    assert runner.run(prepared, policy, 0, record=False).measured.board_joules == 2.5
    assert list(readings) == []
