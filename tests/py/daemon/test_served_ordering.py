# SPDX-License-Identifier: Apache-2.0
"""A server that orders its clients' launches."""

import json

import pytest

import gpushare as gs

PATIENCE_S = 60


@pytest.fixture(scope="module")
def ordered_server(start_server):
    with start_server(worker=None, devices=["sim:gtx480"], policy="fifo", ordering="strings") as path:
        yield path


def submit(application, block_ms, blocks=15):
    kernel = gs.KernelModel(f"of {block_ms} ms", threads=192, latency_ns=block_ms * 1e6)
    return application.submit(kernel, grid=blocks, block=192)


def of(session, name):
    (found,) = [each for each in session.status()["applications"] if each["name"].startswith(name)]
    return found


def test_clients_launch_one_after_the_other(ordered_server, eventually):
    with gs.connect(ordered_server) as first, gs.connect(ordered_server) as second:
        endless = first.application("endless")
        submit(endless, 1, blocks=1_000_000)
        eventually(lambda: of(first, "endless").get("state") == "running")
        job = submit(second.application("short"), 1)
        eventually(lambda: of(second, "short").get("state") == "waiting")
        assert of(second, "short")["started"] == 0
        endless.cancel()
        job.result(PATIENCE_S)


def test_a_client_that_leaves_delays_no_other(ordered_server, eventually):
    with gs.connect(ordered_server) as second:
        with gs.connect(ordered_server) as first:
            for name in ("one", "two"):
                submit(first.application(name), 1, blocks=1_000_000)
            eventually(lambda: of(first, "one").get("state") == "running")
        submit(second.application("short"), 1).result(PATIENCE_S)


def test_the_ordering_is_shown(ordered_server, call, monkeypatch):
    monkeypatch.setenv("GPUSHARE_SOCKET", str(ordered_server))
    assert json.loads(call("status", "--json").stdout)["ordering"] == "strings"
    assert "sim:gtx480 under strings+fifo" in call("status").stdout
    with gs.connect(ordered_server) as session:
        assert session.ordering == "strings"


def test_the_ordering_stays(ordered_server, call, monkeypatch):
    monkeypatch.setenv("GPUSHARE_SOCKET", str(ordered_server))
    said = call("set-policy", "cumas+srtf", code=2).stderr
    assert "here take 'srtf'; 'cumas' is said where a session is opened (ordering=, serve --ordering)" in said
    call("set-policy", "even")
    assert "sim:gtx480 under strings+even" in call("status").stdout
    call("set-policy", "fifo")


@pytest.mark.parametrize("given", [["--ordering", "fast"], ["--config", "gpushare.toml"]])
def test_what_is_wrong_is_said_at_the_start(call, folder, given):
    config = folder / "gpushare.toml"
    config.write_text('ordering = "fast"\n')
    given = [str(config) if each == config.name else each for each in given]
    said = call("serve", "--device", "sim:gtx480", "--socket", str(folder / "socket"), *given, code=2).stderr
    assert "no ordering 'fast'; known: 'arrival', 'strings'" in said
