# SPDX-License-Identifier: Apache-2.0
"""A worker as the supervisor sees it: one that hangs keeps neither the server nor its end waiting."""

import os
import select
import signal
import socket
import threading

GRANT = b"x" * 60_000
"""Few of them fill a socket."""


def test_a_worker_that_hangs_does_not_keep_the_server_from_ending(serve, eventually, monkeypatch):
    monkeypatch.setattr("gpushare.daemon.supervisor.worker_process.SEND_TIMEOUT_S", 600)
    worker = serve().workers["sim:h100"]
    ours, errors = worker._socket, []
    os.kill(worker.pid, signal.SIGSTOP)

    def hand_over():
        with socket.socket() as connection:
            try:
                while True:
                    worker.hand_over(connection, GRANT)
            except Exception as error:
                errors.append(error)

    handing = threading.Thread(target=hand_over)
    takes_more = select.poll()
    takes_more.register(ours, select.POLLOUT)
    handing.start()
    eventually(lambda: not takes_more.poll(0))  # it waits
    closing = threading.Thread(target=worker.close, daemon=True)
    closing.start()
    for each in (handing, closing):
        each.join(30)
        assert not each.is_alive()
    assert len(errors) == 1


def test_a_hanging_worker_blocks_no_hand_over_for_ever(serve, monkeypatch):
    monkeypatch.setattr("gpushare.daemon.supervisor.worker_process.SEND_TIMEOUT_S", 0.1)
    worker = serve().workers["sim:h100"]
    os.kill(worker.pid, signal.SIGSTOP)
    with socket.socket() as connection:
        try:
            while True:
                worker.hand_over(connection, GRANT)
        except TimeoutError:
            pass
