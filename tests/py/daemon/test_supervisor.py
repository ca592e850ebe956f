# SPDX-License-Identifier: Apache-2.0
"""The server's first process goes on without what it cannot have, and says why it does not begin."""

import os
import socket
import subprocess
import sys
import threading

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.client.server_socket import LONGEST_PATH
from gpushare.daemon.protocol.limits import MOST_GREETINGS
from gpushare.daemon.supervisor.listener import Listener


@pytest.mark.parametrize("name", ["_greet", "_drop_if_silent"])
def test_a_client_without_a_thread_is_dropped_and_others_are_not(serve, folder, monkeypatch, name):
    serve()
    start = threading.Thread.start

    def fail(thread):
        if thread._target is not None and thread._target.__name__ == name:
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        for _ in range(MOST_GREETINGS + 1):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(30)
                connection.connect(str(folder / "socket"))
                assert connection.recv(1) == b""
    with gs.connect(folder / "socket") as session:
        assert session.zeros(3).numpy().sum() == 0


def test_a_full_disk_keeps_no_server_from_its_socket(folder):
    code = """
import pathlib, resource, sys
from gpushare.daemon.supervisor.listener import Listener
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no file can be written
Listener(pathlib.Path(sys.argv[1])).close()
"""
    subprocess.run([sys.executable, "-c", code, str(folder / "socket")], check=True)


@pytest.fixture
def stale(folder):
    """What a server of somebody else has left in a folder where only its user may take it away."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "socket"))
    return folder / "socket"


def test_a_stale_socket_that_cannot_be_cleared_away(stale, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    with raises_naming(gs.InvalidInput, "Operation not permitted"):
        Listener(stale)


def test_a_group_that_the_socket_cannot_be_given_to(folder, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    with raises_naming(gs.InvalidInput, 0, "Operation not permitted"):
        Listener(folder / "socket", "0")
    assert not (folder / "socket").exists()
    Listener(folder / "socket").close()


def test_a_socket_path_that_is_too_long_is_named_by_server_and_client(serve, folder):
    fitting = folder / ("s" * (LONGEST_PATH - len(str(folder)) - 1))
    serve(fitting)
    gs.connect(fitting).close()
    path = fitting.with_name(fitting.name + "s")
    for use in (lambda: gs.connect(path), lambda: serve(path)):
        with raises_naming(gs.InvalidInput, path, LONGEST_PATH):
            use()
