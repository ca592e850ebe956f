# SPDX-License-Identifier: Apache-2.0
"""Servers with workers that compute on the host (standin.py), and what may be left of them."""

import contextlib
import os
import pathlib
import shutil
import socket
import sys
import tempfile
import threading
import time
from types import SimpleNamespace

import pytest

import gpushare as gs
from gpushare.daemon.protocol.limits import PROTOCOL_VERSION
from gpushare.daemon.protocol.peer import Peer
from gpushare.daemon.protocol.wire import Channel, close_all
from gpushare.daemon.settings import Settings
from gpushare.daemon.supervisor.supervisor import Supervisor
from gpushare.daemon.supervisor.worker_process import COMMAND

STANDIN = (sys.executable, str(pathlib.Path(__file__).with_name("standin.py")))
PATIENCE_S = 30


@contextlib.contextmanager
def short_folder():
    """Neither pytest's own nor TMPDIR: the path of a socket has to be short."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="gpushare", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def folder():
    with short_folder() as path:
        yield path


def started(path, worker=STANDIN, find_peer=None, **settings):
    """A server in a thread of this process, its workers in others."""
    given = {"devices": ["sim:h100"], "policy": "srtf"} | settings
    options = {} if find_peer is None else {"find_peer": find_peer}
    supervisor = Supervisor(Settings(**given), path, worker_command=worker, **options)
    try:
        supervisor.start()
    except BaseException:
        supervisor.close()
        raise
    threading.Thread(target=supervisor.serve, daemon=True).start()
    return supervisor


@pytest.fixture
def serve(folder):
    """Starts a server; it ends with the test."""
    supervisors = []

    def start(path=folder / "socket", **options):
        supervisors.append(started(path, **options))
        return supervisors[-1]

    yield start
    for supervisor in supervisors:
        supervisor.close()


@pytest.fixture
def worker(serve):
    """Of a server of the test's own, which it may kill."""
    return serve().workers["sim:h100"]


@contextlib.contextmanager
def server_of(**options):
    """A server's socket, as long as it lasts."""
    with short_folder() as path:
        supervisor = started(path / "socket", **options)
        yield path / "socket"
        supervisor.close()


@pytest.fixture
def users(serve, folder):
    """Starts a server, and connects as the user of this number, whom it takes for a member of its group."""
    now = SimpleNamespace(uid=os.getuid())
    group = os.getgid()
    sessions = []

    def start(**settings):
        options = {"group": str(group)} | settings
        serve(find_peer=lambda _: Peer(os.getpid(), now.uid, frozenset({group})), **options)

    def connect(uid):
        now.uid = uid
        sessions.append(gs.connect(folder / "socket"))
        return sessions[-1]

    yield SimpleNamespace(start=start, connect=connect)
    for session in sessions:
        session.close()


@pytest.fixture(scope="session")
def start_server():
    """For servers that several tests share."""
    return server_of


@pytest.fixture(scope="module")
def server():
    """The socket of one that the tests of a file share."""
    with server_of() as path:
        yield path


@pytest.fixture
def session(server):
    with gs.connect(server) as session:
        yield session


@pytest.fixture(scope="module")
def real_server(start_server):
    """The socket of a server of a simulated device, with a worker as it is."""
    with start_server(worker=COMMAND, policy="even") as path:
        yield path


@pytest.fixture(params=["in process", "through the server"])
def session_of_either_kind(request):
    """On a simulated device, under the policy `even`."""
    if request.param == "in process":
        with gs.Session("sim:h100", "even", highest_priority=0) as session:
            yield session
    else:
        with gs.connect(request.getfixturevalue("real_server")) as session:
            yield session


@pytest.fixture(scope="session")
def kernel():
    """A kernel of standin.py by its name."""
    made = {}
    return lambda name: made.setdefault(name, gs.Kernel("__global__ void k() {}", name))


@pytest.fixture
def run(kernel):
    """Submits one; standin.py does not look at the grid."""
    return lambda application, name, *args, **options: application.submit(
        kernel(name), grid=1, block=1, args=args, **options
    )


def eventually(holds, patience_s=PATIENCE_S, words=lambda: "this does not come to hold"):
    """Waits until it holds."""
    deadline = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < deadline, words()
        time.sleep(0.01)


@pytest.fixture(name="eventually", scope="session")
def eventually_fixture():
    return eventually


@pytest.fixture
def hear():
    """Receives the next message. What comes beside it stays open until the test ends: who closes rings is dropped."""
    opened = []

    def receive(channel):
        message, descriptors = channel.receive()
        opened.extend(descriptors)
        return message

    yield receive
    close_all(opened)


@pytest.fixture
def raw(server):
    """Connects without a client's manners."""
    opened = []

    def connect(path=server):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(str(path))
        opened.append(connection)
        return connection

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture
def channel(raw, hear):
    """One that has been welcomed."""
    channel = Channel(raw())
    channel.send({"v": PROTOCOL_VERSION, "id": 0, "do": "hello"})
    assert "ok" in hear(channel)
    return channel


@pytest.fixture
def ask(channel, hear):
    """Asks over it, and returns the answer or the error's kind and message."""

    def ask(verb, *descriptors, **fields):
        channel.send({"v": PROTOCOL_VERSION, "id": 7, "do": verb, **fields}, descriptors)
        while True:
            message = hear(channel)
            if "event" not in message:
                error = message.get("error")
                return (error["kind"], error["message"]) if error else message["ok"]

    return ask


@pytest.fixture
def goes_on(server, run):
    """Whatever a test does, others are served as before, by the same worker."""

    def started():
        with gs.connect(server) as session:
            return session.status()["started_s"]

    before = started()
    yield
    with gs.connect(server) as session:
        array = session.zeros(3)
        run(session.application("healthy"), "add", array, 1).result(30)
        assert array.numpy().tolist() == [1, 1, 1]
        eventually(lambda: len(session.status()["clients"]) == 1)
        assert session.status()["memory"]["used_bytes"] == 12
    assert started() == before
