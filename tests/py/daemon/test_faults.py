# SPDX-License-Identifier: Apache-2.0
"""Clients, workers and servers that end, and kernels that end them."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.protocol.limits import MOST_GREETINGS_OF_USER, PROTOCOL_VERSION
from gpushare.daemon.protocol.wire import Channel


@pytest.fixture
def session(worker, folder):
    with gs.connect(folder / "socket") as session:
        yield session


def outcome(job):
    try:
        job.result(30)
    except Exception as error:
        return type(error).__name__
    return "ended"


def test_what_the_next_worker_can_tell_as_well_is_asked_of_it(serve, folder, run):
    worker = serve().workers["sim:h100"]
    with gs.connect(folder / "socket") as session:
        run(session.application("alice"), "sleep", 0).result(30)
        for ask in (lambda: session.history(60).operations()["kernel"], lambda: session.trace(1) and []):
            pid = worker.pid
            os.kill(pid, signal.SIGSTOP)
            threading.Timer(0.3, os.kill, (pid, signal.SIGKILL)).start()
            assert ask() == []


def test_a_fault_fails_its_own_job_for_good_and_others_for_now(session, worker, folder, run):
    with gs.connect(folder / "socket") as other:
        waiting = run(other.application("bystander"), "sleep", 60)
        before = worker.pid
        job = run(session.application("culprit"), "fault")
        with raises_naming(gs.CudaError, "fault", "culprit@1", 0, "CUDA_ERROR_ILLEGAL_ADDRESS"):
            job.result(30)
        with raises_naming(gs.WorkerLostError, "fault") as raised:
            waiting.result(30)
        assert raised.value.retryable
        again = other.array(np.zeros(3))
        run(other.application("again"), "add", again, 1).result(30)
        assert again.numpy().tolist() == [1, 1, 1]
    assert worker.pid != before
    assert worker.restarts == 1


def test_a_killed_worker_fails_what_ran_and_takes_arrays_along(session, worker, run):
    application, array = session.application("alice"), session.array(np.ones(3))
    job = run(application, "sleep", 60)
    os.kill(worker.pid, signal.SIGKILL)
    assert outcome(job) == "WorkerLostError"
    with pytest.raises(gs.WorkerLostError):
        array.numpy()
    array.upload([4, 5, 6])
    run(application, "add", array, 1).result(30)  # the application, too, is told to the new worker
    assert array.numpy().tolist() == [5, 6, 7]


def test_idempotent_jobs_on_durable_arrays_run_again(session, worker, run):
    slow, fast = session.application("slow"), session.application("fast")
    source = session.array(np.full(3, 5.0), durable=True)
    target = session.zeros(3, np.float64, durable=True)
    jobs = [run(slow, "slow_add", source, 1, 0.3, idempotent=True) for _ in range(3)]
    jobs[0].result(30)
    os.kill(worker.pid, signal.SIGKILL)
    jobs[-1].result(30)
    run(fast, "add_to", source, target, idempotent=True).result(30)
    os.kill(worker.pid, signal.SIGKILL)  # now jobs are lost whose ends have been told
    assert target.numpy().tolist() == [8, 8, 8]
    assert source.numpy().tolist() == [8, 8, 8]


def test_what_cannot_be_run_again_is_not(session, worker, run):
    application = session.application("alice")
    durable = session.array(np.zeros(3), durable=True)
    passing = session.array(np.zeros(3))
    jobs = [
        run(application, "slow_add", passing, 1, 60, idempotent=True),
        run(application, "slow_add", durable, 1, 60),
    ]
    os.kill(worker.pid, signal.SIGKILL)
    assert [outcome(job) for job in jobs] == ["WorkerLostError", "WorkerLostError"]
    with pytest.raises(gs.WorkerLostError):
        durable.numpy()
    durable.upload(np.zeros(3))
    assert durable.numpy().tolist() == [0, 0, 0]


def test_a_job_that_ends_every_worker_is_not_run_for_ever(session, worker, run):
    job = run(session.application("alice"), "kill", idempotent=True)
    with raises_naming(gs.WorkerLostError, 3):
        job.result(60)


def test_a_copy_that_fails_for_anothers_fault_is_made_again(session, worker, folder, run, eventually):
    with gs.connect(folder / "socket") as other:
        array = other.array(np.full(3, 5.0), durable=True)
        culprit = run(session.application("culprit"), "fault_unnoticed")
        eventually(lambda: worker.restarts == 1 or runs(other, "culprit@1"))  # for half a second
        assert array.numpy().tolist() == [5, 5, 5]
        with raises_naming(gs.CudaError, "fault_unnoticed", "culprit@1"):
            culprit.result(30)
    eventually(lambda: worker.restarts == 1)


def runs(session, name):
    return any(each["name"] == name and each["state"] == "running" for each in session.status()["applications"])


def test_an_idempotent_bystander_of_a_fault_runs_again(session, worker, folder, run, eventually):
    with gs.connect(folder / "socket") as other:
        array = other.array(np.zeros(3), durable=True)
        earlier = run(other.application("earlier"), "add", array, 5, idempotent=True)
        earlier.result(30)
        bystander = run(other.application("bystander"), "slow_add", array, 1, 0.5, idempotent=True)
        unlucky = run(other.application("unlucky"), "sleep", 60)
        eventually(lambda: runs(session, "bystander@2") and runs(session, "unlucky@2"))
        culprit = run(session.application("culprit"), "fault_beside_others")
        for job in (culprit, unlucky):  # neither may be run again
            with raises_naming(gs.CudaError, "sleep", "unlucky@2", 0):
                job.result(30)
        bystander.result(30)
        assert bystander.attempts >= 2
        assert array.numpy().tolist() == [6, 6, 6]
    assert worker.restarts >= 1


def test_an_idempotent_job_that_faults_every_time_takes_others_along_once_more(
    session, worker, folder, run, eventually
):
    with gs.connect(folder / "socket") as other:
        bystander = run(other.application("bystander"), "sleep", 60)
        eventually(lambda: runs(session, "bystander@2"))
        culprit = run(session.application("culprit"), "fault_beside_others", idempotent=True)
        assert outcome(culprit) == "CudaError"
        assert outcome(bystander) == "CudaError"
    assert culprit.attempts in (2, 3)  # seen beside busy loops: lost once more with a worker that had just come
    eventually(lambda: worker.restarts >= 2)


CLIENT = """
import sys, numpy as np, gpushare as gs
with gs.connect(sys.argv[1]) as session:
    array = session.zeros(1000)
    job = session.application("left").submit(gs.Kernel("", "slow_add"), grid=1, block=1, args=[array, 1, 60.0])
    print("runs", flush=True)
    job.result()
"""


def test_a_killed_client_leaves_nothing_and_others_notice_nothing(session, folder, run, eventually):
    job = run(session.application("stays"), "sleep", 1.5)
    with subprocess.Popen([sys.executable, "-c", CLIENT, folder / "socket"], stdout=subprocess.PIPE) as client:
        assert client.stdout.readline() == b"runs\n"
        assert session.status()["memory"]["used_bytes"] == 4000
        client.kill()
    eventually(lambda: session.status()["memory"]["used_bytes"] == 0)
    eventually(lambda: len(session.status()["clients"]) == 1)
    assert [each["name"] for each in session.status()["applications"]] == ["stays@1"]
    job.result(30)


LEAVER = """
import sys, threading, time, gpushare as gs
session, told = gs.connect(sys.argv[1]), []
jobs = [session.application(str(i)).submit(gs.Kernel("", "sleep"), grid=1, block=1, args=[60.0]) for i in range(3)]
for job in jobs:
    threading.Thread(target=job.result, daemon=True).start()
time.sleep(0.02)
"""


def test_an_interpreter_may_end_while_threads_wait_for_jobs(worker, folder):
    for _ in range(5):
        client = subprocess.run([sys.executable, "-c", LEAVER, folder / "socket"], stderr=subprocess.DEVNULL)
        assert client.returncode == 0


def has_ended(process):
    """Also where whoever is its parent now never asks how it ended."""
    with contextlib.suppress(OSError), open(f"/proc/{process}/stat") as status:
        return status.read().rpartition(")")[2].split()[0] == "Z"
    return True


SERVER = """
import sys
from gpushare.daemon.supervisor.supervisor import Supervisor
from gpushare.daemon.settings import Settings
from pathlib import Path
server = Supervisor(Settings(devices=["sim:h100"], policy="srtf"), Path(sys.argv[1]), worker_command=sys.argv[2:])
server.start()
print(server.workers["sim:h100"].pid, flush=True)
server.serve()
"""


def test_a_killed_server_is_told_and_the_next_one_cleans_up(folder, run, eventually):
    path, standin = folder / "socket", [sys.executable, os.path.join(os.path.dirname(__file__), "standin.py")]
    command = [sys.executable, "-c", SERVER, path, *standin]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        worker = int(server.stdout.readline())
        session = gs.connect(path)
        job = run(session.application("alice"), "sleep", 60, idempotent=True)
        server.kill()
    with pytest.raises(gs.DaemonGoneError) as raised:
        job.result(30)
    assert not raised.value.retryable
    eventually(lambda: has_ended(worker))
    with pytest.raises(gs.DaemonGoneError):
        session.zeros(3)
    assert path.exists()  # stale
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        server.stdout.readline()
        assert session.zeros(3).numpy().tolist() == [0, 0, 0]
        session.close()
        server.terminate()


def test_a_second_server_is_refused(serve, folder):
    serve()
    with raises_naming(gs.InvalidInput, os.getpid()):
        serve()
    gs.connect(folder / "socket").close()


def test_the_device_must_be_there(serve):
    with raises_naming(gs.InvalidInput, "sim:none"):
        serve(devices=["sim:none"])


def test_an_endless_kernel_is_named_and_ended(serve, folder, run):
    worker = serve(watchdog_seconds=3).workers["sim:h100"]
    with gs.connect(folder / "socket") as session, gs.connect(folder / "socket") as other:
        array = other.array(np.zeros(2), durable=True)
        bystander = other.application("moves")
        jobs = [run(bystander, "slow_add", array, 1, 0.05, idempotent=True) for _ in range(80)]  # for longer than that
        with raises_naming(gs.DeviceError, "sleep", "stuck@1", 0, 3):
            run(session.application("stuck"), "sleep", 3600).result(60)
        jobs[-1].result(60)
        assert array.numpy().tolist() == [80, 80]
    assert worker.restarts == 1


def test_an_endless_kernel_is_to_blame_even_if_the_session_cannot_say_so(serve, folder, run):
    worker = serve(watchdog_seconds=1).workers["sim:h100"]
    with gs.connect(folder / "socket") as session:
        job = run(session.application("stuck"), "block_session", idempotent=True)
        with raises_naming(gs.DeviceError, "stuck@1", 1):
            job.result(60)
    assert worker.restarts <= 1


def test_clients_that_wait_for_a_worker_do_not_keep_others_from_being_heard(worker, folder, hear, monkeypatch):
    """When a worker is lost, all its clients connect at once."""
    started = threading.Event()
    hand_over = worker.hand_over
    monkeypatch.setattr(worker, "hand_over", lambda *given, **how: started.wait(30) and hand_over(*given, **how))
    waiting = []
    for _ in range(MOST_GREETINGS_OF_USER + 5):
        waiting.append(Channel(socket.socket(socket.AF_UNIX)))
        waiting[-1]._connection.connect(str(folder / "socket"))
        waiting[-1].send({"v": PROTOCOL_VERSION, "id": 0, "do": "hello"})
        time.sleep(0.002)
    time.sleep(0.2)
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(str(folder / "socket"))
        stranger.settimeout(30)
        channel = Channel(stranger)
        channel.send({"v": 99, "id": 0, "do": "hello"})
        assert "speaks version 99" in hear(channel)["error"]["message"]
    started.set()
    for each in waiting:
        assert "ok" in hear(each)
        each.release()
