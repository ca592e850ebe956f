# SPDX-License-Identifier: Apache-2.0
"""The run that a session on a simulated device leaves."""

import time

import pytest

import gpushare as gs

PATIENCE_S = 30


def model(name="k", block_ms=1.0, **cost):
    return gs.KernelModel(name, threads=192, latency_ns=block_ms * 1e6, **cost)


def durations(run):
    launches = run.launches()
    return (launches["end_ns"] - launches["arrival_ns"]).tolist()


def test_an_application_by_itself_has_no_slowdown():
    varied = model(block_ms=200, variation_ratio=0.8)  # the clock goes on between two submissions
    with gs.Session("sim:gtx480", "fifo") as session:
        alice = session.application("alice")
        jobs = [alice.submit(varied, grid=40, block=192) for _ in range(3)]
        jobs[-1].result(PATIENCE_S)
        run = session.finish()
    known = gs.Workload("known", [gs.Application("alice", 3 * [gs.Launch(varied, 40)])])
    assert durations(run) == pytest.approx(durations(gs.run(known, "fifo", device="gtx480")), rel=0.01)
    assert run.ntt() == pytest.approx([1], rel=0.01)


def test_an_application_cancelled_before_its_first_block_is_left_out(tmp_path):
    with gs.Session("sim:gtx480", "fifo") as session:
        alice, bob = session.application("alice"), session.application("bob")
        alice.submit(model(block_ms=50), grid=1000, block=192)
        bob.submit(model("other"), grid=1, block=192)
        while len(session.status().applications) < 2:
            pass
        bob.cancel()
        run = session.finish()
    assert [each.name for each in run.workload.applications] == ["alice"]
    assert run.metrics()["stp"] == pytest.approx(1, rel=0.01)
    gs.Result([run]).save(tmp_path / "run.zip")
    loaded = gs.Result.load(tmp_path / "run.zip").runs[0]
    assert (loaded.workload, loaded.trace) == (run.workload, run.trace)


def test_an_application_has_the_priority_that_it_came_with():
    with gs.Session("sim:gtx480", "fifo") as session:
        alice = session.application("alice", priority=1)
        job = alice.submit(model(block_ms=50), grid=15, block=192)
        alice.set_priority(9)
        job.result(PATIENCE_S)
        run = session.finish()
        assert alice.priority == 9
    assert [each.priority for each in run.workload.applications] == [1]


def test_a_pause_between_launches_is_no_slowdown_and_waiting_behind_others_is():
    with gs.Session("sim:gtx480", "fifo") as session:
        alice, bob = session.application("alice"), session.application("bob")
        for _ in range(2):
            alice.submit(model(block_ms=20), grid=15 * 8 * 2, block=192)
            bob.submit(model("other", block_ms=20), grid=15 * 8, block=192).result(PATIENCE_S)
            time.sleep(1)
        run = session.finish()
    table = run.applications().set_index("application")
    (alone, other) = run.ntt()
    assert alone == pytest.approx(1, rel=0.1)
    assert other > 1.5, "bob waits for alice in both rounds"
    assert (table["ntt"] == table["turnaround_ns"] / table["alone_ns"]).all()
    pause_ns = table["end_ns"] - table["arrival_ns"] - table["turnaround_ns"]
    assert (pause_ns > 0.9e9).all(), "the pauses are in no turnaround"
    assert run.metrics()["turnaround_p99_ns"] < 0.9e9


def test_turnaround_of_a_workload_is_from_arrival_to_end(pair):
    run = gs.run(pair, "fifo")
    table = run.applications()
    assert table["turnaround_ns"].tolist() == (table["end_ns"] - table["arrival_ns"]).tolist()
