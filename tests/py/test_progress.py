# SPDX-License-Identifier: Apache-2.0
"""Progress bars: on stderr, only when asked for, on a terminal, or in a notebook."""

import sys

import pytest
from tqdm.auto import tqdm

import gpushare as gs
from gpushare.progress import tracked


@pytest.mark.parametrize("show", [True, False, None])
def test_items_pass_through_unchanged(show):
    assert list(tracked(iter("abc"), total=3, what="spelling", show=show)) == ["a", "b", "c"]
    assert list(tracked([], total=0, what="nothing", show=show)) == []


def test_a_forced_bar_goes_to_stderr(capsys):
    list(tracked(range(3), total=3, what="counting", show=True))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "counting" in captured.err


@pytest.mark.parametrize("show", [False, None])
def test_no_bar_without_a_terminal(capsys, show):
    list(tracked(range(3), total=3, what="counting", show=show))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("stderr", [None, object()], ids=["closed", "a logger"])
def test_no_bar_where_stderr_is_no_file(monkeypatch, stderr):
    monkeypatch.setattr(sys, "stderr", stderr)
    assert list(tracked(range(3), total=3, what="counting")) == [0, 1, 2]


@pytest.fixture
def on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)


@pytest.fixture
def in_a_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel.zmqshell", object())


@pytest.mark.parametrize("place", ["on_a_terminal", "in_a_notebook"])
@pytest.mark.parametrize(("seconds", "shown"), [(0.1, False), (0.6, True)])
def test_where_it_is_seen_a_bar_comes_after_a_second(request, monkeypatch, capsys, place, seconds, shown):
    request.getfixturevalue(place)
    now = [1_000.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    for _ in tracked(range(3), total=3, what="waiting", show=None):
        now[0] += seconds
    assert ("waiting" in capsys.readouterr().err) == shown


def test_a_bar_is_taken_away_when_the_loop_is_left(capsys):
    items = tracked(range(9), total=9, what="leaving", show=True)
    assert [next(items), next(items)] == [0, 1]
    items.close()
    written = capsys.readouterr()
    assert "leaving" in written.err
    assert written.err.endswith("\r")  # over spaces
    assert written.err.split("\r")[-2].strip() == ""
    assert written.out == ""
    assert not tqdm._instances


def test_compare_shows_one_when_asked(pair, capsys):
    gs.compare(pair, ["fifo"], progress=True)
    assert "running" in capsys.readouterr().err
    gs.compare(pair, ["fifo"])
    assert capsys.readouterr() == ("", "")
