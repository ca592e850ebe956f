# SPDX-License-Identifier: Apache-2.0
"""Mixing, fair sharing and deadlines from Python: options, files, predictions, and runs on the H100 model."""

from __future__ import annotations

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core
from gpushare.device import device as find_device

H100 = find_device("sim:h100", None)


def kernel_of(name: str) -> _core.KernelModel:
    return gs.Launch.of_suite(name).model_on(H100).on(H100)


def pair(first: str, second: str, launches: int = 2) -> gs.Workload:
    applications = [gs.Application(name, launches * (gs.Launch.of_suite(name),)) for name in (first, second)]
    return gs.Workload(f"{first}+{second}", tuple(applications))


def test_mix_is_faster_than_order_of_arrival_where_kernels_want_different_things() -> None:
    result = gs.compare(pair("nbody", "spmv_csr"), ["fifo", "mix", "auto"], device="sim:h100", progress=False)
    stp = result.metrics()["stp"]
    assert stp["mix"] > 1.1 * stp["fifo"]
    assert stp["auto"] == pytest.approx(stp["mix"], rel=0.02)


def test_predicted_speeds_are_those_of_a_run() -> None:
    kernels = [kernel_of("nbody"), kernel_of("spmv_csr")]
    groups, speeds = _core.best_allocation(H100, kernels, min_speed=0.25)
    assert sum(sms for sms, _ in groups) == H100.sms
    assert speeds == pytest.approx(_core.co_run_speeds(H100, kernels, groups))
    run = gs.run(pair("nbody", "spmv_csr", 4), "mix:probe_loss=0", device="sim:h100")
    # Each is slowed only while the other is there: the slower one's slowdown lies between the two cases.
    slowest = max(run.ntt())
    assert 1.0 < slowest < 1.1 / min(speeds)


def test_a_min_speed_is_kept_in_prediction() -> None:
    kernels = [kernel_of("triad"), kernel_of("nbody")]
    _, speeds = _core.best_allocation(H100, kernels, min_speed=0.6)
    assert min(speeds) >= 0.6


def test_prediction_needs_two_profiled_kernels() -> None:
    with pytest.raises(gs.InvalidInput):
        _core.best_allocation(H100, [kernel_of("triad")])
    unknown = _core.KernelModel("mine", threads=64, latency_ns=100, is_profiled=False)
    with raises_naming(gs.InvalidInput, "mine"):
        _core.best_allocation(H100, [kernel_of("triad"), unknown])


def test_options_are_checked() -> None:
    for policy, named in (
        ("mix:min_speed=2", ("min_speed", "0..1")),
        ("auto:antt=0.5", ("antt", "1..")),
        ("auto:reserve_share=1", ("reserve_share", "0..0.9")),
        ("fair:period_ns=1000", ("period_ns", "10000..")),
        ("edf:min_speed=0.1", "min_speed"),
    ):
        with raises_naming(gs.InvalidInput, named):
            gs.run(pair("triad", "nbody"), policy, device="sim:h100")


def short_and_long(deadline_ns: float | None) -> gs.Workload:
    model = gs.KernelModel("k", threads=128, latency_ns=10_000, issue_ns=2_000)
    long = gs.Application("long", (gs.Launch(model, 40_000),))
    short = gs.Application("short", (gs.Launch(model, 4_000),), arrival_ns=50_000, deadline_ns=deadline_ns)
    return gs.Workload("short behind long", (long, short))


def test_edf_meets_a_deadline_that_fifo_misses() -> None:
    workload = short_and_long(400_000)
    turnaround = {}
    for policy in ("fifo", "edf"):
        record = gs.run(workload, policy, device="sim:h100").record
        turnaround[policy] = record.ends[1] - record.arrivals[1]
    assert turnaround["edf"] <= 400_000 < turnaround["fifo"]


def test_an_unreachable_deadline_is_refused() -> None:
    with raises_naming(gs.InvalidInput, "short", 1000):
        gs.run(short_and_long(1_000), "edf", device="sim:h100")
    with raises_naming(gs.InvalidInput, "deadline_ns"):
        short_and_long(0)


def test_deadlines_survive_a_file() -> None:
    workload = short_and_long(400_000)
    assert gs.Workload.from_dict(workload.to_dict()) == workload
    assert workload.to_dict()["application"][1]["deadline_ns"] == 400_000
    assert "deadline_ns" not in workload.to_dict()["application"][0]


def test_a_python_policy_sees_deadlines() -> None:
    seen = {}

    class Looking(gs.Policy):
        def decide(self, state: gs.State) -> gs.Plan:
            seen.update({launch.application: launch.deadline_ns for launch in state.running})
            Looking.seen = dict(seen)
            return gs.Plan({launch: state.full_quota(launch) for launch in state.running})

    gs.run(short_and_long(400_000), Looking(), device="sim:h100")
    assert Looking.seen == {"long": None, "short": 450_000}


def test_fair_gives_sms_by_weight() -> None:
    model = gs.KernelModel("k", threads=128, latency_ns=10_000)  # nobody slows anybody
    launches = (gs.Launch(model, 200_000),)
    applications = [gs.Application(name, launches, weight=weight) for name, weight in WEIGHTS.items()]
    run = gs.run(gs.Workload("weighted", tuple(applications)), "fair", device="sim:h100")
    slowdowns = dict(zip(WEIGHTS, run.ntt(), strict=True))
    assert slowdowns["three"] == pytest.approx(4 / 3, rel=0.1)
    assert slowdowns["one"] == pytest.approx(2, rel=0.1)


WEIGHTS = {"one": 1.0, "three": 3.0}


@pytest.mark.parametrize("policy", ["mix", "auto", "fair", "edf"])
def test_runs_repeat_themselves(policy: str) -> None:
    workload = pair("histogram", "nbody", 1)
    runs = [gs.run(workload, policy, device="sim:h100", record=False).record.ends for _ in range(2)]
    assert runs[0] == runs[1]
