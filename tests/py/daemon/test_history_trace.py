# SPDX-License-Identifier: Apache-2.0
"""Traces of a server: what is written is what is read back, and can be drawn."""

import math

import pytest

import gpushare as gs
from gpushare.daemon.supervisor.worker_process import COMMAND
from gpushare.daemon.worker.history import Look, Past, PastHold, PastJob, PastQuota, past_of
from gpushare.daemon.worker.history_trace import MOST_WAITING, history_trace
from gpushare.plots.axes import detached_axes
from gpushare.results.server_trace import ServerTrace

BEGIN_NS = 1_000


def rows(table, *columns):
    return list(table[list(columns)].itertuples(index=False, name=None))


END_NS = 1_700


def written(jobs=(), quotas=(), holds=(), looks=(), until_ns=END_NS):
    past = Past(list(jobs), list(quotas), list(holds)).until(until_ns)
    return ServerTrace.of(history_trace("sim:x", past, list(looks), (BEGIN_NS, until_ns)))


def test_jobs_wait_and_then_run():
    trace = written([
        PastJob("a", "k", 1_100, 1_200, 1_500, False),
        PastJob("a", "", 1_150, 1_500, 1_600, False),
        PastJob("a", "k", 1_160, 1_600, 1_700, True),
        PastJob("b", "m", 900, 950, None, False),
        PastJob("b", "m", 1_300, None, None, False),
    ])  # fmt: skip
    assert rows(trace.running(), "application", "name", "begin_ns", "end_ns") == [
        ("b", "m", 0, 700), ("a", "k", 200, 500), ("a", "copy", 500, 600), ("a", "k: cancelled", 600, 700),
    ]  # fmt: skip
    assert sorted(rows(trace.waiting(), "application", "track", "begin_ns", "end_ns")) == [
        ("a", "waiting 0", 100, 200), ("a", "waiting 1", 150, 500), ("a", "waiting 2", 160, 600),
        ("b", "waiting 0", 0, 0), ("b", "waiting 0", 300, 700),
    ]  # fmt: skip
    assert (trace.device, trace.applications, trace.end_ns) == ("sim:x", ["b", "a"], 700)


def test_what_a_window_ends_before_is_under_way_or_waits():
    trace = written([
        PastJob("a", "k", 1_100, 1_200, 1_500, True),
        PastJob("a", "k", 1_150, 1_500, 1_600, False),
        PastJob("a", "k", 1_300, 1_600, 1_700, False),
    ], [PastQuota("a", "8", 32, 1_100, 1_350), PastQuota("a", "4", 16, 1_350, 1_400)],
        [PastHold("a", 4, 1_200), PastHold("a", 0, 1_500)], until_ns=1_300)  # fmt: skip
    assert rows(trace.running(), "name", "begin_ns", "end_ns") == [("k", 200, 300)]
    assert sorted(rows(trace.waiting(), "begin_ns", "end_ns")) == [(100, 200), (150, 300)]
    assert rows(trace.quotas(), "name", "begin_ns", "end_ns") == [("8", 100, 300)]
    assert rows(trace.sms_held(), "time_ns", "value") == [(200, 4)]
    assert trace.end_ns == 300


def test_jobs_behind_many_that_wait_are_not_drawn():
    jobs = [PastJob("a", "k", 1_000 + job, 2_000 + job, 2_001 + job, False) for job in range(3 * MOST_WAITING)]
    trace = written(jobs, until_ns=3_000)
    assert len(trace.running()) == len(jobs)
    assert len(trace.waiting()) == MOST_WAITING


def test_quotas_sms_and_looks():
    trace = written(
        quotas=[PastQuota("a", "8", 32, 1_100, 1_200), PastQuota("a", "8 on 0", 8, 1_200, 1_300)],
        holds=[PastHold("a", 4, 1_110), PastHold("a", 0, 1_290)],
        looks=[Look(1_150, "fifo", 7, {"a": 2}, {"a": 5}), Look(1_250, "fifo", 7, {"a": 1}, {}),
               Look(1_350, "srtf", 9, {}, {})],
    )  # fmt: skip
    assert rows(trace.quotas(), "name", "begin_ns", "end_ns") == [("8", 100, 200), ("8 on 0", 200, 300)]
    assert rows(trace.sms_held(), "time_ns", "value") == [(110, 4), (290, 0)]
    assert rows(trace.policies(), "name", "time_ns") == [("fifo", 150), ("srtf", 350)]
    values = {track: rows(table, "time_ns", "value") for track, table in trace.values.groupby("track")}
    assert values["quota of blocks"] == [(100, 32), (200, 8), (300, 0)]
    assert values["unfinished"] == [(150, 2), (250, 1)]
    assert values["blocks done"] == [(150, 5)]
    assert values["memory"] == [(150, 7), (250, 7), (350, 9)]


@pytest.mark.parametrize("jobs", [[], [PastJob("$a", "k", 1_100, 1_200, 1_500, False)]])
def test_plot(jobs):
    ax = written(jobs, holds=[PastHold("$a", 4, 1_200)][: len(jobs)], looks=[Look(1_150, "fifo", 7, {}, {})]).plot(
        detached_axes(6, 2)
    )
    ax.figure.draw_without_rendering()
    assert len(ax.get_yticks()) == len(jobs)


def test_a_session_without_a_record_tells_when_jobs_began():
    """Two kernels that fill the GPU, one after the other, and half a GPU."""
    long = gs.KernelModel("long", threads=1024, latency_ns=50_000_000)
    device = gs.device("sim:h100")
    with gs.Session("sim:h100", "fifo", keeps_record=False) as session:
        before, alice, bob = (session.application(name) for name in ("before", "alice", "bob"))
        before.submit(long, grid=10**9, block=1024)  # until both have come
        alice.submit(long, grid=2 * device.sms, block=1024)
        last = bob.submit(long, grid=device.sms, block=1024)
        before.cancel()
        last.result()
        past = past_of(session, 60)
    first, second = (each for each in past.jobs if each.application != "before")
    assert (first.application, second.application) == ("alice", "bob")
    assert first.submitted_ns <= first.began_ns
    assert math.isclose(first.end_ns - first.began_ns, 50_000_000, abs_tol=2_000_000)
    assert second.submitted_ns < first.end_ns < second.began_ns + 1_000_000  # the last block ends before the launch
    assert next(each.quota for each in past.quotas if each.application == "alice") == "2"
    assert max(each.sms for each in past.holds if each.application == "alice") == device.sms


def test_trace_of_a_real_worker(start_server, call, monkeypatch, tmp_path):
    """With pictures."""
    model = gs.KernelModel("short", threads=1024, latency_ns=1_000_000)
    with start_server(worker=COMMAND, policy="srtf") as path, gs.connect(path) as session:
        application = session.application("alice")
        for _ in range(3):
            application.submit(model, grid=500, block=1024)
        application.submit(model, grid=500, block=1024).result()
        trace = ServerTrace.of(session.trace(30))
        running = trace.running()
        assert running["name"].tolist() == ["short"] * 4
        assert (running["begin_ns"].to_numpy()[1:] >= running["end_ns"].to_numpy()[:-1]).all()
        assert len(trace.quotas()) >= 4
        assert trace.sms_held()["value"].max() == gs.device("sim:h100").sms
        monkeypatch.setenv("GPUSHARE_SOCKET", str(path))
        said = call("trace", "--last", "30", "-o", str(tmp_path / "run.svg")).stderr
        assert "run.svg" in said
        assert "<svg" in (tmp_path / "run.svg").read_text()
        monkeypatch.chdir(tmp_path)
        assert len(ServerTrace.of(call("trace", "--last", "30", "-o", "-").stdout_bytes).running()) == 4
        assert not (tmp_path / "-").exists()
