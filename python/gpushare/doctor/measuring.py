# SPDX-License-Identifier: Apache-2.0
"""Checks for profiling: CUPTI, and the permission to read the GPU's counters."""

from __future__ import annotations

import re
from pathlib import Path

from gpushare.doctor.driver_install import in_container
from gpushare.doctor.finding import Finding, State
from gpushare.kernels.cuda_libraries import library_path

CUPTI_INSTALL = 'pip install "nvidia-cuda-cupti>=13.0,<14"'
MODULE_PARAMETERS = Path("/proc/driver/nvidia/params")
PROCESS_STATUS = Path("/proc/self/status")
CAP_SYS_ADMIN = 21
PERMIT = (
    "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0'"
    " | sudo tee /etc/modprobe.d/nvidia-profiling.conf   # then reboot"
)
PERMIT_CONTAINER = "docker run --gpus all --cap-add SYS_ADMIN IMAGE"


def check() -> list[Finding]:
    """The library and the permission. Scheduling needs neither."""
    return [cupti(library_path("cupti")), counters(MODULE_PARAMETERS, PROCESS_STATUS)]


def cupti(path: str | None) -> Finding:
    """Finds NVIDIA's library for traces and counters."""
    if path is None:
        return Finding("CUPTI", State.MISSING, "was not found", (), CUPTI_INSTALL, facts={"path": None})
    return Finding("CUPTI", State.GOOD, path, facts={"path": path})


def counters(parameters: Path, status: Path) -> Finding:
    """Whether this process may read hardware counters, as any user or as administrator."""
    title = "GPU counters"
    try:
        found = re.search(r"^RmProfilingAdminOnly:\s*(\d+)", parameters.read_text(), re.MULTILINE)
    except OSError:
        return Finding(title, State.MISSING, "no NVIDIA kernel module that could permit them", facts={"may": None})
    if found is not None and int(found[1]) == 0:
        return Finding(title, State.GOOD, "all users may read them", facts={"may": True})
    if _is_administrator(status):
        return Finding(title, State.GOOD, "administrators may read them, as this process may", facts={"may": True})
    details = ("Counters need CAP_SYS_ADMIN, or a kernel module that permits all users. Timings need neither.",)
    fix = PERMIT_CONTAINER if in_container() else PERMIT
    return Finding(title, State.HURTS, "only administrators may read them", details, fix, facts={"may": False})


def _is_administrator(status: Path) -> bool:
    try:
        found = re.search(r"^CapEff:\s*([0-9a-f]+)", status.read_text(), re.MULTILINE)
    except OSError:
        return False
    return found is not None and bool(int(found[1], 16) >> CAP_SYS_ADMIN & 1)
