# SPDX-License-Identifier: Apache-2.0
"""Workloads: pairs, solos, arrivals, and the dictionary form."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import raises_naming

import gpushare as gs
from gpushare.model.workload import workload_names


def test_pairs_are_all_ordered_pairs():
    ercbench = gs.bundled_workload("ercbench")
    names = [application.name for application in ercbench.applications]
    pairs = ercbench.pairs()
    assert [pair.name for pair in pairs] == [f"{a}+{b}" for a, b in itertools.permutations(names, 2)]
    assert {pair.device for pair in pairs} == {"gtx480"}
    assert all(application.arrival_ns == 0 for pair in pairs for application in pair.applications)


def test_stagger_delays_the_second_beyond_its_own_arrival(kernel):
    first = gs.Application("first", [gs.Launch(kernel, 5)], arrival_ns=10)
    second = gs.Application("second", [gs.Launch(kernel, 5)], arrival_ns=200)
    arrivals = {
        pair.name: [each.arrival_ns for each in pair.applications]
        for pair in gs.Workload("two", [first, second]).pairs(stagger_ns=7)
    }
    assert arrivals == {"first+second": [10, 207], "second+first": [200, 17]}


@pytest.mark.parametrize("stagger_ns", [-1, float("nan"), float("inf"), "7", True])
def test_a_stagger_that_is_no_time_is_refused(pair, stagger_ns):
    with raises_naming(gs.InvalidInput, "stagger_ns"):
        pair.pairs(stagger_ns=stagger_ns)


def test_alone_keeps_the_work_and_drops_the_wait(pair):
    alone = pair.alone("short")
    assert [each.name for each in alone.applications] == ["short"]
    assert alone.applications[0].arrival_ns == 0
    assert alone.applications[0].operations == pair.applications[1].operations
    assert alone.device == "gtx480"


def test_arriving_moves_only_the_named(pair):
    moved = pair.arriving(long=5)
    assert [each.arrival_ns for each in moved.applications] == [5, 50_000]
    assert [each.arrival_ns for each in pair.applications] == [0, 50_000]


@pytest.mark.parametrize("change", [lambda pair: pair.alone("nobody"), lambda pair: pair.arriving(nobody=1)])
def test_an_unknown_application_lists_the_known_ones(pair, change):
    with raises_naming(gs.InvalidInput, "nobody", "long", "short"):
        change(pair)


def test_lists_and_generators_become_tuples(kernel):
    operations = (gs.Launch(kernel, blocks) for blocks in (1, 2))
    workload = gs.Workload("w", iter([gs.Application("a", operations)]))
    assert [launch.blocks for launch in workload.applications[0].operations] == [1, 2]
    assert hash(workload) == hash(gs.Workload("w", [gs.Application("a", [gs.Launch(kernel, 1), gs.Launch(kernel, 2)])]))


def test_numpy_numbers_are_numbers(kernel):
    import numpy as np

    launch = gs.Launch(kernel, np.int64(7))
    application = gs.Application("a", [launch], arrival_ns=np.float64(3), weight=np.float32(2))
    again = gs.Workload.from_dict(gs.Workload("w", [application]).to_dict()).applications[0]
    assert (again.operations[0].blocks, again.arrival_ns, again.weight) == (7, 3, 2)
    assert type(launch.blocks) is int


def test_bundled_pairs_survive_the_dictionary():
    for pair in gs.bundled_workload("ercbench").pairs(stagger_ns=36):
        assert gs.Workload.from_dict(pair.to_dict()) == pair


@given(
    threads=st.integers(1, 1024),
    registers=st.integers(0, 255),
    block_time=st.sampled_from(["latency_ns", "mean_block_time_ns", "mean_block_time_cycles"]),
    length=st.integers(1, 10**9),
    variation=st.floats(0, 10),
    blocks=st.integers(1, 10**9),
    priority=st.integers(-100, 100),
    weight=st.floats(0.01, 100),
)
def test_any_workload_survives_the_dictionary(
    threads, registers, block_time, length, variation, blocks, priority, weight
):
    times = {block_time: length * 1000}
    kernel = gs.KernelModel("k", threads, registers, variation_ratio=variation, **times)
    operations = [gs.Copy("to_device", blocks), gs.Launch(kernel, blocks), gs.Copy("to_host", 1)]
    application = gs.Application("a", operations, arrival_ns=length * 1000, priority=priority, weight=weight)
    workload = gs.Workload("w", [application, gs.Application("b", operations[:1])], device="k20")
    assert gs.Workload.from_dict(workload.to_dict()) == workload


def test_repeated_operations_survive_the_dictionary(kernel):
    launch, copy = gs.Launch(kernel, 7), gs.Copy("to_host", 5)
    application = gs.Application("a", 3 * [launch] + [copy] + 2 * [launch, gs.Launch(kernel, 8)])
    data = gs.Workload("w", [application]).to_dict()
    assert [each.get("repeat", 1) for each in data["application"][0]["operations"]] == [3, 1, 1, 1, 1, 1]
    assert gs.Workload.from_dict(data).applications == (application,)


def test_a_model_takes_blocks_or_a_grid(kernel):
    launch = gs.Launch(kernel, 12)
    assert launch == gs.Launch(kernel, grid=(3, 4)) == gs.Launch(kernel, grid=12, block=(8, 32))
    assert (launch.grid, launch.block) == (None, None)
    for wrong, named in (
        ({"args": [1]}, "args"),
        ({"shared_bytes": 8}, "shared_bytes"),
        ({"block": 128}, (128, 256)),
        ({"grid": 5}, (5, 12)),
    ):
        with raises_naming(gs.InvalidInput, named):
            gs.Launch(kernel, 12, **wrong)
    with raises_naming(gs.InvalidInput, "kernel", "blocks", "None"):
        gs.Launch(kernel)


def test_the_cuda_part_of_a_launch_of_a_model_is_refused(kernel):
    with raises_naming(gs.InvalidInput, kernel.name):
        _ = gs.Launch(kernel, 5).cuda


def test_two_kernels_of_one_name_cannot_be_written(kernel):
    from dataclasses import replace

    other = replace(kernel, threads=64)
    workload = gs.Workload("w", [gs.Application("a", [gs.Launch(kernel, 1), gs.Launch(other, 1)])])
    with raises_naming(gs.InvalidInput, "kernel"):
        workload.to_dict()


def test_an_unknown_bundled_workload_lists_the_known_ones():
    known = ", ".join(workload_names())
    with raises_naming(gs.InvalidInput, "erc", known):
        gs.bundled_workload("erc")


def test_an_application_arrives_at_a_whole_nanosecond_that_the_simulator_knows(kernel):
    launches = [gs.Launch(kernel, 5)]
    assert gs.Application("a", launches, arrival_ns=1001.7).arrival_ns == 1002
    late = gs.Workload("late", [gs.Application("a", launches, arrival_ns=9e15)])
    assert gs.run(late, "fifo", device="gtx480").ntt() == pytest.approx([1], rel=0.01)
    with raises_naming(gs.InvalidInput, "arrival_ns"):
        gs.Application("a", launches, arrival_ns=1e18)


def test_no_application_takes_no_time():
    brief = gs.KernelModel("brief", threads=128, latency_ns=1, variation_ratio=3)
    workload = gs.Workload("w", [gs.Application("a", [gs.Launch(brief, 1)])])
    for seed in range(10):
        assert gs.run(workload, "fifo", device="gtx480", seed=seed).metrics()["stp"] == 1


def test_the_text_of_a_workload_is_short_however_many_operations_it_has(kernel):
    one = gs.Application("one", [gs.Launch(kernel, 5)])
    many = gs.Application("many", 10_000 * [gs.Launch(kernel, 5)])
    assert repr(one) == "<Application: one, 1 operation>"
    assert repr(gs.Workload("both", [one, many])) == "<Workload: both, 2 applications, 10001 operations>"
    with raises_naming(gs.InvalidInput, ("<Application: many, 10000 operations>", "gpushare.Workload")):
        gs.run(many, "fifo")
