# SPDX-License-Identifier: Apache-2.0
"""Looking on and changing things: commands, metrics, logs, traces."""

import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from messages import assert_names, raises_naming

import gpushare as gs
from gpushare.cli.serve import _end
from gpushare.daemon.client.session import DaemonSession
from gpushare.daemon.logs import JsonLines
from gpushare.daemon.worker.history import History, Look
from gpushare.daemon.worker.watchdog import Watchdog
from gpushare.results.server_trace import ServerTrace

SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 0}


@pytest.fixture
def called(server, call, monkeypatch):
    """Calls a command for this server."""
    monkeypatch.setenv("GPUSHARE_SOCKET", str(server))
    return call


@pytest.fixture
def busy(session, run, eventually):
    """An application that has ended a job and runs another."""
    application = session.application("alice")
    run(application, "sleep", 0.01).result(30)
    run(application, "sleep", 60)

    def found():
        return next(each for each in session.status()["applications"])

    eventually(lambda: found()["state"] == "running")
    yield found()["name"]
    session.close()


def test_status(called, busy):
    found = json.loads(called("status", "--json").stdout)
    (application,) = [each for each in found["applications"] if each["name"] == busy]
    assert (application["unfinished_jobs"], application["ended_jobs"], application["state"]) == (1, 1, "running")
    assert {"sim:h100"} == {found["device"]}
    said = called("status").stdout
    assert busy in said
    assert "running" in said
    assert "sim:h100 under srtf" in said


def test_a_program_of_any_name_may_connect(server, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/bin/x\x1b\udc80é\n"])
    with gs.connect(server) as session:
        assert [each["name"] for each in session.status()["clients"]] == ["x??é?"]


def test_top_once(called, busy):
    assert busy in called("top", "--once").stdout


def test_policy(called, session):
    called("set-policy", "fifo")
    assert session.policy == "fifo"
    assert_names(called("set-policy", "fifi", code=2).stderr, "fifi", "fifo")
    assert session.policy == "fifo"
    called("set-policy", "srtf")


def test_priority(called, busy, session):
    assert_names(called("set-priority", "alice", "-3").stderr, -3, busy)
    called("set-priority", busy, "5")
    (application,) = [each for each in session.status()["applications"] if each["name"] == busy]
    assert application["priority"] == 5
    assert_names(called("set-priority", "bob", "5", code=2).stderr, "bob", busy)


def test_what_is_different_is_told_to_programs_too(called, busy, tmp_path):
    def document(*arguments):
        return json.loads(called(*arguments, "--json").stdout)

    path = tmp_path / "run.pftrace"
    assert document("top")["applications"][0]["name"] == busy
    assert document("set-policy", "srtf") == {"policy": "srtf"}
    assert document("set-priority", "alice", "-3") == {"application": busy, "priority": -3}
    assert document("trace", "--last", "5", "-o", str(path)) == {"trace": str(path)}


def test_a_name_that_two_clients_use_has_to_be_told_in_full(called, busy, server):
    with gs.connect(server) as other:
        other.application("alice")
        assert_names(called("set-priority", "alice", "5", code=2).stderr, "alice")


def test_a_full_name_selects_one_application(called, busy, server):
    with gs.connect(server) as other:
        other.application(busy)
        assert_names(called("set-priority", busy, "4").stderr, 4, busy)


def test_nor_once_its_owner_has_gone(called, server, eventually):
    with gs.connect(server) as other:
        with gs.connect(server) as session:
            session.application("bob")
            name = f"bob@{session._connection.registered().link.welcome['client']}"
            other.application(name)
        eventually(lambda: len(other.status()["clients"]) == 1)
        assert_names(called("set-priority", name, "4", code=2).stderr, name, name)


def test_trace(called, busy, session, run, tmp_path):
    run(session.application("bob"), "sleep", 0.3).result(30)
    called("trace", "--last", "60", "-o", str(tmp_path / "run.pftrace"))
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    trace = Trace.FromString((tmp_path / "run.pftrace").read_bytes())
    names = {packet.track_descriptor.process.process_name for packet in trace.packet} - {""}
    assert {"server", busy} <= names
    found = ServerTrace.of(tmp_path / "run.pftrace")
    assert found.device == "sim:h100"
    running = found.running()
    (bob,) = running[running["application"].str.startswith("bob")].itertuples()
    assert bob.name == "sleep"
    assert 0.3e9 <= bob.end_ns - bob.begin_ns < 30e9
    (waited,) = found.waiting()[found.waiting()["application"].str.startswith("bob")].itertuples()
    assert waited.end_ns == bob.begin_ns
    assert running[running["application"] == busy]["end_ns"].max() == found.end_ns  # that one has not ended
    assert "srtf" in [packet.track_event.name for packet in trace.packet if packet.track_event.type == 3]


def test_a_trace_of_a_window(session, run):
    """It ends between two jobs."""
    run(session.application("in it"), "sleep", 0).result(30)
    ended = time.monotonic()
    time.sleep(2)  # how long the server may take to hear of the window
    run(session.application("after it"), "sleep", 0).result(30)
    to = time.monotonic() - ended
    found = ServerTrace.of(session.trace(to + 30, to))
    names = {each.partition("@")[0] for each in found.running()["application"]}
    assert "in it" in names
    assert "after it" not in names
    assert found.end_ns == pytest.approx(30e9, abs=1e3)


def test_the_command_names_the_window(called, tmp_path, monkeypatch):
    windows = []
    monkeypatch.setattr(DaemonSession, "trace", lambda _, *window: windows.append(window) or b"a trace")
    for line in ("--from 90 --to 60", "--from 90", "--last 5"):
        called("trace", *line.split(), "-o", str(tmp_path / "run.pftrace"))
    assert windows == [(90, 60), (90, 0), (5, 0)]
    assert (tmp_path / "run.pftrace").read_bytes() == b"a trace"


@pytest.mark.parametrize("line", ["", "--last 5 --from 5", "--last 5 --to 1", "--to 1"])
def test_a_trace_has_one_window(called, line):
    assert_names(called("trace", *line.split(), "-o", "x", code=2).stderr, "--last", 10, "--from", 90, "--to", 60)


def test_a_window_ends_after_it_began(called):
    said = called("trace", "--from", "5", "--to", "6", "-o", "x", code=2).stderr
    assert "--to must be less than --from (seconds ago), got 6 and 5" in said


def test_no_server(call, monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_SOCKET", str(tmp_path / "none"))
    for line in ("status", "top --once", "set-policy fifo", "set-priority a 1", "trace --last 1 -o x"):
        assert "no server at" in call(*line.split(), code=2).stderr


def test_logs_are_json_where_asked():
    record = logging.LogRecord("gpushare.x", logging.WARNING, "f", 1, "a %s", ("word",), None)
    line = json.loads(JsonLines().format(record))
    assert (line["level"], line["message"], line["logger"]) == ("warning", "a word", "gpushare.x")
    assert line["pid"] == os.getpid()


@pytest.mark.parametrize("in_background", [False, True])
@pytest.mark.parametrize("name", SIGNALS)
def test_the_command_serves_until_it_is_told_to_end(folder, name, in_background):
    """A shell has SIGINT ignored by what it starts in the background."""
    standin = pathlib.Path(__file__).with_name("standin.py")
    starts = (
        "from gpushare.daemon.supervisor import worker_process\n"
        f"worker_process.COMMAND = [{sys.executable!r}, {str(standin)!r}]"
    )
    script = f"{starts}\nfrom gpushare.cli import main\nmain()"
    line = ["serve", "--device", "sim:h100", "--policy", "fifo", "--socket", folder / "socket", "--log-json"]
    line += ["--http", "localhost:0", "--highest-priority", "3"]
    ignoring = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"] if in_background else []
    command = [*ignoring, sys.executable, "-c", script, *line]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        said = []
        while "serving sim:h100" not in "".join(said):
            said.append(server.stderr.readline())
            assert said[-1], said
        with gs.connect(folder / "socket") as session:
            assert session.policy == "fifo"
            assert (folder / "socket.token").exists()
            session.application("urgent", priority=3)
            with raises_naming(gs.RefusedError, "too urgent", 4, 3):
                session.application("too urgent", priority=4)
            server.send_signal(name)
            said += server.stderr.readlines()
    assert server.returncode == SIGNALS[name]
    assert not (folder / "socket").exists()
    assert not (folder / "socket.token").exists()
    assert any(json.loads(line)["message"].startswith("live page: http://localhost:") for line in said)
    assert {json.loads(line)["level"] for line in said if line.startswith("{")} <= {"info", "warning"}
    assert "Traceback" not in "".join(said)


def test_sigterm_raises_no_error():
    """The server survives errors where it takes connections, and a signal may come there."""
    with pytest.raises(SystemExit) as raised:
        _end()
    assert not isinstance(raised.value, Exception)
    assert raised.value.code == 0


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("serve --policy fifi", ("fifi", "fifo")),
        ("serve --config none.toml", "none.toml"),
        ("serve --highest-priority high", ("--highest-priority", "high")),
        ("serve --highest-priority 2147483648", "--highest-priority"),
        ("serve --device sim:h100 --device sim:h100", "--device"),
        ("serve --device sim:h100 --socket /nowhere/socket", ()),
    ],
)
def test_a_server_that_cannot_be_says_why(call, line, named):
    assert_names(call(*line.split(), code=2).stderr, named)


def test_the_watchdog_suspects_only_what_runs_and_does_not_move():
    watchdog = Watchdog(10)

    def look(now, **blocks):
        return watchdog.look([
            {"name": name, "state": "waiting" if done is None else "running", "done": done, "ended_jobs": 0}
            for name, done in blocks.items()
        ], now)  # fmt: skip

    assert look(0, stuck=3, moves=1, waits=None) is None
    assert look(9, stuck=3, moves=2, waits=None) is None
    assert look(9.5, moves=2, waits=None, stuck=3) is None
    assert look(10.1, stuck=3, moves=2, waits=None) == "stuck"
    assert look(11, moves=2, waits=None) is None
    assert look(12, stuck=3, moves=2, waits=None) is None  # it was gone meanwhile
    assert look(19.5, stuck=3, moves=2) == "moves"


def test_the_history_forgets_what_is_old():
    history = History()
    history.looked(Look(10, "fifo", 0, {}, {}))
    history.looked(Look(12, "fifo", 0, {}, {}))
    history.looked(Look(14, "fifo", 0, {}, {}))
    assert [each.time_ns for each in history.between(11, 13)] == [12]
