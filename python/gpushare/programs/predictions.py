# SPDX-License-Identifier: Apache-2.0
"""Kernel times of programs in earlier runs, by name and shape, for this machine's GPU."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.profile.store import ProfileStore

WAIT_S = 1.0
"""For other processes that write to the store: a program is not to wait for times that are optional."""
LOG = logging.getLogger("gpushare.programs")


def gpu_name() -> str:
    """Name of the first GPU, from NVML, which needs no context; "" where it is not known."""
    try:
        import pynvml

        pynvml.nvmlInit()
        name = pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(0))
    except Exception:  # any error: predictions are optional
        return ""
    return name if isinstance(name, str) else name.decode(errors="replace")


def known_times(page: _core.ProgramPage) -> None:
    """Copies stored times to the program's page."""
    try:
        for key, ns in ProfileStore(wait_s=WAIT_S).launch_times(gpu_name()):
            page.predict(key, ns)
    except InvalidInput as error:
        LOG.warning("times of earlier runs are not used: %s", error)


def keep_times(kernels: Iterable[_core.ProgramKernel]) -> None:
    """Stores the measured times for the next run."""
    measured = [(each.key, each.predicted_ns) for each in kernels if each.samples]
    try:
        ProfileStore(wait_s=WAIT_S).keep_launch_times(gpu_name(), measured)
    except (InvalidInput, OSError) as error:
        LOG.warning("times of this run are not stored: %s", error)
