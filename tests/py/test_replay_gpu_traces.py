# SPDX-License-Identifier: Apache-2.0
"""Traces that were recorded on a GPU: policies still take the same decisions on them, without a GPU."""

import importlib.util
import pathlib

import numpy as np
import pandas as pd
import pytest

import gpushare as gs
from gpushare import _core
from gpushare.backends.simulator.simulation import alone_times

HERE = pathlib.Path(__file__).parent
FOLDER = HERE.parent / "data" / "gpu_traces"
RECORDED = sorted(FOLDER.glob("*.json"))
MOST_BYTES = 50_000

every_trace = pytest.mark.parametrize("description", RECORDED, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def recorder():
    spec = importlib.util.spec_from_file_location("record_traces", HERE / "gpu" / "record_traces.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_traces():
    assert RECORDED, f"{FOLDER} holds no trace: run gpu/record_traces.py"


@every_trace
def test_the_recorded_policy_decides_the_same(recorder, description):
    policy, trace, device, workload = recorder.load(description)
    assert trace.decision_count > 1
    assert _core.replay(trace, device, workload, policy) == trace


@every_trace
def test_every_policy_takes_recorded_events(recorder, description):
    policy, trace, device, workload = recorder.load(description)
    for entry in gs.policies():
        replayed = _core.replay(trace, device, workload, entry.name)
        assert replayed.event_count == trace.event_count
        assert replayed.decision_count > 1
        assert (replayed == trace) or entry.name != policy


@every_trace
def test_a_recorded_trace_adds_up(recorder, description):
    _, trace, _, workload = recorder.load(description)
    operations = [each for application in workload.applications for each in application.operations]
    launches = {place: each.blocks for place, each in enumerate(operations) if isinstance(each, _core.Launch)}
    blocks, changes = trace.blocks(), trace.residency_changes()
    ended = dict.fromkeys(launches, 0)
    for launch, count in zip(blocks["operation"], blocks["blocks"], strict=True):
        ended[launch] += count
    assert ended == launches
    resident = {}
    for launch, sm, change in zip(changes["operation"], changes["sm"], changes["change"], strict=True):
        resident[launch, sm] = resident.get((launch, sm), 0) + change
        assert resident[launch, sm] >= 0
    assert not any(resident.values())
    assert (np.diff(changes["time_ns"]) >= 0).all()
    assert (blocks["start_ns"] <= blocks["end_ns"]).all()


@every_trace
def test_a_recorded_trace_is_small_and_complete(description):
    events = description.with_suffix(".trace.xz")
    assert events.is_file()
    assert description.stat().st_size + events.stat().st_size <= MOST_BYTES


def test_no_trace_is_without_its_description():
    assert {path.name.removesuffix(".trace.xz") for path in FOLDER.glob("*.trace.xz")} == {
        path.stem for path in RECORDED
    }


@pytest.mark.parametrize("policy", ["fifo", "srtf", "sjf"])
def test_what_is_recorded_can_be_read_again(recorder, pair, in_groups, tmp_path, policy):
    """With a simulated trace, so that the format is tested where nothing has been recorded, too."""
    run = gs.run(pair, policy, device="h100")
    alone = {each.name: alone_times(each, run.device, 0)[1] for each in pair.applications}
    workload = pair.on(run.device, alone)
    trace = _core.replay(in_groups(run).trace, run.device, workload, policy)
    recorder.save(tmp_path, "pair", policy, trace, run.device, workload)
    loaded_policy, loaded_trace, device, loaded_workload = recorder.load(tmp_path / "pair.json")
    assert (loaded_policy, loaded_trace) == (policy, trace)
    assert recorder.workload_to_data(loaded_workload) == recorder.workload_to_data(workload)
    assert _core.replay(loaded_trace, device, loaded_workload, policy) == trace


@every_trace
def test_the_states_of_a_recorded_trace_have_no_gaps(recorder, description):
    _, trace, _, workload = recorder.load(description)
    table = pd.DataFrame(_core.kernel_states(trace, workload))
    ends = dict(zip(trace.launch_ends()["operation"], trace.launch_ends()["time_ns"], strict=True))
    assert set(table["operation"]) == set(ends)
    seen_running = 0
    for operation, states in table.groupby("operation"):
        assert list(states["begin_ns"][1:]) == list(states["end_ns"][:-1])
        assert (states["end_ns"] > states["begin_ns"])[:-1].all()
        assert (states["state"].iloc[-1], states["end_ns"].iloc[-1]) == ("DONE", ends[operation])
        seen_running += "RUNNING" in set(states["state"])
    assert seen_running > len(ends) / 2, "only what ends before the first look at it is not seen to run"
