# SPDX-License-Identifier: Apache-2.0
"""What the server says on stderr: lines for people, or one JSON object per line."""

from __future__ import annotations

import json
import logging
import os
import sys
import time

LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class JsonLines(logging.Formatter):
    """One object per line: time, level, logger, pid, message, and what raised."""

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
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def log_to_stderr(*, as_json: bool, level: str = "INFO") -> None:
    """For the server's processes."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else logging.Formatter(LINE))
    logger = logging.getLogger("gpushare")
    logger.handlers[:] = [handler]
    logger.setLevel(level)
