# SPDX-License-Identifier: Apache-2.0
"""Logging of the server to stderr: plain lines, or one JSON object per line.

Clients can cause much output, so lines are cut, quoted text is made printable, and the rate of lines of one kind is
limited.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from typing import Any

from gpushare.daemon.log_output import log_output
from gpushare.printable import printable

LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
MOST_CHARACTERS = 2000
"""Longest message and longest traceback, in characters."""
BURST_S = 5.0
"""The allowance for a burst, in seconds at the permitted rate."""


class JsonLines(logging.Formatter):
    """One object per line: time, level, logger, pid, message, and traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        fields = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": os.getpid(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = cut(self.formatException(record.exc_info))
        return json.dumps(fields)


class Lines(logging.Formatter):
    """Plain lines."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's own name
        """The traceback, cut."""
        return printable(cut(super().formatException(ei)), lines=True)


class Bearable(logging.Filter):
    """Cuts messages and limits the rate per kind and user; the next line tells how many were left out.

    Args:
        lines_per_second: mean rate of one kind and user.
        now_s: the clock, in seconds.
    """

    def __init__(self, lines_per_second: float, now_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._lines_per_second = lines_per_second
        self._now_s = now_s
        self._kinds: dict[object, Kind] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        kind = self._kinds.setdefault((record.name, record.msg, getattr(record, "user", None)), Kind(self._now_s()))
        most = max(BURST_S * self._lines_per_second, 1.0)
        left_out = kind.left_out
        if not kind.may_be_said(self._now_s(), self._lines_per_second, most):
            return False
        more = f" [and {left_out} more of this kind, which were left out]" if left_out else ""
        record.msg, record.args = printable(cut(record.getMessage())) + more, ()
        return True


class Kind:
    """Lines that differ only in their arguments.

    Attributes:
        left_out: number of lines left out since the last one that was written.
    """

    def __init__(self, now_s: float) -> None:
        self.left_out = 0
        self._since_s = now_s
        self._saved: float | None = None

    def may_be_said(self, now_s: float, per_second: float, most: float) -> bool:
        """Counts another line; returns whether it may be written."""
        saved = most if self._saved is None else min(self._saved + (now_s - self._since_s) * per_second, most)
        said = saved >= 1
        self._saved, self._since_s = saved - said, now_s
        self.left_out = 0 if said else self.left_out + 1
        return said


def cut(text: str) -> str:
    """The text, cut to a readable length."""
    more = len(text) - MOST_CHARACTERS
    return text if more <= 0 else f"{text[:MOST_CHARACTERS]} [and {more} more characters]"


def log_to_stderr(*, as_json: bool, level: str = "INFO", lines_per_second: float) -> None:
    """Sets up logging in the server's processes."""
    handler = logging.StreamHandler(log_output())
    handler.setFormatter(JsonLines() if as_json else Lines(LINE))
    handler.addFilter(Bearable(lines_per_second))
    logger = logging.getLogger("gpushare")
    logger.handlers[:] = [handler]
    logger.setLevel(level)
