# SPDX-License-Identifier: Apache-2.0
"""Applications that ask for a share of their speed alone, or for launches that end in time: on the H100 model."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import pytest
from messages import Values, raises_naming

import gpushare as gs

BLOCKS = 2640
"""Ten waves on an H100, 1.35 ms alone from arrival to end; no other kernel has anything of it."""


def application(name: str, launches: int, blocks: int = BLOCKS, **asked: Any) -> gs.Application:
    model = gs.KernelModel(f"kernel of {name}", threads=1024, latency_ns=100_000, issue_ns=50_000)
    return gs.Application(name, launches * (gs.Launch(model, blocks),), **asked)


def beside_another(asking: gs.Application) -> gs.Workload:
    """Which is there throughout."""
    return gs.Workload("two", (asking, application("other", 2 * len(asking.operations))))


def speed(asking: gs.Application, policy: str) -> float:
    """As a share of that alone."""
    return 1 / gs.run(beside_another(asking), policy, device="sim:h100", record=False).ntt()[0]


@pytest.mark.parametrize("policy", ["mix", "auto", "auto:min_speed=0.1"])
def test_an_application_keeps_its_min_speed(policy: str) -> None:
    asking = application("asking", 40)
    assert speed(asking, policy) < 0.6
    assert speed(replace(asking, min_speed=0.7), policy) >= 0.7


def turnarounds_ns(asking: gs.Application, policy: str) -> list[float]:
    """Of its launches."""
    launches = gs.run(beside_another(asking), policy, device="sim:h100").launches()
    own = launches[launches["application"] == "asking"]
    return (own["end_ns"] - own["arrival_ns"]).tolist()


@pytest.mark.parametrize("policy", ["mix", "auto"])
@pytest.mark.parametrize("latency_ns", [1_600_000, 1_450_000])
def test_launches_end_within_a_latency_bound(policy: str, latency_ns: float) -> None:
    asking = application("asking", 30)
    assert statistics.median(turnarounds_ns(asking, policy)) > 1_600_000
    times = turnarounds_ns(replace(asking, latency_ns=latency_ns), policy)
    assert sum(time <= latency_ns for time in times) >= 25, times


def test_the_place_of_one_with_a_latency_bound_is_kept() -> None:
    """Or each of its launches would wait for blocks of 2 ms to end."""
    model = gs.KernelModel("asking", threads=1024, latency_ns=100_000, issue_ns=50_000)
    asking = gs.Application("asking", 10 * (gs.Launch(model, BLOCKS, pace=gs.HostPace(gap_ns=1e6)),), latency_ns=2.2e6)
    long = gs.KernelModel("long", threads=1024, latency_ns=2e6, issue_ns=1e6)
    workload = gs.Workload("two", (asking, gs.Application("other", 4 * (gs.Launch(long, 1584),))))

    def in_time(policy: str) -> int:
        launches = gs.run(workload, policy, device="sim:h100").launches()
        own = launches[launches["application"] == "asking"]
        return int((own["end_ns"] - own["arrival_ns"] <= 2.2e6).sum())

    assert in_time("mix") >= 9  # not the first
    assert in_time("mix:reserve_ns=0") <= 1


def test_min_speeds_and_latencies_survive_a_file() -> None:
    workload = beside_another(application("asking", 1, min_speed=0.3, latency_ns=500_000))
    assert gs.Workload.from_dict(workload.to_dict()) == workload
    asking, other = workload.to_dict()["application"]
    assert (asking["min_speed"], asking["latency_ns"]) == (0.3, 500_000)
    assert not {"min_speed", "latency_ns"} & other.keys()


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"min_speed": 0}, ("asking", "min_speed", "1e-09..1", 0)),
        ({"min_speed": 1.5}, ("min_speed", "1e-09..1", "1.5")),
        ({"min_speed": "half"}, ("min_speed",)),
        ({"latency_ns": 0}, ("latency_ns", "1..1e+18", 0)),
    ],
)
def test_what_cannot_be_asked_for(asked: dict[str, Any], named: Values) -> None:
    with raises_naming(gs.InvalidInput, named):
        application("asking", 1, **asked)


def test_a_latency_shorter_than_a_launch_alone_is_refused() -> None:
    with raises_naming(gs.InvalidInput, "asking", 900000, "kernel of asking"):
        gs.run(beside_another(application("asking", 1, latency_ns=900_000)), "auto", device="sim:h100")


def test_a_python_policy_sees_what_is_asked_for() -> None:
    class Looking(gs.Policy):
        seen: dict[str, tuple[float | None, int | None]]

        def decide(self, state: gs.State) -> gs.Plan:
            Looking.seen = {launch.application: (launch.min_speed, launch.latency_ns) for launch in state.running}
            return gs.Plan({launch: state.full_quota(launch) for launch in state.running})

    asking = application("asking", 1, blocks=600, min_speed=0.5, latency_ns=5_000_000)
    gs.run(gs.Workload("two", (application("other", 1, blocks=300), asking)), Looking(), device="sim:h100")
    assert Looking.seen == {"asking": (0.5, 5_000_000)}
