# SPDX-License-Identifier: Apache-2.0
"""Orderings in sessions: whose launches go next."""

import threading
import time

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core

PATIENCE_S = 60
DEVICE = "sim:gtx480"  # 15 SMs
ENDLESS = 10_000_000
SHORTEST_FIRST = "cumas:objective=turnaround"


def model(block_ms):
    return gs.KernelModel(f"of {block_ms} ms", threads=192, latency_ns=block_ms * 1e6)


def submit(application, block_ms, blocks=15):
    return application.submit(model(block_ms), grid=blocks, block=192)


def await_running(session, name):
    end = time.monotonic() + PATIENCE_S
    while not any((each.name, each.started > 0) == (name, True) for each in session.status().applications):
        assert time.monotonic() < end, f"{name} never began"


def began(run):
    """Applications in the order in which their launches came to the device."""
    return run.launches().sort_values("arrival_ns", kind="stable")["application"].tolist()


def overlapping(run):
    """Launches that came before the one before them had ended."""
    launches = run.launches().sort_values("arrival_ns")
    return int((launches["arrival_ns"].to_numpy()[1:] < launches["end_ns"].to_numpy()[:-1]).sum())


def after_a_long_one(ordering, policy="fifo"):
    """Three applications submit while another one runs, the longest first."""
    with gs.Session(DEVICE, policy, ordering=ordering) as session:
        hold = session.application("hold")
        submit(hold, 50, blocks=ENDLESS)
        await_running(session, "hold")
        for name, block_ms in (("long", 30), ("middle", 20), ("short", 10)):
            submit(session.application(name), block_ms)
        hold.cancel()
        return session.finish(PATIENCE_S)


def test_the_shortest_task_goes_next():
    run = after_a_long_one(SHORTEST_FIRST)
    assert began(run) == ["hold", "short", "middle", "long"]
    assert overlapping(run) == 0
    assert run.policy == f"{SHORTEST_FIRST}+fifo"


def test_strings_keeps_the_order_in_which_they_came():
    run = after_a_long_one("strings", "srtf")
    assert began(run) == ["hold", "long", "middle", "short"]
    assert overlapping(run) == 0


def test_two_tasks_may_be_in_their_kernels():
    assert overlapping(after_a_long_one("strings:kernels=2", "even")) > 0


@pytest.mark.parametrize("policy", ["fifo", "srtf", "even"])
def test_arrival_is_no_ordering(policy):
    run = after_a_long_one("arrival", policy)
    assert began(run) == ["hold", "long", "middle", "short"]
    assert overlapping(run) == 3
    assert run.policy == policy


@pytest.mark.parametrize("policy", [entry.name for entry in _core.policies() if not entry.is_oracle])
def test_it_goes_with_every_policy(policy):
    with gs.Session(DEVICE, policy, ordering="cumas:kernels=2", speed=10) as session:
        applications = [session.application(name) for name in "abcd"]
        for job in [submit(each, 2, blocks=100) for each in applications for _ in range(2)]:
            job.result(PATIENCE_S)
        assert len(session.finish(PATIENCE_S).launches()) == 8


def test_what_is_held_back_waits():
    with gs.Session(DEVICE, "fifo", ordering="strings") as session:
        alice, bob = session.application("alice"), session.application("bob")
        submit(alice, 1, blocks=150_000)
        await_running(session, "alice")
        job = submit(bob, 7)
        submit(bob, 5)
        (held,) = [each for each in session.status().applications if each.name == "bob"]
        assert (held.state, held.kernel, held.blocks, held.waiting) == ("waiting", "of 7 ms", 15, 1)
        bob.cancel()
        with raises_naming(gs.Cancelled, "bob"):
            job.result(PATIENCE_S)
        assert [each.name for each in session.status().applications] == ["alice"]
        alice.cancel()
        carol = session.application("carol")
        submit(carol, 1)
        run = session.finish(PATIENCE_S)
    assert run.applications()["application"].tolist() == ["alice", "carol"]
    assert run.launches()["application"].tolist() == ["alice", "carol"]


def test_a_cancelled_application_is_not_waited_for():
    with gs.Session(DEVICE, "fifo", ordering="cumas") as session:
        alice, bob = session.application("alice"), session.application("bob")
        for _ in range(3):
            endless = submit(alice, 1, blocks=ENDLESS)
        job = submit(bob, 1)
        alice.cancel()
        job.result(PATIENCE_S)
        with pytest.raises(gs.Cancelled):
            endless.result(PATIENCE_S)


def test_many_threads():
    with gs.Session(DEVICE, "srtf", ordering="cumas:window=3", speed=100) as session:

        def work(name):
            application = session.application(name)
            for number in range(20):
                job = submit(application, 1 + number % 3)
                if number % 4 == 0:
                    job.result(PATIENCE_S)

        threads = [threading.Thread(target=work, args=(f"thread {number}",)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(session.finish(PATIENCE_S).launches()) == 120


def test_another_policy_leaves_the_ordering():
    with gs.Session(DEVICE, "fifo", ordering="strings") as session:
        first = session.application("a")
        submit(first, 30, blocks=ENDLESS)
        await_running(session, "a")
        for name in "bc":
            submit(session.application(name), 30)
        session.set_policy("even")
        first.cancel()
        run = session.finish(PATIENCE_S)
    assert (began(run), overlapping(run)) == (["a", "b", "c"], 0)
    assert run.policy == "strings+fifo, then even"


@pytest.mark.parametrize(
    ("ordering", "named"),
    [
        ("fast", ("fast", "arrival", "strings", "cumas")),
        ("cumas:window=40", ("window", "1..32", 40)),
        ("cumas:memory_gb=1", "memory_gb"),
        ("cumas+srtf", "cumas+srtf"),
        (3, ("ordering", 3)),
    ],
)
def test_orderings_that_cannot_be(ordering, named):
    with raises_naming(gs.InvalidInput, named):
        gs.Session(DEVICE, "fifo", ordering=ordering)


def test_an_ordering_is_no_part_of_a_policy():
    with raises_naming(gs.InvalidInput, "cumas+srtf"):
        gs.Session(DEVICE, "cumas+srtf")
    with gs.Session(DEVICE, "fifo") as session, raises_naming(gs.InvalidInput, "cumas+srtf"):
        session.set_policy("cumas+srtf")
