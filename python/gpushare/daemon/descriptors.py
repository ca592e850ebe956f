# SPDX-License-Identifier: Apache-2.0
"""The limit of open files of a process: the server needs several per client."""

from __future__ import annotations

import contextlib
import os
import resource


def permit_many() -> None:
    """Raises the limit to the hard limit; the usual 1024 is a limit of ``select`` only."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # the hard limit may be above what the kernel permits now
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def open_descriptors() -> int:
    """Number of open descriptors of this process."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:  # no descriptor is left for listing them
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
