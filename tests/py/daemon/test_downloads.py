# SPDX-License-Identifier: Apache-2.0
"""A download of a durable array says what it holds only if no job could write it meanwhile."""

import os
import signal

import numpy as np
import pytest

import gpushare as gs
from gpushare.daemon.client.registrations import Registered


@pytest.fixture
def session(worker, folder):
    with gs.connect(folder / "socket") as session:
        yield session


@pytest.fixture
def after_the_copy(monkeypatch):
    """Has something happen when a download has been copied, and nobody knows of it yet."""

    def patch(happen):
        read = Registered.read

        def read_and_more(*given):
            read(*given)
            happen.pop()() if happen else None

        monkeypatch.setattr(Registered, "read", read_and_more)

    return patch


def test_a_job_that_ends_during_the_download_is_run_again(session, worker, run, after_the_copy):
    array = session.array(np.zeros(2), durable=True)
    job = run(session.application("alice"), "slow_add", array, 1, 1, idempotent=True)
    after_the_copy([lambda: job.result(30)])
    array.numpy()
    os.kill(worker.pid, signal.SIGKILL)
    assert array.numpy().tolist() == [1, 1]


def test_a_job_that_comes_during_the_download_is_run_again(session, worker, run, after_the_copy):
    array = session.array(np.zeros(2), durable=True)
    application = session.application("alice")
    after_the_copy([lambda: run(application, "add", array, 1, idempotent=True).result(30)])
    assert array.numpy().tolist() == [0, 0]
    os.kill(worker.pid, signal.SIGKILL)
    assert array.numpy().tolist() == [1, 1]


def test_a_job_that_cannot_be_run_again_spoils_its_array_until_it_has_ended(session, worker, run):
    array, gate = session.array(np.zeros(2), durable=True), session.zeros(1)
    job = run(session.application("alice"), "add_once_open", array, 1, gate)
    assert array.numpy().tolist() == [0, 0]
    gate.upload([1])
    job.result(30)
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(gs.WorkerLostError):
        array.numpy()


def test_a_download_after_it_is_as_good_as_an_upload(session, worker, run):
    array = session.array(np.zeros(2), durable=True)
    run(session.application("alice"), "add", array, 1).result(30)
    assert array.numpy().tolist() == [1, 1]
    os.kill(worker.pid, signal.SIGKILL)
    assert array.numpy().tolist() == [1, 1]
