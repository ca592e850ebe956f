# SPDX-License-Identifier: Apache-2.0
"""Who may connect, and what each may do."""

import contextlib
import os
import pathlib
import signal
import stat
import threading

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.client.registrations import Registered
from gpushare.daemon.protocol.peer import Peer, peer_of
from gpushare.daemon.settings import Settings, default_socket, rights_of, settings_in

NOBODY = 65534
OTHER = Peer(1, NOBODY, frozenset({NOBODY}))


def test_the_socket_is_of_its_user_alone(serve, folder):
    serve()
    mode = (folder / "socket").stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a file to another group")
def test_a_group_may_be_let_in(serve, folder):
    serve(group=str(NOBODY))
    found = (folder / "socket").stat()
    assert (stat.S_IMODE(found.st_mode), found.st_gid) == (0o660, NOBODY)


def test_another_user_is_refused(serve, folder):
    serve(find_peer=lambda _: OTHER)
    with pytest.raises(gs.RefusedError):
        gs.connect(folder / "socket")


def as_nobody(work):
    """Runs it in a process of another user; returns what it returned as text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(write, str(work()).encode())
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return pipe.read()


as_root = pytest.mark.skipif(os.getuid() != 0, reason="needs to become another user")


@as_root
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_the_file_keeps_another_user_out_and_so_do_its_credentials(serve, folder):
    serve()
    folder.chmod(0o755)
    assert "RefusedError" in as_nobody(lambda: gs.connect(folder / "socket"))
    (folder / "socket").chmod(0o777)
    said = as_nobody(lambda: gs.connect(folder / "socket"))
    assert said.startswith("RefusedError: user nobody may not use this server")


@as_root
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_member_of_the_group_comes_in_with_fewer_rights(serve, folder):
    serve(group=str(NOBODY))
    folder.chmod(0o755)

    def work():
        with gs.connect(folder / "socket") as session:
            refused = []
            for ask in (
                lambda: session.set_policy("fifo"),
                lambda: session.application("urgent", priority=1),
                lambda: session.load(gs.Kernel("__global__ void k() {}", "k")),
                lambda: session.trace(1),
            ):
                with pytest.raises(gs.RefusedError) as raised:
                    ask()
                refused.append(str(raised.value).partition(":")[0])
            session.load(gs.Kernel(".version 8.0", "k"))
            return refused

    said = as_nobody(work)
    assert "user nobody is not among the server's 'operators'" in said
    assert "application 'urgent'" in said
    assert "kernel 'k'" in said


@as_root
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_server_of_another_user_is_not_taken_by_default(serve, folder, monkeypatch):
    """Anybody could listen in the folder for temporary files."""
    path = folder / f"gpushare-{NOBODY}.sock"
    serve(path, group=str(NOBODY))
    folder.chmod(0o755)
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr("os.getuid", lambda: NOBODY)
    monkeypatch.setattr("gpushare.daemon.client.server_socket.peer_of", lambda _: Peer(1, 1234, frozenset()))
    with raises_naming(gs.RefusedError, 1234):
        gs.connect()
    gs.connect(path).close()


def test_priorities_are_permitted_by_the_configuration(serve, folder):
    serve(priority_of_user={str(os.getuid()): 3})
    with gs.connect(folder / "socket") as session:
        session.application("urgent", priority=3)
        session.application("relaxed", priority=-3)
        with raises_naming(gs.RefusedError, 4, 3):
            session.application("more urgent", priority=4)
        application = session.application("patient")
        application.set_priority(3)
        with raises_naming(gs.RefusedError, "patient", 4, 3):
            application.set_priority(4)


def test_a_client_does_not_raise_what_an_operator_has_lowered(server):
    with gs.connect(server) as session, gs.connect(server) as operator:
        application = session.application("alice")
        (name,) = [each["name"] for each in operator.status()["applications"] if each["name"].startswith("alice@")]
        operator.set_priority(name, -5)
        with raises_naming(gs.RefusedError, name, -4, -5):
            application.set_priority(-4)
        application.set_priority(-6)
        application.set_priority(-5)
        operator.set_priority(name, 7)
        application.set_priority(0)
        with raises_naming(gs.RefusedError, 1, 0):
            application.set_priority(1)


def test_another_worker_is_told_the_priority_that_there_is_now(serve, folder):
    worker = serve().workers["sim:h100"]
    with gs.connect(folder / "socket") as session:
        application = session.application("alice")
        application.set_priority(-3)
        os.kill(worker.pid, signal.SIGKILL)
        application.set_priority(-2)
        application.cancel()
        os.kill(worker.pid, signal.SIGKILL)
        other = session.application("bob", priority=-1)
        other.set_priority(-4)
        found = session.status()["applications"]
        assert [(each["name"].partition("@")[0], each["priority"]) for each in found] == [("bob", -4)]


@pytest.fixture
def during_a_change(monkeypatch):
    """Calls something while a priority is changed: before the worker is asked, or after it has answered."""
    ask = Registered.set_priority

    def call(before=None, after=None):
        todo = [(before, after)]

        def change(registered, application, priority):
            first, then = todo.pop() if todo else (None, None)
            if first is not None:
                first()
            ask(registered, application, priority)
            if then is not None:
                then()

        monkeypatch.setattr(Registered, "set_priority", change)

    return call


def test_a_worker_that_came_during_a_change_is_told_of_it(serve, folder, run, during_a_change, eventually):
    worker = serve().workers["sim:h100"]
    with gs.connect(folder / "socket") as session:
        application = session.application("alice")

        def another_worker_is_told_of_it():
            lost = session._connection.registered()
            os.kill(worker.pid, signal.SIGKILL)
            eventually(lambda: session._connection.registered() is not lost)
            run(application, "sleep", 60)

        during_a_change(after=another_worker_is_told_of_it)
        application.set_priority(-7)
        assert [each["priority"] for each in session.status()["applications"]] == [-7]


def test_a_change_does_not_bring_a_cancelled_application_back(server, during_a_change):
    with gs.connect(server) as session:
        application = session.application("alice")
        cancelling = threading.Thread(target=application.cancel)

        def cancel():
            cancelling.start()
            cancelling.join(0.3)

        during_a_change(before=cancel)
        application.set_priority(-7)
        cancelling.join()
        assert [each for each in session.status()["applications"] if each["name"].startswith("alice@")] == []


@pytest.mark.parametrize(
    ("peer", "settings", "expected"),
    [
        (Peer(1, 1000, frozenset({5})), {}, (0, True, True)),
        (Peer(1, 0, frozenset()), {}, (0, True, True)),
        (Peer(1, 7, frozenset({5})), {"group": "5"}, (0, False, False)),
        (Peer(1, 7, frozenset({5})), {"group": "5", "priority_of_group": {"5": 4}}, (4, False, False)),
        (Peer(1, 7, frozenset({5})), {"group": "5", "operators": ["7"], "highest_priority": 2}, (2, True, False)),
        (Peer(1, 7, frozenset({5})), {"group": "5", "sources_of_other_users": True}, (0, False, True)),
        (Peer(1, 7, frozenset({6})), {"group": "5"}, None),
        (Peer(1, 7, frozenset({6})), {}, None),
    ],
)
def test_rights_of_a_peer(peer, settings, expected):
    if expected is None:
        with pytest.raises(gs.RefusedError):
            rights_of(peer, Settings(**settings), 1000)
        return
    rights = rights_of(peer, Settings(**settings), 1000)
    assert (rights.highest_priority, rights.is_operator, rights.may_compile) == expected


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        ({}, 0),
        ({"highest_min_speed": 0.3}, 0.3),
        ({"highest_min_speed": 0.3, "min_speed_of_user": {"7": 0.5}, "min_speed_of_group": {"5": 0.4}}, 0.5),
        ({"highest_min_speed": 0.3, "min_speed_of_user": {"8": 0.5}, "min_speed_of_group": {"5": 0.4}}, 0.4),
        ({"highest_min_speed": 0.3, "min_speed_of_group": {"6": 0.4, "5": 0.1}}, 0.3),
    ],
)
def test_the_min_speeds_that_a_peer_may_ask_for(settings, most):
    assert rights_of(Peer(1, 7, frozenset({5})), Settings(group="5", **settings), 1000).highest_min_speed == most


def test_min_speeds_of_a_user_count_together(serve, folder):
    serve(highest_min_speed=0.5)
    with gs.connect(folder / "socket") as session, gs.connect(folder / "socket") as other:
        first = session.application("first", min_speed=0.3)
        with raises_naming(gs.RefusedError, "second", "0.6", "0.5"):
            session.application("second", min_speed=0.3)
        session.application("without")
        with raises_naming(gs.RefusedError, "0.6", "0.5"):
            other.application("through another client", min_speed=0.3)
        first.cancel()
        for name, min_speed in (("second", 0.1), ("third", 0.2), ("fourth", 0.2)):
            session.application(name, min_speed=min_speed)


def test_without_a_configuration_no_min_speed_is_granted(serve, folder):
    serve()
    with gs.connect(folder / "socket") as session:
        with raises_naming(gs.RefusedError, "alice", 0, "highest_min_speed"):
            session.application("alice", min_speed=0.01)
        session.application("alice")


def test_a_peer_is_identified_by_the_kernel(serve, folder):
    seen = []
    serve(find_peer=lambda connection: seen.append(peer_of(connection)) or seen[-1])
    gs.connect(folder / "socket").close()
    assert (seen[0].pid, seen[0].uid) == (os.getpid(), os.getuid())
    assert os.getgid() in seen[0].groups


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("polcy = 'srtf'", ("config.toml:1", "polcy", "socket", "group", "devices")),
        ("devices = []", 1),
        ("highest_priority = 1.5", ()),
        ("highest_min_speed = 1.5", 1),
        ("min_speed_of_user = { 'no such user' = 0.5 }", "no such user"),
        ("min_speed_of_group = { 'no such group' = 0.5 }", "no such group"),
        ("operators = ['no such user']", "no such user"),
        ("group = 'no such group'", "no such group"),
        ("watchdog_seconds = 0.0", 0),
    ],
)
def test_a_wrong_configuration_says_where(tmp_path, text, named):
    (tmp_path / "config.toml").write_text(text)
    with raises_naming(gs.InvalidInput, named):
        settings_in(tmp_path / "config.toml")


def test_a_configuration(tmp_path):
    path = pathlib.Path(__file__).parents[3] / "docs" / "guide" / "gpushare.toml"
    settings = settings_in(path)
    assert settings.devices == ["cuda:0", "programs"]
    assert settings.priority_of_user == {"root": 10}
    assert (settings.highest_min_speed, settings.min_speed_of_user) == (0.0, {"root": 1.0})


def test_the_default_socket(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert default_socket() == tmp_path / "gpushare.sock"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "none"))
    assert default_socket().name == f"gpushare-{os.getuid()}.sock"
    monkeypatch.setenv("GPUSHARE_SOCKET", "/run/gpushare/socket")
    assert str(default_socket()) == "/run/gpushare/socket"


def test_workers_inherit_no_descriptors(serve, folder):
    """Such as the listening socket, over which a worker could let anybody in."""
    with open(os.devnull) as opened:
        os.set_inheritable(opened.fileno(), True)
        worker = serve().workers["sim:h100"]
        names = []
        for each in os.listdir(f"/proc/{worker.pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # it closes and opens some meanwhile
                names.append(os.readlink(f"/proc/{worker.pid}/fd/{each}"))
    assert sum("socket:" in name for name in names) == 1
    assert not any("memfd" in name for name in names)


def test_so_many_clients_and_no_more(serve, folder):
    serve(clients=2)
    with gs.connect(folder / "socket") as first, gs.connect(folder / "socket"):
        with raises_naming(gs.RefusedError, "sim:h100", 2):
            gs.connect(folder / "socket")
        assert len(first.status()["clients"]) == 2
