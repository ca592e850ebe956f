# SPDX-License-Identifier: Apache-2.0
"""The daemon's data plane from Python: rings between processes, and a session behind them."""

from __future__ import annotations

import gc
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import gpushare as gs
from gpushare import _core
from gpushare._core import JobStatus

ARGUMENTS = bytes(24)

CLIENT = """
import socket, sys
from gpushare import _core

connection = socket.socket(fileno=int(sys.argv[1]))
message, (memory, doorbell), _, _ = socket.recv_fds(connection, 100, 2)
application, kernel = map(int, message.split())
port = _core.ClientPort(memory, doorbell)
jobs = [port.launch(application, kernel, (10, 1, 1), bytes(24), []) for _ in range(1000)]
assert port.wait(port.fence(), 60).status == _core.JobStatus.DONE
connection.send(b"done")
port.wait(port.launch(application, kernel + 1, (1, 1, 1), b"", []), 60)
connection.recv(1)
"""


class Served:
    """A client of an echo in this process."""

    def __init__(self, server: _core.PortServer) -> None:
        self.at_worker, memory, doorbell = server.add()
        self.port = _core.ClientPort(memory, doorbell)
        self.application = self.at_worker.add_application("alice")
        self.kernel = self.at_worker.add_kernel("scale", 24)

    def launch(self, **changes: object) -> int:
        fields = {"grid": (10, 1, 1), "arguments": ARGUMENTS, "arrays": []} | changes
        return self.port.launch(self.application, self.kernel, **fields)


class HeldSink(_core.CommandSink):
    """Launches end when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.held: queue.SimpleQueue[_core.HeldLaunch] = queue.SimpleQueue()

    def launch(self, launch: _core.HeldLaunch) -> None:
        self.held.put(launch)

    def client_gone(self, client: int) -> None:
        pass

    def end_one(self) -> None:
        self.held.get(timeout=30).complete(JobStatus.DONE)


@pytest.fixture
def server() -> _core.PortServer:
    return _core.PortServer(_core.EchoSink())


def test_a_job_ends_with_its_times(server: _core.PortServer) -> None:
    alice = Served(server)
    before = time.monotonic_ns()
    end = alice.port.wait(alice.launch(), 30)
    assert end.status == JobStatus.DONE
    assert end.message == ""
    assert before <= end.accepted_ns <= end.ended_ns <= time.monotonic_ns()


def test_arrays_are_copied_through_an_arena(server: _core.PortServer) -> None:
    alice = Served(server)
    array = np.zeros(1000, np.uint8)
    arena = _core.SharedMemory(4096)
    mapped = np.asarray(arena)
    mapped[:300] = np.arange(300) % 251
    handle = alice.at_worker.add_array(array.ctypes.data, array.nbytes, None, _core.ReleaseQueue())
    arena_handle = alice.at_worker.add_arena(arena.descriptor, 1 << 20)
    copied = alice.port.copy_in(alice.application, handle, 100, arena_handle, 0, 300)
    assert alice.port.wait(copied, 30).status == JobStatus.DONE
    assert (array[100:400] == mapped[:300]).all()
    back = alice.port.copy_out(alice.application, handle, 100, arena_handle, 1000, 300)
    assert alice.port.wait(back, 30).status == JobStatus.DONE
    assert (mapped[1000:1300] == mapped[:300]).all()
    outside = alice.port.copy_out(alice.application, handle, 800, arena_handle, 0, 201)
    assert "array of 1000 bytes" in alice.port.wait(outside, 30).message


def test_an_array_is_kept_until_its_last_use() -> None:
    sink = HeldSink()
    server = _core.PortServer(sink)
    alice = Served(server)
    array, releases, released = np.zeros(16, np.uint8), _core.ReleaseQueue(), []
    handle = alice.at_worker.add_array(array.ctypes.data, array.nbytes, lambda: released.append(1), releases)
    job = alice.launch(arrays=[(8, handle, 0)])
    assert alice.port.wait(job, 0.01) is None
    alice.at_worker.remove_array(handle, job)
    releases.release(0)
    assert released == []
    sink.end_one()
    assert alice.port.wait(job, 30).status == JobStatus.DONE
    assert released == [1]  # at once: this thread has the GIL
    unused = alice.at_worker.add_array(array.ctypes.data, array.nbytes, lambda: released.append(2), releases)
    alice.at_worker.remove_array(unused)
    assert released == [1, 2]


def test_a_sink_of_pythons_lives_as_long_as_its_server() -> None:
    server = _core.PortServer(HeldSink())
    gc.collect()
    alice = Served(server)
    assert alice.port.wait(alice.launch(), 0.01) is None
    del alice, server


def test_a_sink_without_methods_gives_launches_up() -> None:
    class Empty(_core.CommandSink):
        pass

    server = _core.PortServer(Empty())
    alice = Served(server)
    end = alice.port.wait(alice.launch(), 30)
    assert (end.status, end.message) == (JobStatus.FAILED, "the worker gave this job up")


def test_an_array_waits_for_the_commands_that_it_may_be_named_in(server: _core.PortServer) -> None:
    alice = Served(server)
    array, releases, released = np.zeros(16, np.uint8), _core.ReleaseQueue(), []
    handle = alice.at_worker.add_array(array.ctypes.data, array.nbytes, lambda: released.append(1), releases)
    alice.at_worker.remove_array(handle, 2)
    for expected in ([], [1]):
        assert alice.port.wait(alice.launch(arrays=[(8, handle, 0)]), 30).status == JobStatus.DONE
        releases.release(30 if expected else 0)
        assert released == expected
    assert alice.port.wait(alice.launch(arrays=[(8, handle, 0)]), 30).status == JobStatus.REFUSED


def test_stale_and_forged_handles_are_refused(server: _core.PortServer) -> None:
    alice, bob = Served(server), Served(server)
    extra = alice.at_worker.add_kernel("secret", 24)
    refused = bob.port.launch(bob.application, extra, (1, 1, 1), ARGUMENTS, [])
    assert bob.port.wait(refused, 30).status == JobStatus.REFUSED
    alice.at_worker.remove_kernel(extra)
    with pytest.raises(_core.InvalidInput):
        alice.at_worker.remove_kernel(extra)


def test_waits_do_not_hold_the_gil() -> None:
    sink = HeldSink()
    server = _core.PortServer(sink)
    alice = Served(server)
    job = alice.launch()
    waits, ended = threading.Event(), []

    def wait() -> None:
        waits.set()
        ended.append(alice.port.wait(job, 30))

    waiting = threading.Thread(target=wait)
    waiting.start()
    waits.wait()
    time.sleep(0.01)  # in which it begins to wait
    sink.end_one()  # in this thread, which would have to wait for the other one
    waiting.join()
    assert ended[0] is not None
    assert ended[0].status == JobStatus.DONE


def test_a_worker_without_room_is_an_error_in_the_end() -> None:
    limits = _core.PortLimits()
    limits.most_jobs = 2
    limits.command_ring_bytes = 1024
    server = _core.PortServer(_core.EchoSink(60_000_000_000))
    at_worker, memory, doorbell = server.add(limits)
    port = _core.ClientPort(memory, doorbell)
    application, kernel = at_worker.add_application("alice"), at_worker.add_kernel("scale", 24)

    def flood() -> None:
        for _ in range(100):
            port.launch(application, kernel, (1, 1, 1), ARGUMENTS, [], timeout_s=0.1)

    with pytest.raises(_core.WorkerBusy):
        flood()


def test_the_worker_goes(server: _core.PortServer) -> None:
    own_server = _core.PortServer(_core.EchoSink(60_000_000_000))
    alice = Served(own_server)
    job = alice.launch()
    del own_server
    with pytest.raises(_core.WorkerGone):
        alice.port.wait(job, 30)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_is_refused(server: _core.PortServer) -> None:
    alice = Served(server)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            alice.launch()
        except ConnectionError:
            status = 0
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert alice.port.wait(alice.launch(), 30).status == JobStatus.DONE


def test_a_client_in_another_process_and_its_death(server: _core.PortServer) -> None:
    at_worker, memory, doorbell = server.add()
    handles = at_worker.add_application("client"), at_worker.add_kernel("scale", 24)
    mine, theirs = socket.socketpair()
    client = subprocess.Popen([sys.executable, "-c", CLIENT, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    theirs.close()
    socket.send_fds(mine, ["{} {}".format(*handles).encode()], [memory, doorbell])
    os.close(memory)
    os.close(doorbell)
    assert mine.recv(4) == b"done"
    assert at_worker.statistics.commands >= 1001
    client.send_signal(signal.SIGKILL)
    client.wait()
    gone, reason = server.wait_gone(30)
    assert gone == at_worker.client
    assert "ended" in reason
    mine.close()


def test_a_session_behind_the_rings() -> None:
    sink = _core.SessionSink(gs.device("sim:gtx480"), "round-robin", 0, 1.0)
    server = _core.PortServer(sink)
    at_worker, memory, doorbell = server.add()
    port = _core.ClientPort(memory, doorbell)
    alice = sink.application(_core.Application("alice", []))
    application = at_worker.add_application("alice", alice, _core.ApplicationAccount())
    kernel = at_worker.add_model(gs.KernelModel("short", threads=256, latency_ns=2e4).on(gs.device("sim:gtx480")))
    for _ in range(20):
        port.launch(application, kernel, (30, 1, 1), b"", [])
    assert port.wait(port.fence(), 60).status == JobStatus.DONE
    assert sink.session.status().applications[0].operations == 20
    alice.cancel()
    late = port.wait(port.launch(application, kernel, (30, 1, 1), b"", []), 60)
    assert late.status == JobStatus.WITHDRAWN
    assert "alice" in late.message
