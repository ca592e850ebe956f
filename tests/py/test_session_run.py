# SPDX-License-Identifier: Apache-2.0
"""The run that a session on a simulated device leaves."""

import pytest

import gpushare as gs

PATIENCE_S = 30


def model(name="k", block_ms=1.0, **cost):
    return gs.KernelModel(name, threads=192, latency_ns=block_ms * 1e6, **cost)


def durations(run):
    launches = run.launches()
    return (launches["end_ns"] - launches["arrival_ns"]).tolist()


def test_who_was_alone_took_as_long_as_alone():
    varied = model(variation_ratio=0.8)
    with gs.Session("sim:gtx480", "fifo") as session:
        alice = session.application("alice")
        jobs = [alice.submit(varied, grid=40, block=192) for _ in range(3)]
        jobs[-1].result(PATIENCE_S)
        run = session.finish()
    known = gs.Workload("known", [gs.Application("alice", 3 * [gs.Launch(varied, 40)])])
    assert durations(run) == pytest.approx(durations(gs.run(known, "fifo", device="gtx480")), rel=0.01)
    assert run.ntt() == pytest.approx([1], rel=0.01)
