# SPDX-License-Identifier: Apache-2.0
"""Orderings before the + of a policy's name, and the solvers behind them."""

import pytest

import gpushare as gs
from gpushare import _core


@pytest.fixture
def three():
    kernel = gs.KernelModel("k", threads=64, latency_ns=200_000)
    shapes = {"a": (4_000_000, 100, 1_000_000), "b": (500_000, 400, 2_000_000), "c": (2_000_000, 900, 100_000)}
    applications = [
        gs.Application(name, [gs.Copy("to_device", up), gs.Launch(kernel, blocks), gs.Copy("to_host", down)])
        for name, (up, blocks, down) in shapes.items()
    ]
    return gs.Workload("three", applications)


def test_an_ordering_goes_with_any_policy(three):
    names = ["fifo", "strings+fifo", "cumas+fifo", "cumas:window=2:kernels=3+srtf", "cumas-dp+even"]
    result = gs.compare(three, names, device="sim:gtx480")
    assert result.errors == {}
    assert list(result.metrics().index) == names
    assert result.metrics()["makespan_ns"]["cumas+fifo"] < result.metrics()["makespan_ns"]["strings+fifo"]


def test_arrival_is_no_ordering(three):
    with_arrival = gs.run(three, "arrival+srtf", device="sim:gtx480")
    assert with_arrival.trace.to_bytes() == gs.run(three, "srtf", device="sim:gtx480").trace.to_bytes()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fast+fifo", "no ordering 'fast'; known: 'arrival', 'strings', 'cumas'"),
        ("cumas+fast", "no policy 'fast'; known: fifo"),
        ("cumas", "no policy 'cumas'; known: fifo"),
        ("cumas:window=40+fifo", "window must be a number in 1..32, got '40'"),
        ("cumas:colour=red+fifo", "no option 'colour'; known: "),
        ("+fifo", "no ordering ''"),
    ],
)
def test_what_is_wrong_is_said(three, name, message):
    with pytest.raises(gs.InvalidInput, match=message):
        gs.compare(three, [name], device="sim:gtx480")


def test_applications_that_exceed_memory_wait_or_are_refused(three):
    fits = gs.run(three, "cumas:memory_gb=0.006+fifo", device="sim:gtx480")
    free = gs.run(three, "cumas+fifo", device="sim:gtx480")
    assert fits.metrics()["makespan_ns"] >= free.metrics()["makespan_ns"]
    with pytest.raises(gs.InvalidInput, match="more than the device's memory of 3000000: copy less at a time"):
        gs.run(three, "cumas:memory_gb=0.003+fifo", device="sim:gtx480")


def test_the_decisions_of_an_ordered_run_follow_from_its_events(three):
    made = gs.run(three, "cumas+srtf", device="sim:gtx480")
    assert _core.replay(made.trace, made.device, three.on(made.device), "cumas+srtf") == made.trace


def test_order_tasks():
    tasks = [(9, 3, 1), (1, 5, 8)]
    best = _core.order_tasks(tasks, "exact")
    assert (best.order, best.cost_ns, best.is_proven_best) == ([1, 0], 15, True)
    assert _core.order_tasks(tasks, "arrival").cost_ns == 25
    assert _core.order_tasks(tasks, "exact", engines_ns=(0, 0, 100)).cost_ns == 109
    assert _core.total_time_ns(tasks, [1, 0]) == 15
    many = [(each % 7 + 1, each % 5 + 1, each % 3 + 1) for each in range(20)]
    early = _core.order_tasks(many, "brute-force", nodes=10**12, limit_s=0.05)
    assert sorted(early.order) == list(range(20))
    assert early.lower_bound_ns <= early.cost_ns
    with pytest.raises(gs.InvalidInput, match="no solver 'fast'; known: 'arrival'"):
        _core.order_tasks(tasks, "fast")
    with pytest.raises(gs.InvalidInput, match="task 0: a duration must not be negative, got -1 ns"):
        _core.order_tasks([(-1, 0, 0)], "exact")


def test_kernel_time():
    times = _core.KernelTime()
    assert times.of(10) is None
    times.add(10, 1000)
    assert (times.of(80), times.is_linear) == (8000, True)
