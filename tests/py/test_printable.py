# SPDX-License-Identifier: Apache-2.0
"""Names from files and from other processes reach no terminal with what it would obey."""

import json

import pytest
from click.testing import CliRunner

from gpushare.cli import main
from gpushare.cli.output import print_document, print_table
from gpushare.cli.tables.server import APPLICATION_COLUMNS, CLIENT_COLUMNS, application_rows, client_rows, headline
from gpushare.daemon.supervisor.listener import Listener
from gpushare.printable import printable

CLEAR = "\x1b[2J\x1b]0;owned\x07"
BACKWARDS = "\u202e"
NEXT_LINE = "\ngpushare: all is well"


@pytest.mark.parametrize("hostile", [CLEAR, "\x9b2J", "\x7f", "\r", "\x08", BACKWARDS, "\u2066", "\u200f", "\x00"])
def test_nothing_that_a_terminal_obeys_is_printable(hostile):
    for lines in (False, True):
        made = printable(f"a{hostile}b", lines=lines)
        assert made.isprintable()
        assert (made[0], made[-1]) == ("a", "b")


def test_a_name_has_no_line_of_its_own():
    assert "\n" not in printable(NEXT_LINE)
    assert printable("one\n\ttwo", lines=True) == "one\n\ttwo"


@pytest.fixture
def workload(tmp_path):
    """A file whose names do what they can: those with control characters are refused."""
    name, kernel, application = (json.dumps(f"{letter}{BACKWARDS}") for letter in "wka")
    path = tmp_path / "w.toml"
    path.write_text(
        f"name = {name}\n"
        f"[[kernel]]\nname = {kernel}\nthreads = 64\nlatency_ns = 10_000\n"
        f"[[application]]\nname = {application}\noperations = [{{ launch = {kernel}, blocks = 100 }}]\n"
        f"[[application]]\nname = 'b'\noperations = [{{ launch = {kernel}, blocks = 100 }}]\n"
    )
    return path


def said_by(*arguments):
    """With colours, as on a terminal: else click leaves out some of what a terminal obeys."""
    return CliRunner().invoke(main, [str(each) for each in arguments], color=True).output


@pytest.mark.parametrize("command", [("schedule", "--policy", "fifo"), ("compare", "--policies", "fifo,srtf")])
def test_names_of_a_workload(workload, command):
    first, *others = command
    said = said_by(first, workload, *others)
    assert ("a" if first == "schedule" else "w") + "\\u202e" in said
    assert "bug" not in said
    assert printable(said, lines=True) == said


def test_an_error_that_quotes_a_file(tmp_path):
    path = tmp_path / "w.toml"
    path.write_text('name = "w"\n"\\u001b[2J" = 1\n')
    said = said_by("schedule", "--policy", "fifo", path)
    assert "\\x1b[2J" in said
    assert printable(said, lines=True) == said


def test_a_lock_file(tmp_path):
    """Anybody may have written it where the socket is in a folder for all."""
    holder = Listener(tmp_path / "s")
    (tmp_path / "s.lock").write_text(CLEAR)
    said = said_by("serve", "--device", "sim:h100", "--socket", tmp_path / "s")
    holder.close()
    assert "is there already" in said
    assert printable(said, lines=True) == said


def test_what_a_server_says_of_itself(capsys):
    hostile = {"name": CLEAR, "state": CLEAR, "kernel": CLEAR, "quota": CLEAR, "unfinished_jobs": 0, "ended_jobs": 0}
    client = {"client": 1, "name": CLEAR, "user": CLEAR, "pid": 1, "memory_bytes": 0, "arrays": 0, "applications": 1}
    status = {"device": CLEAR, "policy": CLEAR, "ordering": "arrival", "clients": [client], "applications": [hostile]}
    status["memory"] = {"waiting_requests": 0, "used_bytes": 0, "total_bytes": 0}
    print_table(headline(status), APPLICATION_COLUMNS, application_rows(status))
    print_table("clients", CLIENT_COLUMNS, client_rows(status))
    said = capsys.readouterr().out
    assert "\\x1b[2J" in said
    assert printable(said, lines=True) == said


def test_a_document_is_as_it_is_but_on_a_terminal(capsys, monkeypatch):
    print_document("\x07")
    assert capsys.readouterr().out == "\x07"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_document("\x07")
    assert capsys.readouterr().out == "\\x07"
