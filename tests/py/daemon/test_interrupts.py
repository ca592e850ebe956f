# SPDX-License-Identifier: Apache-2.0
"""Whoever is interrupted while waiting for an answer leaves nothing behind in the server."""

import os

import pytest

import gpushare as gs
from gpushare.daemon.client.reply import Reply
from gpushare.daemon.protocol.arena import Arena


class Interrupted(BaseException):
    """As Ctrl-C, but for one thread."""


def interrupt(*_):
    raise Interrupted


def interrupted(ask, monkeypatch):
    """Ctrl-C comes as soon as somebody waits for an answer."""

    def make(reply, *given):
        init(reply, *given)
        reply._there.wait = interrupt

    init = Reply.__init__
    with monkeypatch.context() as patch:
        patch.setattr(Reply, "__init__", make)
        with pytest.raises(Interrupted):
            ask()


def test_an_array_that_waited_for_memory_is_freed_when_it_comes(serve, folder, monkeypatch, eventually):
    serve(memory_bytes=1000)
    with gs.connect(folder / "socket") as other, gs.connect(folder / "socket") as session:
        kept = other.zeros(200)
        interrupted(lambda: session.zeros(100), monkeypatch)
        eventually(lambda: other.status()["memory"]["waiting_requests"] == 1)
        kept.free()
        eventually(lambda: other.status()["memory"] == {"total_bytes": 1000, "used_bytes": 0, "waiting_requests": 0})
        assert session.zeros(250).nbytes == 1000


def test_an_application_is_cancelled(session, monkeypatch, eventually):
    interrupted(lambda: session.application("alice"), monkeypatch)
    eventually(lambda: session.status()["applications"] == [])
    session.application("alice")


def test_shared_memory_is_let_go_of(session, monkeypatch, ask, eventually):
    registered, shared = session._connection.registered(), Arena.made(100)
    before = session.status()["descriptors"]
    for _ in range(40):
        interrupted(lambda: registered._tell_arena(shared), monkeypatch)
    eventually(lambda: session.status()["descriptors"] < before + 10)


@pytest.mark.parametrize("is_late", [True, False])
def test_an_abandoned_answer_is_undone(is_late):
    undone, (read, write) = [], os.pipe()
    reply = Reply(undone.append)
    reply._there.wait = interrupt
    if not is_late:
        reply.answer(7, None, [read])
    with pytest.raises(Interrupted):
        reply.result()
    if is_late:
        assert undone == []
        reply.answer(7, None, [read])
    assert undone == [7]
    with pytest.raises(BrokenPipeError):
        os.write(write, b"x")
    os.close(write)


def test_an_error_of_an_abandoned_request_undoes_nothing():
    undone = []
    reply = Reply(undone.append)
    reply._there.wait = interrupt
    with pytest.raises(Interrupted):
        reply.result()
    reply.answer(None, gs.InvalidInput("no"), [])
    assert undone == []
