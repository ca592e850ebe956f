# SPDX-License-Identifier: Apache-2.0
"""Progress bars: on stderr, only when asked for or when there is somebody to look."""

import sys

import pytest

import gpushare as gs
from gpushare import progress
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


class Clock:
    """A clock that the test moves."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


@pytest.mark.parametrize(("seconds", "shown"), [(0.1, False), (0.6, True)])
def test_on_a_terminal_a_bar_comes_after_a_second(monkeypatch, capsys, seconds, shown):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    for _ in tracked(range(3), total=3, what="waiting", show=None):
        clock.now += seconds
    assert ("waiting" in capsys.readouterr().err) == shown


def test_a_bar_is_taken_away_when_the_loop_is_left(capsys):
    from rich.progress import Progress

    stopped = []
    original = Progress.stop
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Progress, "stop", lambda self: (stopped.append(self), original(self)))
        items = tracked(range(9), total=9, what="leaving", show=True)
        assert [next(items), next(items)] == [0, 1]
        items.close()
    assert len(stopped) == 1
    assert capsys.readouterr().out == ""


def test_compare_shows_one_when_asked(pair, capsys):
    gs.compare(pair, ["fifo"], progress=True)
    assert "running" in capsys.readouterr().err
    gs.compare(pair, ["fifo"])
    assert capsys.readouterr() == ("", "")
