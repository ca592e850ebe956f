# SPDX-License-Identifier: Apache-2.0
"""Orderings before the + of a policy's name, and the solvers behind them."""

import math

import pytest
from messages import raises_naming

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
    ("name", "named"),
    [
        ("fast+fifo", ("fast", "arrival", "strings", "cumas")),
        ("cumas+fast", ("fast", "fifo")),
        ("cumas", ("cumas", "fifo")),
        ("cumas:window=40+fifo", ("window", "1..32", 40)),
        ("cumas:colour=red+fifo", "colour"),
        ("+fifo", ()),
        ("cumas:pieces=fast+fifo", ("pieces", "short", "urgent", "fast")),
        ("cumas:objective=weighted:pieces=fast+fifo", ("pieces", "short", "urgent", "fast")),
        ("cumas:piece_mb=0+fifo", ("piece_mb", "1e-06..1e+06", 0)),
        ("cumas:bandwidth_loss_share=1+fifo", ("bandwidth_loss_share", "0.001..0.9", 1)),
        ("cumas:search_ns=0+fifo", ("search_ns", "1000..1e+12", 0)),
        ("arrival:pieces=short+fifo", "pieces"),
    ],
)
def test_what_is_wrong_is_said(three, name, named):
    with raises_naming(gs.InvalidInput, named):
        gs.compare(three, [name], device="sim:gtx480")


def test_applications_that_exceed_memory_wait_or_are_refused(three):
    fits = gs.run(three, "cumas:memory_gb=0.006+fifo", device="sim:gtx480")
    free = gs.run(three, "cumas+fifo", device="sim:gtx480")
    assert fits.metrics()["makespan_ns"] >= free.metrics()["makespan_ns"]
    with raises_naming(gs.InvalidInput, 3000000):
        gs.run(three, "cumas:memory_gb=0.003+fifo", device="sim:gtx480")


def test_the_decisions_of_an_ordered_run_follow_from_its_events(three):
    made = gs.run(three, "cumas+srtf", device="sim:gtx480")
    assert _core.replay(made.trace, made.device, three.on(made.device), "cumas+srtf") == made.trace


def behind(size):
    kernel = gs.KernelModel("k", threads=64, latency_ns=2_000)

    def application(name, size, arrival_ns):
        operations = [gs.Copy("to_device", size), gs.Launch(kernel, 4), gs.Copy("to_host", size)]
        return gs.Application(name, operations, arrival_ns=arrival_ns)

    return gs.Workload("behind", [application("large", 10**9, 0), application("small", size, 10**6)])


def turnaround_ms(policy, size=10**6):
    return gs.run(behind(size), policy, device="sim:h100").applications()["turnaround_ns"] / 1e6


def test_a_small_copy_need_not_wait_for_a_large_one():
    whole, pieces = turnaround_ms("cumas+fifo"), turnaround_ms("cumas:pieces=short+fifo")
    assert whole[1] > 17 > 1 > pieces[1]
    assert whole[0] < pieces[0] < 1.03 * whole[0]  # 2 % each way, and the small one's copies


def test_an_ordering_for_turnaround_has_pieces():
    assert turnaround_ms("cumas:objective=turnaround+fifo")[1] < 1
    assert turnaround_ms("cumas:objective=weighted:window=3+fifo")[1] < 1
    assert turnaround_ms("cumas:objective=turnaround:pieces=no+fifo")[1] > 17
    assert turnaround_ms("strings:objective=turnaround+fifo")[1] > 17


def test_larger_pieces_cost_less_and_wait_longer():
    times = [turnaround_ms(f"cumas:pieces=short:bandwidth_loss_share={loss}+fifo") for loss in (0.2, 0.05, 0.01)]
    assert times[0][1] < times[1][1] < times[2][1]
    assert times[0][0] > times[1][0] > times[2][0]


def test_a_simulated_run_waits_for_no_search(three):
    runs = [gs.run(three, f"cumas:search_ns={time}+fifo", device="sim:gtx480") for time in (1000, 1_000_000)]
    assert runs[0].trace.to_bytes() == runs[1].trace.to_bytes()


def test_order_tasks():
    tasks = [(9, 3, 1), (1, 5, 8)]
    best = _core.order_tasks(tasks, "cumas")
    assert (best.order, best.cost_ns, best.is_proven_best) == ([1, 0], 15, True)
    assert _core.order_tasks(tasks, "strings").cost_ns == 25
    assert _core.order_tasks(tasks, "cumas", engines_ns=(0, 0, 100)).cost_ns == 109
    assert _core.total_time_ns(tasks, [1, 0]) == 15
    many = [(each % 7 + 1, each % 5 + 1, each % 3 + 1) for each in range(20)]
    early = _core.order_tasks(many, "cumas-bf", nodes=10**12, limit_s=0.05)
    assert sorted(early.order) == list(range(20))
    assert early.lower_bound_ns <= early.cost_ns
    with raises_naming(gs.InvalidInput, "fast", "strings"):
        _core.order_tasks(tasks, "fast")
    with raises_naming(gs.InvalidInput, 0, -1):
        _core.order_tasks([(-1, 0, 0)], "cumas")
    with raises_naming(gs.InvalidInput, "0..", -5):
        _core.order_tasks(tasks, "cumas", engines_ns=(0, -5, 0))
    for wrong in (-1, math.nan, math.inf):
        with raises_naming(gs.InvalidInput, "limit_s"):
            _core.order_tasks(tasks, "cumas", limit_s=wrong)


@pytest.mark.parametrize("as_printed", [True, False])
@pytest.mark.parametrize(
    ("tasks", "order", "named"),
    [
        ([(1, 2, 3)], [1], 1),
        ([(1, 2, 3)], [-1], -1),
        ([(1, 2, 3)], [0, 0], 0),
        ([(1, -2, 3)], [0], (0, -2)),
        ([(2**62, 2**62, 2**62)], [0], 200),
    ],
)
def test_total_time_of_an_order_that_cannot_be_is_refused(tasks, order, named, as_printed):
    with raises_naming(ValueError, named):
        _core.total_time_ns(tasks, order, as_printed=as_printed)


def test_total_time_of_tasks_that_leave_engines_out_is_what_a_solver_says():
    tasks = [(10, 0, 20), (0, 30, 0), (0, 0, 7), (0, 0, 0), (5, 5, 0)]
    for ordering in (each.name for each in _core.orderings() if each.has_windows):
        solved = _core.order_tasks(tasks, ordering)
        assert _core.total_time_ns(tasks, solved.order) == solved.cost_ns


def test_kernel_time():
    times = _core.KernelTime()
    assert times.of(10) is None
    times.add(10, 1000)
    assert (times.of(80), times.is_linear) == (8000, True)
