# SPDX-License-Identifier: Apache-2.0
"""Orderings on a GPU: whole tasks in their order, real copies in pieces, searches that end; nothing judges speed."""

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core
from gpushare.backends.cuda.copies import BufferPool, known_by_measured_copies
from gpushare.backends.cuda.loaded_workload import CudaWorkload
from gpushare.suite import KERNELS

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

LARGE, SMALL = 48_000_001, 100_003  # in odd pieces
ORDERED = [
    "strings+fifo",
    "cumas+fifo",
    "cumas:kernels=2+srtf",
    "cumas:objective=turnaround:window=2+even",
    "cumas-dp:estimates=learnt+fifo",
    "cumas:objective=weighted:pieces=urgent:piece_mb=0.3:kernels=3+srtf",
    "cumas:window=12:search_ns=1000+fifo",
]


@pytest.fixture(scope="module")
def launch():
    return gs.Launch.of_suite("early_return", "small")


def task(launch, to_device, to_host):
    return [gs.Copy("to_device", to_device), gs.Copy("to_device", SMALL), launch, gs.Copy("to_host", to_host)]


@pytest.fixture(scope="module")
def four(launch):
    """Two of them have a second task; one comes while the others copy."""
    applications = [
        gs.Application("a", [*task(launch, 8_000_000, SMALL), *task(launch, SMALL, SMALL)]),
        gs.Application("b", task(launch, SMALL, 5_000_000), weight=3.0),
        gs.Application("c", [*task(launch, 2_000_000, 2_000_000), launch], priority=1),
        gs.Application("late", task(launch, SMALL, SMALL), arrival_ns=300_000, priority=2),
    ]
    return gs.Workload("four", applications, device="cuda:0")


@pytest.fixture
def prepared(runner, four):
    return runner.prepare(four)


def check_results(prepared, launch):
    case = KERNELS["early_return"].case("small")
    (index,) = [place for place, each in enumerate(case.arguments) if each.is_output]
    written = prepared.loaded[launch].arguments[index].numpy()
    assert case.mistakes({case.arguments[index].name: written}) == []


@pytest.mark.parametrize("policy", ORDERED)
def test_an_ordered_run(runner, prepared, check_trace, check_metrics, launch, policy):
    run = runner.run(prepared, policy, 0, record=True)
    check_trace(run)
    check_metrics(run)
    check_results(prepared, launch)
    assert len(run.copies()) == sum(
        isinstance(each, gs.Copy) for application in run.workload.applications for each in application.operations
    )
    assert 0 < run.metrics()["to_device_utilisation"] <= 1
    assert _core.replay(run.trace, run.device, prepared.core, policy) == run.trace


def test_strings_serves_a_task_at_a_time(runner, prepared):
    """A direction has copies of one task, and kernels are those of one, in the order in which tasks came."""
    run = runner.run(prepared, "strings+fifo", 0, record=True)
    copies = run.copies()
    to_device = copies[(copies["direction"] == "to_device") & (copies["application"] != "late")]
    first_tasks = to_device.groupby("application").head(2).sort_values("start_ns")
    assert first_tasks["application"].tolist() == ["a", "a", "b", "b", "c", "c"]
    assert (to_device["start_ns"].to_numpy()[1:] >= to_device["end_ns"].to_numpy()[:-1]).all()
    launches = run.launches().sort_values("arrival_ns")
    assert (launches["arrival_ns"].to_numpy()[1:] >= launches["end_ns"].to_numpy()[:-1]).all()


def test_copies_hide_behind_kernels(runner, launch):
    """The second task copies while the first is in its kernels: that is what orderings are for."""
    applications = [
        gs.Application(name, [gs.Copy("to_device", 1_000_000), *(3 * [launch]), gs.Copy("to_host", 1_000)])
        for name in ("a", "b")
    ]
    run = runner.run(runner.prepare(gs.Workload("two", applications, device="cuda:0")), "strings+fifo", 0, record=True)
    copies, launches = run.copies(), run.launches()
    second = copies[(copies["application"] == "b") & (copies["direction"] == "to_device")]["start_ns"].iloc[0]
    assert second < launches[launches["application"] == "a"]["end_ns"].max()


@pytest.fixture(scope="module")
def behind(launch):
    """A small application that comes while a large one copies."""
    small = [gs.Copy("to_device", SMALL), launch, gs.Copy("to_host", SMALL)]
    applications = [
        gs.Application("large", [gs.Copy("to_device", LARGE), launch, gs.Copy("to_host", LARGE)]),
        gs.Application("small", small, arrival_ns=100_000),
    ]
    return gs.Workload("behind", applications, device="cuda:0")


def ends_of_copies(run):
    copies = run.copies()
    return copies.set_index(["application", "direction"])["end_ns"]


def test_a_small_copy_goes_between_pieces(runner, behind):
    prepared = runner.prepare(behind)
    whole = ends_of_copies(runner.run(prepared, "cumas+fifo", 0, record=True))
    assert whole["small", "to_device"] > whole["large", "to_device"]
    pieces = ends_of_copies(runner.run(prepared, "cumas:pieces=short:piece_mb=0.7+fifo", 0, record=True))
    assert pieces["small", "to_device"] < pieces["large", "to_device"]


@pytest.mark.parametrize(
    "pieces",
    [
        "piece_mb=0.7",
        "piece_mb=3.333:pieces_at_a_time=3",
        "piece_mb=100",
        "bandwidth_loss_share=0.3:pieces_at_a_time=2",
    ],
)
def test_pieces_bring_every_byte_to_its_place(runner, behind, pieces):
    pool = BufferPool(runner.device)
    prepared = CudaWorkload(runner.device, behind, {}, buffers=pool)
    dice = np.random.default_rng(1)
    to_device, to_host = pool.get(0, LARGE), pool.get(1, LARGE)
    sent = dice.integers(0, 256, LARGE, dtype=np.uint8)
    kept = dice.integers(0, 256, LARGE, dtype=np.uint8)
    np.asarray(to_device.host())[:] = sent
    to_host.device.upload(kept)
    np.asarray(to_host.host())[:] = 0
    policy = f"cumas:pieces=short:{pieces}+fifo"
    _core.run_on_cuda(runner.device.core, prepared.program, prepared.core, policy)
    arrived = np.zeros(LARGE, np.uint8)
    to_device.device.download(arrived)
    assert np.array_equal(arrived, sent)
    assert np.array_equal(np.asarray(to_host.host()), kept)


def test_orderings_learn_from_a_run_of_their_own(runner, prepared):
    before = runner._learnt.size
    runner.run(prepared, "cumas:estimates=learnt+fifo", 0, record=False)
    assert runner._learnt.size >= max(before, 1)


def test_copies_are_measured_where_no_profile_has_them(runner, size):
    slower = size(1, 1000)
    known = known_by_measured_copies(runner.device)
    for engine in (known.to_device, known.to_host):
        assert 0 <= engine.latency_ns < slower * 1_000_000
        assert 1e8 / slower < engine.bandwidth_bytes_per_s < 1e12
    assert known.sms == runner.device.description.sms


def test_compare_and_the_command(four, launch):
    result = gs.compare(four, ["fifo", "strings+fifo", "cumas+fifo", "cumas:kernels=2+srtf"], device="cuda:0")
    assert result.errors == {}
    assert list(result.metrics().index) == ["fifo", "strings+fifo", "cumas+fifo", "cumas:kernels=2+srtf"]
    with raises_naming(gs.InvalidInput, "fifo", "cumas"):
        gs.Session("cuda:0", "cumas+fifo")
    with raises_naming(gs.InvalidInput, 1000000):
        gs.run(four, "cumas:memory_gb=0.001+fifo", device="cuda:0")
