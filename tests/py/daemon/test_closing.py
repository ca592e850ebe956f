# SPDX-License-Identifier: Apache-2.0
"""A session can be closed whatever it waits for."""

import os
import signal
import socket
import threading

import pytest

import gpushare as gs
from gpushare.daemon.client.greeting import ANY_DEVICE


@pytest.fixture
def silent(folder):
    """A socket where somebody listens and says nothing."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "silent"))
        listener.listen()
        yield listener


@pytest.fixture
def in_thread():
    """Calls something; whether it has ended, and what it raised, come later."""
    errors = []

    def call(work):
        def run():
            try:
                work()
            except Exception as error:
                errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread, errors

    return call


def test_a_session_that_waits_for_a_worker_can_be_closed(serve, folder, silent, in_thread):
    worker = serve().workers["sim:h100"]
    session = gs.connect(folder / "socket")
    session._connection._where = (folder / "silent", ANY_DEVICE, None)
    os.kill(worker.pid, signal.SIGKILL)
    asking, errors = in_thread(session.status)
    silent.settimeout(30)
    connection, _ = silent.accept()
    closing, _ = in_thread(session.close)
    for each in (asking, closing):
        each.join(30)  # less than it waits for a welcome
        assert not each.is_alive()
    assert [str(each) for each in errors] == ["the session has been finished: open another one"]
    connection.close()


def test_a_session_that_does_again_what_was_lost_can_be_closed(serve, folder, run, in_thread, eventually):
    worker = serve().workers["sim:h100"]
    session = gs.connect(folder / "socket")
    array = session.zeros(1, durable=True)
    job = run(session.application("alice"), "slow_add", array, 1, 60, idempotent=True)
    session._connection.log.uploaded(array._state, None)  # for which that job is waited
    os.kill(worker.pid, signal.SIGKILL)
    asking, errors = in_thread(session.status)
    eventually(lambda: session._connection._making is not None and job.attempts == 2)
    closing, _ = in_thread(session.close)
    for each in (asking, closing):
        each.join(30)
        assert not each.is_alive()
    assert isinstance(errors[0], gs.InvalidInput)
