# SPDX-License-Identifier: Apache-2.0
"""States, preemption counts, memory and priorities as users see them."""

from __future__ import annotations

import pathlib

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core

NOTEBOOKS = pathlib.Path(__file__).parents[2] / "notebooks"
DEVICE = gs.device("h100")
KERNEL = gs.KernelModel("k", threads=1024, latency_ns=100_000)
ROOM = 2 * DEVICE.sms
"""Blocks of KERNEL that run at a time."""


def pair(**urgent: object) -> gs.Workload:
    patient = gs.Application("patient", [gs.Launch(KERNEL, 8 * ROOM)])
    return gs.Workload(
        "pair", [patient, gs.Application("urgent", [gs.Launch(KERNEL, ROOM)], 250_000, **{"priority": 5} | urgent)]
    )


def test_an_eviction_is_seen_and_counted():
    run = gs.run(pair(), "effisha-static", device=DEVICE)
    states = run.kernel_states()
    assert list(states.columns) == ["application", "operation", "state", "begin_ns", "end_ns"]
    words = list(states[states["application"] == "patient"]["state"])
    assert words == ["TORUN", "RUNNING", "TOEVICT", "READY", "TORUN", "RUNNING", "DONE"]
    assert list(states[states["application"] == "urgent"]["state"]) == ["TORUN", "RUNNING", "DONE"]
    counts = run.preemptions().set_index("application")
    assert list(counts["preemptions"]) == [1, 0]
    assert list(counts["priority"]) == [0, 5]
    assert 0 < counts.loc["patient", "eviction_ns"] <= 1.2 * 100_000


def test_no_launch_is_preempted_under_fifo():
    assert list(gs.run(pair(), "fifo", device=DEVICE).preemptions()["preemptions"]) == [0, 0]


def test_states_are_slices_of_the_perfetto_trace(tmp_path):
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    run = gs.run(pair(), "effisha-static", device=DEVICE)
    trace = Trace.FromString(run.to_perfetto(tmp_path / "run.pftrace").read_bytes())
    tracks = {each.track_descriptor.uuid for each in trace.packet if each.track_descriptor.name == "states"}
    names = [each.track_event.name for each in trace.packet if each.track_event.track_uuid in tracks]
    states = run.kernel_states()
    assert sorted(name for name in names if name) == sorted(states[states["state"] != "DONE"]["state"])


def test_an_application_whose_memory_does_not_fit_waits():
    half = DEVICE.memory_bytes // 2 + 1
    patient, urgent = pair(memory_bytes=half).applications
    both = gs.Workload("both", [gs.Application("patient", patient.operations, memory_bytes=half), urgent])
    run = gs.run(both, "effisha-static", device=DEVICE)
    states = run.kernel_states()
    waits = states[(states["application"] == "urgent") & (states["state"] == "PREP")].iloc[0]
    assert (waits["begin_ns"], waits["end_ns"]) == (250_000, run.record.ends[0])


def test_more_memory_than_the_device_has_is_refused_at_once():
    with raises_naming(gs.InvalidInput, "urgent"):
        gs.run(pair(memory_bytes=DEVICE.memory_bytes + 1), "fifo", device=DEVICE)


def test_memory_is_in_the_workload_file(tmp_path):
    workload = pair(memory_bytes=12345)
    assert gs.Workload.from_dict(workload.to_dict()) == workload
    assert "memory_bytes" not in workload.to_dict()["application"][0]


@pytest.mark.parametrize("wrong", [-1, 2**50 + 1, "1 GB"])
def test_memory_that_cannot_be_is_refused(wrong):
    with raises_naming(gs.InvalidInput, "memory_bytes"):
        pair(memory_bytes=wrong)


def test_a_priority_out_of_range_is_said_and_the_others_are_compared():
    result = gs.compare(pair(priority=-3), ["effisha-static", "effisha-dynamic"], device=DEVICE)
    assert list(result.metrics().index) == ["effisha-static"]
    assert "application 'urgent' has priority -3" in result.errors["effisha-dynamic"]


def test_a_session_asks_the_policy_before_anything_is_submitted():
    with raises_naming(gs.PolicyError, "late", -1):
        _core.require_priority("effisha-dynamic", "late", -1)
    _core.require_priority("effisha-static", "late", -1)


def test_the_plot_has_a_lane_per_application_with_its_priority():
    ax = gs.run(pair(), "effisha-static", device=DEVICE).plot.states()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["patient (0)", "urgent (5)"]
    bars = {each.get_gid(): 0 for each in ax.collections}
    for each in ax.collections:
        bars[each.get_gid()] += len(each.get_paths())
    assert bars == {"PREP": 0, "READY": 1, "TORUN": 3, "RUNNING": 3, "TOEVICT": 1}
    assert "effisha-static" in ax.get_title(loc="left")


def test_a_run_that_the_hardware_scheduled_has_no_states():
    recorded = [gs.Result.load(NOTEBOOKS / f"06_real_gpu{part}.result").runs for part in ("", "_timelines")]
    by_hardware = [run for runs in recorded for run in runs if not run.has_blocks]
    by_gpushare = [run for runs in recorded for run in runs if run.has_blocks and run.has_trace]
    assert len(by_hardware) > 0
    assert len(by_gpushare) > 0
    for run in by_hardware:
        with pytest.raises(gs.InvalidInput):
            run.kernel_states()
    for run in by_gpushare:
        assert set(run.kernel_states()["state"]) >= {"RUNNING", "DONE"}
