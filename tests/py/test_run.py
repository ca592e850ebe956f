# SPDX-License-Identifier: Apache-2.0
"""One run: its tables agree with each other and with the workload."""

from dataclasses import replace

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs


@pytest.fixture
def one(pair):
    return gs.run(pair, "srtf")


def test_every_block_ran_exactly_once(one):
    blocks = one.blocks()
    counted = blocks.groupby(["application", "launch"])["block"]
    assert counted.nunique().to_dict() == {("long", 1): 900, ("short", 3): 45}
    assert counted.size().to_dict() == {("long", 1): 900, ("short", 3): 45}
    assert (blocks["end_ns"] > blocks["start_ns"]).all()
    assert set(blocks["sm"]) == set(range(15))
    assert set(blocks["kernel"]) == {"kernel"}
    assert one.record.blocks == len(blocks) == len(one.to_pandas())


def test_single_blocks_are_rows_of_one(one):
    assert set(one.blocks()["blocks"]) == {1}
    places = ["device", "sm", "block", "blocks"]
    assert list(one.blocks()) == ["application", "launch", "kernel", *places, "start_ns", "end_ns"]


def test_blocks_that_ended_together_are_one_row(one, in_groups):
    single, grouped = one.blocks(), in_groups(one).blocks()
    assert grouped["blocks"].max() > 1
    assert grouped.groupby("launch")["blocks"].sum().to_dict() == {1: 900, 3: 45}
    of_a_group = ["application", "launch", "kernel", "sm", "end_ns"]
    counted = single.groupby(of_a_group, sort=False)["block"].size()
    assert grouped.set_index(of_a_group)["blocks"].to_dict() == counted.to_dict()
    for _, launch in grouped.groupby("launch"):
        assert list(launch["block"]) == [0, *launch["blocks"].cumsum()[:-1]]


def test_a_group_starts_its_mean_duration_before_its_end(one, in_groups):
    def block_time(table):
        return ((table["end_ns"] - table["start_ns"]) * table["blocks"]).sum()

    grouped = in_groups(one).blocks()
    # Means are rounded to the nanosecond.
    assert block_time(grouped) == pytest.approx(block_time(one.blocks()), abs=one.record.blocks)


def test_residency_changes_end_at_nothing(one, in_groups):
    for run in (one, in_groups(one)):
        changes = run.trace.residency_changes()
        assert changes["change"].sum() == 0
        assert np.abs(changes["change"]).sum() == 2 * run.record.blocks


def test_no_sm_holds_more_blocks_than_fit(one, kernel):
    blocks = one.blocks()
    most = kernel.max_residency(one.device)
    for _, on_sm in blocks.groupby("sm"):
        steps = [(start, 1) for start in on_sm["start_ns"]] + [(end, -1) for end in on_sm["end_ns"]]
        resident = np.cumsum([change for _, change in sorted(steps)])
        assert resident.max() <= most


def test_operations_follow_each_other(one):
    copies, launches = one.copies(), one.launches().set_index("application")
    assert list(copies["direction"]) == ["to_device", "to_host"]
    assert list(copies["bytes"]) == [60_000, 6_000]
    assert launches.loc["long", "arrival_ns"] >= copies["end_ns"][0]
    assert copies["start_ns"][1] >= launches.loc["long", "end_ns"]
    assert launches.loc["long", "blocks"] == 900


def test_a_copy_takes_latency_and_bytes_over_bandwidth(one):
    # gtx480.toml: 10 us and 6 GB/s, so 60 kB take 20 us.
    first = one.copies().iloc[0]
    assert first["end_ns"] - first["start_ns"] == 20_000


def test_applications_table(one):
    table = one.applications().set_index("application")
    assert table["turnaround_ns"].equals(table["end_ns"] - table["arrival_ns"])
    assert table.loc["short", "arrival_ns"] == 50_000
    assert np.allclose(table["ntt"], table["turnaround_ns"] / table["alone_ns"])
    assert table["end_ns"].max() == one.record.makespan


def test_alone_is_a_run_alone(one, pair):
    alone = gs.run(pair.alone("long"), "fifo")
    assert one.alone_ns["long"] == alone.record.ends[0]
    assert alone.metrics()["stp"] == 1.0


def test_metrics_follow_from_the_tables(one):
    metrics, table, blocks = one.metrics(), one.applications(), one.blocks()
    assert metrics["stp"] == pytest.approx((1 / table["ntt"]).sum())
    assert metrics["antt"] == pytest.approx(table["ntt"].mean())
    assert metrics["strictf"] == pytest.approx(table["ntt"].min() / table["ntt"].max())
    assert metrics["turnaround_p50_ns"] == pytest.approx(table["turnaround_ns"].median())
    assert metrics["to_device_utilisation"] == pytest.approx(20_000 / metrics["makespan_ns"])
    busy = [covered(on_sm) for _, on_sm in blocks.groupby("sm")]
    assert metrics["sm_utilisation"] == pytest.approx(np.mean(busy) / metrics["makespan_ns"])


def covered(blocks):
    """Time in which at least one of the blocks ran."""
    total, until = 0, 0
    for start, end in sorted(zip(blocks["start_ns"], blocks["end_ns"], strict=True)):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def test_decisions_name_running_launches_with_quotas_in_range(one, kernel):
    decisions = one.decisions()
    most = kernel.max_residency(one.device)
    assert set(decisions["application"]) == {"long", "short"}
    assert decisions["time_ns"].is_monotonic_increasing
    for quota in decisions["quota"]:
        assert all(0 <= blocks <= most for blocks in (quota if isinstance(quota, list) else [quota]))
    # SRTF samples the newcomer on one SM, so at least one plan is not alike on all SMs.
    assert any(isinstance(quota, list) for quota in decisions["quota"])


def test_a_run_without_record_makes_the_same_trace_when_asked(pair):
    assert gs.run(pair, "srtf", record=False).trace == gs.run(pair, "srtf").trace


def test_a_run_that_cannot_be_made_again_says_so(pair):
    from dataclasses import replace

    lost = replace(gs.run(pair, "srtf", record=False), rerun=None)
    with raises_naming(gs.InvalidInput, "srtf"):
        _ = lost.trace


def test_names_may_be_any_printable_text(kernel):
    name = 'Ünï "quoted" [bold] <b>'
    run = gs.run(gs.Workload(name, [gs.Application(name, [gs.Launch(kernel, 20)])]), "fifo", device="gtx480")
    assert set(run.blocks()["application"]) == {name}


def test_without_a_time_alone_an_application_is_named(one):
    with raises_naming(gs.InvalidInput, "short"):
        replace(one, alone_ns=one.alone_ns | {"short": 0}).metrics()
