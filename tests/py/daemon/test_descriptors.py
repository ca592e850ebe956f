# SPDX-License-Identifier: Apache-2.0
"""A server that has no descriptors or threads left for another client goes on with those that it has."""

import contextlib
import fcntl
import os
import pathlib
import resource
import runpy
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.client import registrations as registered
from gpushare.daemon.errors import ProtocolError
from gpushare.daemon.protocol import limits, wire
from gpushare.daemon.protocol.arena import SEALS, Arena
from gpushare.daemon.protocol.grant import Grant
from gpushare.daemon.protocol.wire import Channel, packed
from gpushare.daemon.settings import Settings
from gpushare.daemon.worker.worker import Worker

STANDIN = str(pathlib.Path(__file__).with_name("standin.py"))
StandIn = runpy.run_path(STANDIN)["StandIn"]
FEW = ("sh", "-c", 'ulimit -n 48; exec "$@"', "sh", sys.executable, STANDIN)
GRANT = Grant(
    hello=3, name="x", pid=1, user="u", highest_priority=0, highest_min_speed=0.0, weight=1.0, memory_bytes=None,
    is_operator=False, may_compile=False,
)  # fmt: skip


def test_clients_for_whom_there_are_no_descriptors_are_refused(serve, folder, monkeypatch):
    # A client that was lost does not try for a minute.
    monkeypatch.setattr("gpushare.daemon.client.connection.WELCOME_TIMEOUT_S", 0)
    worker = serve(worker=FEW).workers["sim:h100"]
    before = worker.pid
    with gs.connect(folder / "socket") as first:
        array, others = first.array(np.arange(3)), []
        with pytest.raises((gs.RefusedError, gs.WorkerLostError)):
            others.extend(gs.connect(folder / "socket") for _ in range(48))
        assert array.numpy().tolist() == [0, 1, 2]
        assert first.status()["clients"]
        for each in others:
            each.close()
    assert (worker.pid, worker.restarts) == (before, 0)


@pytest.fixture
def in_process():
    """A worker, and how it is handed a client."""
    worker = Worker("sim:h100", Settings(devices=["sim:h100"]), StandIn)
    ours = []

    def hand_over(*descriptors):
        mine, its = socket.socketpair()
        ours.append(mine)
        worker._take(packed(GRANT.model_dump())[4:], [*descriptors, its.detach()])
        return Channel(mine)

    yield worker, hand_over
    for each in ours:
        each.close()


def refusal(channel):
    answer, _ = channel.receive()
    assert (answer["id"], answer["error"]["kind"]) == (3, "RefusedError")
    with pytest.raises(EOFError):
        channel.receive()
    return answer["error"]["message"]


def test_a_client_without_a_thread_is_refused(in_process, hear, monkeypatch, eventually):
    worker, hand_over = in_process

    def start(_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        channel = hand_over()
    assert refusal(channel) == "sim:h100 cannot take another client: can't start new thread"
    assert worker.clients == []
    channel = hand_over()
    assert "ok" in hear(channel)
    channel.close()
    eventually(lambda: worker.clients == [])


def test_a_client_without_rings_is_refused(in_process, monkeypatch):
    worker, hand_over = in_process

    def fail(*_):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("gpushare.daemon.worker.worker.ServedClient", fail)
    assert "cannot take another client: [Errno 24] Too many open files" in refusal(hand_over())
    assert worker.clients == []


def test_a_client_that_came_without_its_descriptor_ends_nothing(in_process, caplog):
    in_process[0]._take(packed(GRANT.model_dump())[4:], [])
    assert "sim:h100 has no descriptors left for another client" in caplog.text
    assert in_process[0]._load().taken == 1  # else the supervisor expects it for ever


def test_a_client_without_descriptors_says_so():
    ours, theirs = socket.socketpair()
    Channel(theirs).send({"a": 1}, [0, 0])
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))), before[1]))
    held = []
    try:
        with contextlib.suppress(OSError):
            while True:
                held.append(os.dup(0))
        with pytest.raises(ProtocolError):
            Channel(ours).receive()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        wire.close_all(held)
    ours.close()
    theirs.close()


def test_more_than_are_taken_is_something_else():
    wire._require_all([1] * limits.MOST_DESCRIPTORS, False)
    for count, some_are_missing in ((limits.MOST_DESCRIPTORS, True), (limits.MOST_DESCRIPTORS + 1, False)):
        with raises_naming(ProtocolError, 4):
            wire._require_all([1] * count, some_are_missing)


def test_a_server_permits_itself_as_many_as_it_may():
    words = 'ulimit -Sn 100; ulimit -Hn 200; exec "$@"'
    asks = (
        "from gpushare.daemon.descriptors import permit_many, resource; permit_many(); "
        "print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    said = subprocess.run(["sh", "-c", words, "sh", sys.executable, "-c", asks], capture_output=True, check=True)
    assert said.stdout == b"(200, 200)\n"


def test_an_arena_takes_one_and_a_client_has_so_many(ask, session):
    shared = Arena.made(100)
    before = session.status()["descriptors"]
    arenas = [ask("arena", shared.descriptor, bytes=100) for _ in range(limits.MOST_ARENAS)]
    assert session.status()["descriptors"] < before + limits.MOST_ARENAS + 10
    said = f"a client can have {limits.MOST_ARENAS} arenas: free some first"
    assert ask("arena", shared.descriptor, bytes=100) == ("InvalidInput", said)
    assert ask("drop_arena", arena=arenas[0]) is True
    assert isinstance(ask("arena", shared.descriptor, bytes=100), int)


def test_pinned_arrays_beyond_those_are_copied_as_others_are(session, monkeypatch):
    monkeypatch.setattr(registered, "MOST_PINNED_BLOCKS", 2)
    array = session.zeros(3)
    pinned = [session.pinned_array(3) for _ in range(4)]
    for number, each in enumerate(pinned):
        each[:] = number
        array.upload(each)
        assert array.numpy().tolist() == [number] * 3
    places = [session._connection.registered().pinned_place(each) for each in pinned]
    assert [each is None for each in places] == [False, False, True, True]


def test_any_number_of_threads_may_copy(session, monkeypatch):
    most = registered.MOST_IDLE_ARENAS + 2 * registered.MOST_COPIES + registered.MOST_PINNED_BLOCKS
    assert most <= limits.MOST_ARENAS
    link = session._connection.registered()
    assert link._copying._value == registered.MOST_COPIES


def test_shared_memory_is_not_of_huge_pages(ask):
    """Of which there may be none: whoever touches them then is ended by SIGBUS."""
    try:
        huge = os.memfd_create("x", os.MFD_ALLOW_SEALING | os.MFD_HUGETLB)
    except OSError:
        pytest.skip("this kernel has none")
    os.ftruncate(huge, 1 << 30)
    fcntl.fcntl(huge, fcntl.F_ADD_SEALS, SEALS)
    assert "shared memory of huge pages is not supported" in ask("arena", huge, bytes=4096)[1]
    assert "huge pages" in ask("kernel", huge, name="k", source_bytes=10, file_name="k.cu")[1]
    os.close(huge)
