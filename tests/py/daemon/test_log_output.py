# SPDX-License-Identifier: Apache-2.0
"""The server's log, where nothing reads it."""

import contextlib
import os
import pty
import socket
import subprocess
import sys
import termios

import pytest

import gpushare as gs
from gpushare.daemon.client.server_socket import answers
from gpushare.daemon.log_output import LogOutput

LINE = "a" * 60 + "\n"
MORE_THAN_FITS = 20_000  # lines


def full_pipe():
    """Both ends of a pipe that takes no further byte."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"a" * 4096)
    os.set_blocking(writing, True)
    return reading, writing


@pytest.fixture(params=["pipe", "socket"])
def ends(request):
    """The reader's and the writer's end of a log that both sides wait for."""
    both = os.pipe() if request.param == "pipe" else [each.detach() for each in socket.socketpair()]
    yield both
    for each in both:
        os.close(each)


def read_all(reading):
    os.set_blocking(reading, False)
    parts = []
    with contextlib.suppress(BlockingIOError):
        while True:
            parts.append(os.read(reading, 1 << 20))
    return b"".join(parts).decode()


def test_lines_that_nothing_reads_are_left_out_and_counted(ends):
    reading, writing = ends
    output = LogOutput(writing)
    for _ in range(MORE_THAN_FITS):
        output.write(LINE)
    lines = read_all(reading).splitlines(keepends=True)
    written = lines.count(LINE)
    assert 0 < written < MORE_THAN_FITS
    output.write("the next one\n")
    after = read_all(reading).strip().splitlines()
    assert after == [f"[{MORE_THAN_FITS - written} lines were left out, as this log was not read]", "the next one"]


def test_the_line_after_one_that_was_cut_begins_anew():
    reading, writing = os.pipe()
    output = LogOutput(writing)
    output.write("b" * (1 << 20) + "\n")
    assert set(read_all(reading)) == {"b"}
    output.write("whole\n")
    assert read_all(reading) == "\n[1 line was left out, as this log was not read]\nwhole\n"
    os.close(reading)
    os.close(writing)


def test_a_stopped_terminal_holds_nothing_up():
    reading, terminal = pty.openpty()
    output = LogOutput(terminal)
    termios.tcflow(terminal, termios.TCOOFF)
    for _ in range(MORE_THAN_FITS):
        output.write(LINE)
    termios.tcflow(terminal, termios.TCOON)
    output.write("the next one\n")
    assert "lines were left out" in os.read(reading, 4096).decode()
    os.close(reading)
    os.close(terminal)


def test_a_file_has_all_lines_also_those_of_other_processes(tmp_path):
    with (tmp_path / "log").open("wb") as file:
        output = LogOutput(file.fileno())
        output.write("first\n")
        os.write(file.fileno(), b"other\n")
        output.write("caf\udce9\n")
    assert (tmp_path / "log").read_text() == "first\nother\ncaf\\udce9\n"


def test_a_server_whose_log_is_not_read_serves(folder, eventually):
    reading, writing = full_pipe()
    command = [sys.executable, "-m", "gpushare", "serve", "--device", "sim:h100", "--socket", folder / "socket"]
    with subprocess.Popen(command, stderr=writing) as server:
        try:
            eventually(lambda: answers(folder / "socket"))
            with gs.connect(folder / "socket") as session:
                assert session.array([1.0]).numpy()[0] == 1
        finally:
            os.close(reading)  # a server that waits for its log ends
            os.close(writing)
            server.terminate()
