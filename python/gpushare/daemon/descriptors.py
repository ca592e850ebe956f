# SPDX-License-Identifier: Apache-2.0
"""How many files a process may have open: each client takes some of the server's."""

from __future__ import annotations

import contextlib
import os
import resource


def permit_many() -> None:
    """As many as the machine lets this process have: the usual 1024 are those that ``select`` can look at."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # it may be more than the kernel permits now
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def open_descriptors() -> int:
    """Of this process, now."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:  # there is none left to look with
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
