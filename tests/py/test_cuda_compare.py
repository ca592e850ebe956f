# SPDX-License-Identifier: Apache-2.0
"""How a comparison on a GPU goes through its runs; what a run is made by is simulated."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.backends.cuda import backend as cuda_backend


class SimulatedRunner:
    """Has the face of CudaRunner."""

    slow = ()

    def __init__(self, device, timeout_s):
        self.timeout_s = timeout_s
        self.made = []

    def prepare(self, workload):
        self.made.append(("prepare", workload.name))
        return SimpleNamespace(workload=workload)

    def warm_up(self, prepared):
        self.made.append(("warm up", prepared.workload.name))

    def run(self, prepared, policy, repeat, *, record):
        name = policy if isinstance(policy, str) else policy.name
        self.made.append((prepared.workload.name, repeat, name))
        if (prepared.workload.name, repeat, name) in self.slow:
            raise TimeoutError("took too long")
        run = gs.run(prepared.workload, policy, device="sim:h100", record=record)
        return replace(run, seed=repeat, rerun=None)


@pytest.fixture
def runner(monkeypatch):
    """The runner of the next comparison."""
    made = []
    monkeypatch.setattr(cuda_backend, "cuda_device", lambda name: name)
    monkeypatch.setattr(cuda_backend, "CudaRunner", lambda *args: made.append(SimulatedRunner(*args)) or made[-1])
    return made


@pytest.fixture
def one(pair):
    return replace(pair, name="one", device="cuda:0")


@pytest.fixture
def other(one):
    return replace(one, name="other")


class Fails(gs.Policy):
    def decide(self, state):
        raise RuntimeError("not today")


def test_policies_take_turns_within_a_repeat(runner, one, other):
    gs.compare([one, other], ["fifo", "srtf"], repeats=2)
    assert runner[0].made == [
        step
        for name in ("one", "other")
        for step in [
            ("prepare", name),
            ("warm up", name),
            *((name, repeat, policy) for repeat in (0, 1) for policy in ("fifo", "srtf")),
        ]
    ]


def test_all_traces_of_a_single_workload_are_kept(runner, one):
    result = gs.compare(one, ["fifo", "srtf"], repeats=2)
    assert all(run.has_trace for run in result.runs)


def test_of_several_workloads_the_first_traces_are_kept(runner, one, other, tmp_path):
    result = gs.compare([one, other], ["fifo", "srtf"], repeats=2)
    assert [run.seed for run in result.runs if run.has_trace] == [0] * 4
    assert result.run("srtf", "other").trace.event_count > 0
    report = result.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert report.count('"makespan_ns":') == 4  # one embedded trace per workload and policy


def test_a_policy_that_fails_is_left_out_from_then_on(runner, one, other):
    result = gs.compare([one, other], ["fifo", Fails()], repeats=2)
    assert result.policies == ["fifo"]
    assert "not today" in result.errors["Fails"]
    assert "(workload 'one')" in result.errors["Fails"]
    assert [step for step in runner[0].made if "Fails" in step] == [("one", 0, "Fails")]


def test_a_timeout_says_which_run_it_was(runner, one, other, monkeypatch):
    monkeypatch.setattr(SimulatedRunner, "slow", [("other", 1, "srtf")])
    with raises_naming(TimeoutError, 1):
        gs.compare([one, other], ["fifo", "srtf"], repeats=2, timeout=7)
    assert runner[0].timeout_s == 7


def test_a_deadline_names_workload_policy_and_launches(one):
    from gpushare.backends.cuda.run import deadline

    assert not deadline(100, one, "srtf")(lambda: ["never asked"])
    with raises_naming(TimeoutError, "one", "srtf", -1, "k", "long", "l", "short"):
        deadline(-1, one, "srtf")(lambda: ["'k' of 'long'", "'l' of 'short'"])
    with raises_naming(TimeoutError, "one", "srtf", -1):
        deadline(-1, one, "srtf")(list)
