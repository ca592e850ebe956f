# SPDX-License-Identifier: Apache-2.0
"""Perfetto traces, parsed back with the package's own protobuf classes."""

from collections import defaultdict

import pytest

import gpushare as gs

pytest.importorskip("perfetto")

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from gpushare.reports.perfetto import quota_words, residency_changes, sm_groups, steps, waiting_launches
from gpushare.reports.trace_packets import slots


@pytest.fixture(scope="module")
def run():
    kernel = gs.KernelModel("triad", threads=256, registers_per_thread=32, latency_ns=20_000, issue_ns=3_000)
    first = gs.Application(
        "alice", [gs.Copy("to_device", 400_000), gs.Launch(kernel, 600), gs.Copy("to_host", 100_000)]
    )
    second = gs.Application("bob", [gs.Launch(kernel, 200), gs.Launch(kernel, 100)], arrival_ns=5_000)
    return gs.run(gs.Workload("two", [first, second]), "srtf", device="gtx480")


@pytest.fixture(scope="module")
def trace(run, tmp_path_factory):
    return parsed(run.to_perfetto(tmp_path_factory.mktemp("perfetto") / "run.pftrace"))


def parsed(path):
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    return trace


def tracks(trace):
    """uuid -> (name, parent's uuid)."""
    found = {}
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            each = packet.track_descriptor
            name = each.name or each.thread.thread_name or each.process.process_name
            found[each.uuid] = (name, each.parent_uuid)
    return found


def slices(trace):
    """Track's uuid -> list of (begin ns, end ns, name, event); fails where slices on one track overlap."""
    found, still_open = defaultdict(list), {}
    for packet in trace.packet:
        event = packet.track_event
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in still_open, "slices on one track overlap"
            still_open[event.track_uuid] = (packet.timestamp, event)
        elif event.type == TrackEvent.TYPE_SLICE_END:
            begin, opened = still_open.pop(event.track_uuid)
            found[event.track_uuid].append((begin, packet.timestamp, opened.name, opened))
    assert not still_open
    return found


def counters(trace, name):
    """The values of one counter: list of (ns, value)."""
    (uuid,) = [uuid for uuid, (track, _) in tracks(trace).items() if track == name]
    return [
        (packet.timestamp, packet.track_event.counter_value)
        for packet in trace.packet
        if packet.track_event.type == TrackEvent.TYPE_COUNTER and packet.track_event.track_uuid == uuid
    ]


def test_every_block_is_a_slice_on_its_sm(run, trace):
    names = tracks(trace)
    drawn = sorted(
        (int(names[uuid][0].split()[1]), begin, end, name)
        for uuid, here in slices(trace).items()
        if " slot " in names[uuid][0]
        for begin, end, name, _ in here
    )
    table = run.blocks()
    expected = zip(table["sm"], table["start_ns"], table["end_ns"], table["application"], strict=True)
    assert drawn == sorted((sm, start, end, f"{application}: triad") for sm, start, end, application in expected)


def test_a_group_of_blocks_is_one_slice_with_its_count(run, in_groups, tmp_path):
    grouped = in_groups(run)
    trace = parsed(grouped.to_perfetto(tmp_path / "groups"))
    names = tracks(trace)
    drawn = [each for uuid, here in slices(trace).items() if " slot " in names[uuid][0] for each in here]
    table = grouped.blocks()
    assert table["blocks"].max() > 1
    assert len(drawn) == len(table) < run.record.blocks
    noted = [{note.name: note.int_value for note in event.debug_annotations} for *_, event in drawn]
    assert sum(note["blocks"] for note in noted) == run.record.blocks
    for (_, _, name, _), note in zip(drawn, noted, strict=True):
        assert name.endswith(f": triad ({note['blocks']} blocks)" if note["blocks"] > 1 else ": triad")


def test_counters_follow_groups(run, trace, in_groups, tmp_path):
    grouped = parsed(in_groups(run).to_perfetto(tmp_path / "groups"))
    for name in ("SM 4 resident blocks", "waiting launches"):
        assert counters(grouped, name) == counters(trace, name)


def test_steps_of_nothing_are_none():
    times, values = steps([], [])
    assert len(times) == len(values) == 0


def test_every_event_is_on_a_known_track(trace):
    known = tracks(trace)
    assert len(known) == sum(packet.HasField("track_descriptor") for packet in trace.packet)
    assert all(packet.track_event.track_uuid in known for packet in trace.packet if packet.HasField("track_event"))
    assert all(parent in known for _, parent in known.values() if parent)


def test_applications_show_launches_and_copies(run, trace):
    names = tracks(trace)
    processes = {
        parent: name for name, parent in ((names[p][0], u) for u, (n, p) in names.items() if n == "operations")
    }
    shown = {processes[uuid]: [each[:3] for each in here] for uuid, here in slices(trace).items() if uuid in processes}
    launches = run.launches()
    assert [each[2] for each in shown["alice"]] == ["copies to GPU", "triad", "copies to host"]
    bob = launches[launches["application"] == "bob"]
    assert [each[:2] for each in shown["bob"]] == list(zip(bob["arrival_ns"], bob["end_ns"], strict=True))


def test_flows_lead_from_a_launch_to_its_first_block(run, trace):
    sources, targets = {}, {}
    for here in slices(trace).values():
        for begin, _, _, event in here:
            sources.update((flow, begin) for flow in event.flow_ids)
            targets.update((flow, begin) for flow in event.terminating_flow_ids)
    first = run.blocks().groupby("launch")["start_ns"].min()
    assert targets == {launch + 1: start for launch, start in first.items()}
    arrivals = run.launches().set_index("launch")["arrival_ns"]
    assert sources == {launch + 1: arrival for launch, arrival in arrivals.items()}


def test_counters_count(run, trace):
    table = run.blocks()
    here = table[table["sm"] == 4]
    steps = counters(trace, "SM 4 resident blocks")
    for time_ns, value in steps[::7]:
        assert value == ((here["start_ns"] <= time_ns) & (here["end_ns"] > time_ns)).sum()
    assert steps[-1][1] == 0
    waiting = counters(trace, "waiting launches")
    assert max(value for _, value in waiting) >= 1
    assert waiting[-1][1] == 0


def test_engines_have_their_own_tracks(run, trace):
    names = tracks(trace)
    engines = {names[uuid][0]: here for uuid, here in slices(trace).items() if names[uuid][0].startswith("copies to")}
    copies = run.copies()
    assert {name: (here[0][0], here[0][1]) for name, here in engines.items()} == {
        "copies to GPU": tuple(copies.loc[copies["direction"] == "to_device", ["start_ns", "end_ns"]].iloc[0]),
        "copies to host": tuple(copies.loc[copies["direction"] == "to_host", ["start_ns", "end_ns"]].iloc[0]),
    }


def test_plans_are_instants_with_their_quotas(run, trace):
    plans = [packet for packet in trace.packet if packet.track_event.type == TrackEvent.TYPE_INSTANT]
    decisions = run.decisions()
    assert len(plans) == (decisions["rank"] == 0).sum()
    assert sum(len(packet.track_event.debug_annotations) for packet in plans) == len(decisions)
    note = plans[0].track_event.debug_annotations[0]
    assert note.name == "rank 0"
    assert note.string_value.endswith("blocks on every SM")


def test_the_same_run_gives_the_same_bytes(run, tmp_path):
    again = gs.run(run.workload, "srtf", device="gtx480")
    one, other = run.to_perfetto(tmp_path / "one").read_bytes(), again.to_perfetto(tmp_path / "other").read_bytes()
    assert one == other


def test_times_are_in_order(trace):
    times = [packet.timestamp for packet in trace.packet if packet.HasField("track_event")]
    assert times == sorted(times)


def test_many_sms_are_grouped():
    assert len(sm_groups(132)) == 27
    assert [sm for group in sm_groups(132) for sm in group] == list(range(132))
    assert len(sm_groups(32)) == 32


def test_slots_are_reused_from_the_lowest():
    assert slots([0, 0, 0, 4, 5], [4, 6, 5, 9, 7]) == [0, 1, 2, 0, 2]


def test_waiting_counts_launches_without_blocks(run):
    times, values = waiting_launches(run.launches(), residency_changes(run))
    for time_ns, value in zip(times, values, strict=True):
        table, launches = run.blocks(), run.launches()
        resident = set(table[(table["start_ns"] <= time_ns) & (table["end_ns"] > time_ns)]["launch"])
        there = launches[(launches["arrival_ns"] <= time_ns) & (launches["end_ns"] > time_ns)]["launch"]
        assert value == len(set(there) - resident)


def test_quotas_in_words():
    assert quota_words([2, 2, 0, 1]) == "SMs 0-1: 2, SM 2: 0, SM 3: 1"
