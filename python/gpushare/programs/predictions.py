# SPDX-License-Identifier: Apache-2.0
"""How long the kernels of programs took in earlier runs, by name and shape, on the GPU that is here."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.profile.store import ProfileStore

LOG = logging.getLogger("gpushare.programs")


def gpu_name() -> str:
    """That of the first GPU, by NVML, which needs no context; "" where it does not tell."""
    try:
        import pynvml

        pynvml.nvmlInit()
        name = pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(0))
    except Exception:  # whatever is wrong with it: predictions are a help and no more
        return ""
    return name if isinstance(name, str) else name.decode(errors="replace")


def known_times(page: _core.ProgramPage) -> None:
    """Gives the program's page what the store has."""
    try:
        for key, ns in ProfileStore().launch_times(gpu_name()):
            page.predict(key, ns)
    except InvalidInput as error:
        LOG.warning("times of earlier runs are not used: %s", error)


def keep_times(kernels: Iterable[_core.ProgramKernel]) -> None:
    """Keeps what was measured, for the next run."""
    measured = [(each.key, each.predicted_ns) for each in kernels if each.samples]
    try:
        ProfileStore().keep_launch_times(gpu_name(), measured)
    except (InvalidInput, OSError) as error:
        LOG.warning("times of this run are not kept: %s", error)
