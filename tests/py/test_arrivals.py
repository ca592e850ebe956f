# SPDX-License-Identifier: Apache-2.0
"""Arrivals of requests: their distributions, files, and what runs make of them."""

import statistics
from itertools import pairwise

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs

TRACE = """\
TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,480,10
2023-11-16 18:17:04.0319600,318,8
2023-11-16 18:17:04.0319601,110,27
"""
WORKLOAD = """\
name = "chat beside a batch"

[[kernel]]
name = "k"
threads = 256
latency_ns = 20_000

[[application]]
name = "chat"
operations = [{ launch = "k", blocks = 3, per = "context_token" }, { copy = "to_host", bytes = 4, per = "generated_token" }]
arrivals = { process = "trace", source = "azure.csv", speed = 10 }

[[application]]
name = "batch"
operations = [{ launch = "k", blocks = 10_000, repeat = 3 }]
"""  # noqa: E501
MODEL = gs.KernelModel("k", threads=256, latency_ns=20_000)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "azure.csv").write_text(TRACE)
    (tmp_path / "chat.toml").write_text(WORKLOAD)
    return tmp_path


def gaps_s(arrivals):
    return [(later - earlier) / 1e9 for earlier, later in pairwise([0, *arrivals.times_ns])]


def test_poisson_arrivals_have_the_mean_and_the_deviation_of_their_distribution():
    gaps = gaps_s(gs.Arrivals.poisson(rate_per_s=50, requests=20_000, seed=3))
    assert statistics.mean(gaps) == pytest.approx(1 / 50, rel=0.03)
    assert statistics.pstdev(gaps) == pytest.approx(1 / 50, rel=0.03)
    assert sum(gap > 2 / 50 for gap in gaps) / len(gaps) == pytest.approx(np.exp(-2), rel=0.05)


def test_bursts_have_the_mean_rate_and_are_burstier_than_poisson():
    arrivals = gs.Arrivals.bursts(10, 1000, requests=50_000, calm_s=1, burst_s=0.1, seed=5)
    seconds = arrivals.times_ns[-1] / 1e9
    mean_rate = (10 * 1 + 1000 * 0.1) / 1.1
    assert 50_000 / seconds == pytest.approx(mean_rate, rel=0.1)
    counts = np.bincount((np.array(arrivals.times_ns) // 10**9).astype(int))
    assert counts.var() / counts.mean() > 20  # 1 for Poisson arrivals


def test_equal_rates_are_poisson():
    gaps = gaps_s(gs.Arrivals.bursts(50, 50, requests=20_000, calm_s=0.01, burst_s=0.3))
    assert statistics.mean(gaps) == pytest.approx(1 / 50, rel=0.03)
    assert statistics.pstdev(gaps) == pytest.approx(1 / 50, rel=0.03)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: gs.Arrivals.poisson(100, 500, seed=seed),
        lambda seed: gs.Arrivals.bursts(10, 1000, 500, calm_s=1, burst_s=0.1, seed=seed),
        lambda seed: gs.Arrivals.closed_loop(1000, 500, seed=seed),
    ],
)
def test_a_seed_decides_everything(make):
    assert make(7) == make(7)
    assert make(7) != make(8)


def test_the_times_of_a_seed_stay_what_they_are():
    assert gs.Arrivals.poisson(1000, 4, seed=1).times_ns == [144291, 2024447, 3467416, 3761880]


def test_requests_queue_and_their_response_times_tell():
    launch = gs.Launch(MODEL, 1)
    paces = (gs.HostPace(host_ns=5000), gs.HostPace(host_ns=1000), gs.HostPace(host_ns=100_000))
    operations = gs.Arrivals(paces).of([gs.Copy("to_device", 100, time_ns=1000), launch])
    run = gs.run(gs.Workload("w", [gs.Application("a", operations, arrival_ns=500)]), "fifo", device="gtx480")
    table = run.launches()
    assert table["issued_ns"].tolist() == [5500, 6500, 106_500]
    first, second, third = (table["end_ns"] - table["issued_ns"]).tolist()
    assert first == third  # alone
    assert second == first + (first - 1000)  # it comes 1000 ns after the first, and waits for that


def test_a_closed_loop_waits_for_each_request():
    arrivals = gs.Arrivals.closed_loop(think_ns=50_000, requests=200, seed=2)
    thinks = [pace.after_ns for pace in arrivals.paces]
    assert statistics.mean(thinks) == pytest.approx(50_000, rel=0.2)
    run = gs.run(gs.Workload("w", [gs.Application("a", arrivals.of([gs.Launch(MODEL, 1)]))]), device="gtx480")
    table = run.launches()
    assert (table["issued_ns"].to_numpy()[1:] - table["end_ns"].to_numpy()[:-1]).tolist() == thinks[1:]
    assert table["issued_ns"][0] == thinks[0]
    assert set(table["end_ns"] - table["issued_ns"]) == {20_000}
    with pytest.raises(gs.InvalidInput):
        arrivals.times_ns  # noqa: B018


def test_a_trace(folder):
    arrivals = gs.Arrivals.trace(folder / "azure.csv")
    assert arrivals.times_ns == [0, 52_000_000, 52_000_100]
    assert arrivals.tokens == (gs.Tokens(480, 10), gs.Tokens(318, 8), gs.Tokens(110, 27))
    faster = gs.Arrivals.trace(str(folder / "azure.csv"), speed=1000, requests=2)
    assert faster.times_ns == [0, 52_000]
    made = faster.of(lambda tokens: [gs.Launch(MODEL, tokens.context), gs.Launch(MODEL, tokens.generated)])
    assert [each.blocks for each in made] == [480, 10, 318, 8]
    assert [each.pace.host_ns for each in made] == [0, 0, 52_000, 0]


def test_other_forms_of_traces(tmp_path):
    path = tmp_path / "azure.csv"
    path.write_text(
        "\ufeffGeneratedTokens,TIMESTAMP,Other,ContextTokens\r\n"
        "5,2024-05-10 00:00:01+00:00,x,7\r\n"
        "6,2024-05-10 02:00:00.5+02:00,y,8\r\n"
    )
    arrivals = gs.Arrivals.trace(path)  # in order of time
    assert arrivals.times_ns == [0, 500_000_000]
    assert arrivals.tokens == (gs.Tokens(8, 6), gs.Tokens(7, 5))


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("TIMESTAMP", "Time", ("azure.csv", "missing", "TIMESTAMP")),
        ("318", "many", ("azure.csv:3", "ContextTokens", "many")),
        (",8\n", "\n", ("azure.csv:3", "ends before", "GeneratedTokens")),
        ("318", "-1", ("azure.csv:3", "ContextTokens", -1)),
        ("2023-11-16 18:17:04.0319600", "yesterday", ("azure.csv:3", "TIMESTAMP", "yesterday")),
        (TRACE[40:], "", ("azure.csv", "no requests")),
    ],
)
def test_traces_that_cannot_be(folder, old, new, named):
    assert old in TRACE
    (folder / "azure.csv").write_text(TRACE.replace(old, new, 1))
    with raises_naming(gs.InvalidInput, *named):
        gs.Arrivals.trace(folder / "azure.csv")


def test_a_trace_that_is_none(tmp_path):
    with raises_naming(gs.InvalidInput, "nowhere.csv"):
        gs.Arrivals.trace(tmp_path / "nowhere.csv")
    (tmp_path / "odd.csv").write_bytes(b"\xff\xfe\x00")
    with raises_naming(gs.InvalidInput, "odd.csv"):
        gs.Arrivals.trace(tmp_path / "odd.csv")


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda: gs.Arrivals.poisson(0, 5), ("rate_per_s", 0)),
        (lambda: gs.Arrivals.poisson(5, 0), ("requests", 0)),
        (lambda: gs.Arrivals.poisson(5, 2.5), ("requests", 2.5)),
        (lambda: gs.Arrivals.poisson(5, 5, seed=-1), ("seed", -1)),
        (lambda: gs.Arrivals.bursts(5, 5, 5, calm_s=0, burst_s=1), ("calm_s", 0)),
        (lambda: gs.Arrivals.bursts(1e-6, 1e-6, 5, calm_s=1, burst_s=1), ("calm_s", "burst_s")),
        (lambda: gs.Arrivals.closed_loop(-1, 5), ("think_ns", -1)),
        (lambda: gs.Arrivals.trace(5), ("source", 5)),
        (lambda: gs.Arrivals.poisson(5, 5).of([]), ("request", "[]")),
        (lambda: gs.Arrivals.poisson(5, 5).of(5), ("request", 5)),
        (lambda: gs.Arrivals.poisson(5, 5).of(["launch"]), ("request", "launch")),
        (lambda: gs.Arrivals.poisson(5, 5).of([gs.Launch(MODEL, 1, pace=gs.HostPace(host_ns=1))]), "pace"),
        (lambda: gs.Arrivals.poisson(5, 5).of(lambda tokens: []), "tokens"),
    ],
)
def test_arrivals_that_cannot_be(ask, named):
    with raises_naming(gs.InvalidInput, named):
        ask()


# In files.


def test_a_file_with_a_trace(folder):
    chat, batch = gs.load(folder / "chat.toml").applications
    assert [each.blocks for each in chat.operations[::2]] == [1440, 954, 330]
    assert [each.bytes for each in chat.operations[1::2]] == [40, 32, 108]
    assert [each.pace.host_ns for each in chat.operations] == [0, 0, 5_200_000, 0, 10, 0]
    assert len(batch.operations) == 3


@pytest.mark.parametrize(
    ("text", "arrivals"),
    [
        ('process = "poisson", rate_per_s = 500, requests = 20, seed = 4', gs.Arrivals.poisson(500, 20, seed=4)),
        (
            'process = "bursts", rate_per_s = 5, burst_rate_per_s = 500, calm_s = 0.5, burst_s = 0.1, requests = 20',
            gs.Arrivals.bursts(5, 500, 20, calm_s=0.5, burst_s=0.1),
        ),
        ('process = "closed_loop", think_ns = 1e6, requests = 20', gs.Arrivals.closed_loop(1e6, 20)),
    ],
)
def test_files_with_processes(folder, text, arrivals):
    path = folder / "chat.toml"
    used = WORKLOAD.replace('process = "trace", source = "azure.csv", speed = 10', text)
    path.write_text(used.replace(', per = "context_token"', "").replace(', per = "generated_token"', ""))
    workload = gs.load(path)
    operations = arrivals.of([gs.Launch(MODEL, 3), gs.Copy("to_host", 4)])
    assert workload.applications[0] == gs.Application("chat", operations)
    assert gs.load(workload.to_toml(folder / "written.toml")) == workload
    result = gs.compare(path, ["fifo", "srtf", "fair"], device="h100")
    assert result.errors == {}
    assert len(result.run("srtf").launches().query("application == 'chat'")) == 20


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('"trace"', '"posson"', ("chat.toml:11", "posson", "known: poisson")),
        ('"trace", source', '"poisson", source', ("chat.toml:11", "source", "poisson")),
        ('source = "azure.csv", ', "", ("chat.toml:11", "source")),
        ("azure.csv", "nowhere.csv", ("chat.toml:11", "nowhere.csv")),
        ("speed = 10", "speed = 0", ("chat.toml:11", "speed", 0)),
        ("speed = 10", "sped = 10", ("chat.toml:11", "sped")),
        ('"context_token"', '"token"', ("chat.toml:10", "per", "token")),
        ("\narrivals =", "\n# arrivals =", ("chat.toml:10", "per")),
        ('"trace", source = "azure.csv", speed = 10', '"closed_loop", think_ns = 5, requests = 3', "per"),
    ],
)
def test_files_that_cannot_be(folder, old, new, named):
    assert old in WORKLOAD
    (folder / "chat.toml").write_text(WORKLOAD.replace(old, new, 1))
    with raises_naming(gs.InvalidInput, named):
        gs.load(folder / "chat.toml")


def test_a_gpu_refuses_requests(folder):
    with raises_naming(gs.InvalidInput, "chat", "pace"):
        gs.load(folder / "chat.toml").require_real()


def test_a_request_without_tokens_needs_an_operation_of_its_own(folder):
    (folder / "azure.csv").write_text(TRACE.replace("318,8", "0,0"))
    with raises_naming(gs.InvalidInput, "chat.toml:11", "0 context and 0 generated", "per"):
        gs.load(folder / "chat.toml")
