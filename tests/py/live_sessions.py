# SPDX-License-Identifier: Apache-2.0
"""Waiting for what a session does by itself."""

import time

PATIENCE_S = 60


def started(session, name):
    """The application's status, once its first block has begun."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        for each in session.status().applications:
            if each.name == name and each.started > 0:
                return each
    raise AssertionError(f"{name} never began: {session.status().applications}")
