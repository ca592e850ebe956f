# SPDX-License-Identifier: Apache-2.0
"""Kernels that are made to cost whoever compiles them: the worker, and other clients, go on."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest
from costly_kernels import MEMORY_BOMB, one_line, slow
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.compiling.compilations import Compilations
from gpushare.daemon.compiling.queue import CompileQueue
from gpushare.daemon.settings import Settings

PATIENCE_S = 60


@pytest.fixture(autouse=True)
def temporary(monkeypatch, tmp_path):
    """The folder for temporary files, of which nothing may be left; and a cache in which nothing is found."""
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def compilations(**settings):
    return Compilations(Settings(**settings))


@pytest.fixture
def compile_with():
    """Compiles as a user's client; what idles ends with the test."""
    used = set()

    def compile_it(made, kernel, user="alice", client=1, is_gone=lambda: False):
        used.add((made, user))
        return made.compile(kernel, "sm_90", user, client, is_gone)

    yield compile_it
    for made, user in used:
        made.forget(user)


def groups_of(parent):
    """The processes that compile for it, by which all that they start can be told."""
    children = pathlib.Path(f"/proc/{parent}/task").glob("*/children")
    return {int(each) for file in children for each in file.read_text().split()}


def running_in(group):
    """The names of its processes."""
    names = set()
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
            state, _, its_group, *_ = rest.split()
            if int(its_group) == group and state != "Z":
                names.add(name)
    return names


def ptxas_in(group):
    return "ptxas" in running_in(group)


def test_a_source_that_takes_all_memory_is_refused_and_its_user_goes_on(compile_with):
    made = compilations(compile_memory_bytes=1 << 29)
    with raises_naming(gs.CompileError, 536870912, "compile_memory_bytes"):
        compile_with(made, gs.Kernel(MEMORY_BOMB, "k"))
    assert compile_with(made, one_line(1)).symbol == "_Z1kPi"


def test_ptx_that_takes_minutes_is_ended_with_its_assembler(compile_with, eventually, temporary):
    made = compilations(compile_seconds=8)
    before = groups_of(os.getpid())
    seen = []

    def look():
        seen.extend(group for group in groups_of(os.getpid()) - before if ptxas_in(group))
        return False

    with raises_naming(gs.CompileError, "k", 8, "compile_seconds"):
        compile_with(made, slow(), is_gone=look)
    assert seen
    eventually(lambda: not running_in(seen[-1]))
    assert not list(temporary.iterdir())
    assert compile_with(made, one_line(2)).symbol == "_Z1kPi"


def test_a_compilation_ends_with_its_client(compile_with, eventually):
    before = groups_of(os.getpid())
    gone = threading.Event()
    ended = []

    def compile_it():
        with pytest.raises(EOFError):
            compile_with(compilations(), slow(), is_gone=gone.is_set)
        ended.append(True)

    thread = threading.Thread(target=compile_it)
    thread.start()
    eventually(lambda: any(map(ptxas_in, groups_of(os.getpid()) - before)), PATIENCE_S)
    (group,) = groups_of(os.getpid()) - before
    gone.set()
    thread.join(PATIENCE_S)
    assert ended
    eventually(lambda: not running_in(group))


WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
from costly_kernels import slow
from gpushare.daemon.compiling.compilations import Compilations
from gpushare.daemon.settings import Settings
Compilations(Settings()).compile(slow(), "sm_90", "alice", 1, lambda: False)
"""


def test_a_compilation_ends_with_a_worker_that_is_killed(eventually):
    here = str(pathlib.Path(__file__).parents[1])
    worker = subprocess.Popen([sys.executable, "-c", WORKER, here])
    eventually(lambda: any(map(ptxas_in, groups_of(worker.pid))), PATIENCE_S)
    (group,) = groups_of(worker.pid)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    eventually(lambda: not running_in(group))


def test_one_line_is_compiled_while_another_user_has_as_many_slow_ones_as_may_be(compile_with, eventually):
    made = compilations(compilations=2)
    before = groups_of(os.getpid())
    gone = threading.Event()

    def compile_slowly(client):
        with contextlib.suppress(EOFError):
            compile_with(made, slow(), "mallory", client, gone.is_set)

    threads = [threading.Thread(target=compile_slowly, args=[client]) for client in range(5)]
    for thread in threads:
        thread.start()
    eventually(lambda: any(map(ptxas_in, groups_of(os.getpid()) - before)), PATIENCE_S)
    (slow_one,) = groups_of(os.getpid()) - before  # of five, since the other place is for others
    assert compile_with(made, one_line(3), "alice", 9).symbol == "_Z1kPi"
    assert ptxas_in(slow_one)
    gone.set()
    for thread in threads:
        thread.join(PATIENCE_S)


def served(queue, wanted):
    """In which order a queue whose only place is taken lets these come, each a user and a client."""
    order = []
    release = threading.Event()
    holds = threading.Event()

    def hold():
        with queue.place(*wanted[0], lambda: False):
            holds.set()
            release.wait(PATIENCE_S)

    def come(turn):
        with queue.place(*turn, lambda: False):
            order.append(turn)

    threads = [threading.Thread(target=hold)]
    threads[0].start()
    holds.wait(PATIENCE_S)
    for number, turn in enumerate(wanted[1:], start=1):
        threads.append(threading.Thread(target=come, args=[turn]))
        threads[-1].start()
        while len(queue._waiting) < number:
            time.sleep(0.001)
    release.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    return order


def test_users_have_turns_whatever_number_of_clients_they_have():
    many = [("mallory", client) for client in range(6)]
    order = served(CompileQueue(1), [*many, ("alice", 7), ("bob", 8), ("alice", 9)])
    assert [user for user, _ in order] == ["alice", "bob", "mallory", "alice", *["mallory"] * 4]


def test_clients_of_a_user_have_turns():
    order = served(CompileQueue(1), [("alice", 1), ("alice", 1), ("alice", 1), ("alice", 2)])
    assert order == [("alice", 2), ("alice", 1), ("alice", 1)]


def test_a_compilation_withdrawn_from_the_queue_is_forgotten():
    queue = CompileQueue(1)
    with queue.place("alice", 1, lambda: False), pytest.raises(EOFError), queue.place("bob", 2, lambda: True):
        pass
    with queue.place("bob", 2, lambda: False):
        assert not queue._waiting
    assert not queue._last
