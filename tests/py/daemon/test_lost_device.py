# SPDX-License-Identifier: Apache-2.0
"""A device that is lost for good, or comes back: clients are told, and nobody waits for nothing."""

import errno
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from messages import assert_names, raises_naming

import gpushare as gs
from gpushare.daemon.settings import Settings
from gpushare.daemon.supervisor.worker_process import WorkerProcess
from gpushare.daemon.worker.main import EXIT_NO_DEVICE

STANDIN = (sys.executable, str(pathlib.Path(__file__).with_name("standin.py")))
SAID = ("cuInit", "CUDA_ERROR_NO_DEVICE", "0.2")


@pytest.fixture
def device(folder):
    """The file without which there is no device (standin.py)."""
    file = folder / "device"
    file.touch()
    return file


@pytest.fixture
def worker(serve, device, monkeypatch):
    monkeypatch.setattr("gpushare.daemon.supervisor.worker_process.DEVICE_PATIENCE_S", 0.2)
    monkeypatch.setattr("gpushare.daemon.supervisor.worker_process.NO_DEVICE_PAUSE_S", 0.2)
    return serve(devices=[f"sim:{device}"]).workers[f"sim:{device}"]


@pytest.fixture
def lose(worker, device):
    """Takes the device away, and whoever holds it."""

    def take_away():
        device.unlink()
        os.kill(worker.pid, signal.SIGKILL)

    return take_away


@pytest.fixture
def session(worker, folder):
    with gs.connect(folder / "socket") as session:
        yield session


def test_clients_hear_why_the_device_cannot_be_opened(session, lose, folder, run):
    job = run(session.application("alice"), "sleep", 60)
    began = time.monotonic()
    lose()
    with pytest.raises(gs.WorkerLostError):
        job.result(30)
    with raises_naming(gs.DeviceLostError, SAID) as raised:
        run(session.application("bob"), "sleep", 0)
    assert not raised.value.retryable
    with raises_naming(gs.DeviceLostError, SAID):
        gs.connect(folder / "socket")
    assert time.monotonic() - began < 30


def test_jobs_that_would_be_run_again_fail_with_it(session, lose, run):
    array = session.array(np.zeros(3), durable=True)
    job = run(session.application("alice"), "slow_add", array, 1, 60, idempotent=True)
    lose()
    with raises_naming(gs.DeviceLostError, SAID):
        job.result(30)


def test_a_short_outage_is_not_reported(session, lose, device, worker, run, monkeypatch, eventually):
    monkeypatch.setattr("gpushare.daemon.supervisor.worker_process.DEVICE_PATIENCE_S", 30)
    array = session.array(np.zeros(3), durable=True)
    job = run(session.application("alice"), "slow_add", array, 1, 0.5, idempotent=True)
    lose()
    eventually(lambda: worker.restarts > 1)  # one has not found it
    device.touch()
    job.result(30)
    assert array.numpy().tolist() == [1, 1, 1]


def test_a_device_that_comes_back_is_served_again(session, lose, device, worker, run, eventually):
    application = session.application("alice")
    lose()
    with pytest.raises(gs.DeviceLostError):
        session.status()
    tried = worker.restarts
    eventually(lambda: worker.restarts > tried)
    device.touch()
    eventually(lambda: _answers(session))
    array = session.zeros(3)
    run(application, "add", array, 1).result(30)
    assert array.numpy().tolist() == [1, 1, 1]


def _answers(session):
    try:
        return session.status()["device"]
    except gs.DeviceLostError:
        return None


def test_it_is_tried_at_a_slow_pace(session, lose, worker, monkeypatch):
    monkeypatch.setattr("gpushare.daemon.supervisor.worker_process.NO_DEVICE_PAUSE_S", 3600)
    lose()
    with pytest.raises(gs.DeviceLostError):
        session.status()
    tried = worker.restarts
    time.sleep(0.5)
    assert worker.restarts == tried


def test_a_server_that_ends_meanwhile_ends_at_once(session, lose, device, worker, monkeypatch, eventually):
    monkeypatch.setattr("gpushare.daemon.supervisor.worker_process.NO_DEVICE_PAUSE_S", 3600)
    lose()
    with pytest.raises(gs.DeviceLostError):
        session.status()
    worker.close()
    eventually(lambda: f"keeper of sim:{device}" not in [each.name for each in threading.enumerate()])


def test_the_commands_say_so(session, lose, device, folder, call, monkeypatch):
    monkeypatch.setenv("GPUSHARE_SOCKET", str(folder / "socket"))
    lose()
    with pytest.raises(gs.DeviceLostError):
        session.status()
    for line in ("status", "status --json", "top --once", "set-policy fifo"):
        assert_names(call(*line.split(), code=2).stderr, device)


def test_a_worker_that_cannot_be_started_is_tried_again(session, worker, monkeypatch, caplog):
    """As while the server has no descriptor left; and its predecessor ended by a signal without a name."""
    started, failures = subprocess.Popen, iter([OSError(errno.EMFILE, "Too many open files")] * 3)

    def start(*arguments, **options):
        if (failure := next(failures, None)) is not None:
            raise failure
        return started(*arguments, **options)

    monkeypatch.setattr("subprocess.Popen", start)
    os.kill(worker.pid, 35)
    assert session.status()["clients"]
    assert worker.restarts == 4
    said = [each.message for each in caplog.records if each.levelname == "ERROR"]
    assert "ended (signal 35); another one is started" in said[0]
    assert "cannot be started: [Errno 24] Too many open files" in said[1]


def test_repeated_requests_do_not_fill_the_log(session, lose, caplog):
    lose()
    for _ in range(20):
        with pytest.raises(gs.DeviceLostError):
            session.status()
    assert not [each for each in caplog.records if "a connection was refused" in each.message and each.levelno > 10]


def test_a_server_that_ends_is_gone(worker):
    worker.close()
    with pytest.raises(gs.DaemonGoneError) as raised:
        worker.hand_over(None, b"")
    assert not raised.value.retryable


def test_a_worker_whose_server_has_ended_says_nothing(capfd):
    worker = WorkerProcess("sim:none", Settings(devices=["sim:none"], policy="srtf"), False, STANDIN)
    process, ours = worker._spawn()
    ours.close()
    assert process.wait(30) == EXIT_NO_DEVICE
    assert capfd.readouterr().err == ""


def test_a_worker_that_does_not_live_to_serve_is_no_silent_server(worker, device, folder, monkeypatch, eventually):
    monkeypatch.setattr("gpushare.daemon.supervisor.worker_process.HAND_OVER_TIMEOUT_S", 0.3)
    monkeypatch.setattr("gpushare.daemon.supervisor.worker_process.LONGEST_PAUSE_S", 1.0)
    monkeypatch.setattr("gpushare.daemon.client.connection.WELCOME_TIMEOUT_S", 1.0)
    device.write_text("it takes its worker along")
    os.kill(worker.pid, signal.SIGKILL)
    eventually(lambda: worker.restarts > 1)
    with raises_naming(gs.WorkerLostError, 9):
        gs.connect(folder / "socket")
