# SPDX-License-Identifier: Apache-2.0
"""The NVIDIA driver and the GPUs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpushare.backends.cuda.driver import MODULE_VERSION, cuda_version, module_release
from gpushare.doctor.driver_install import driver_command, in_container
from gpushare.doctor.finding import Finding, State, binary_size

DRIVER = "NVIDIA driver"
GPUS = "GPUs"
OLDEST_DRIVER = 13000
"""As in src/cuda/driver.hpp."""
OLDEST_ARCHITECTURE = 75
"""CUDA 13 compiles for nothing older."""
CONTROL_FILE = Path("/dev/nvidiactl")
PCI_DEVICES = Path("/sys/bus/pci/devices")


def check(report: Mapping[str, Any]) -> list[Finding]:
    """Findings from the probe's report of the driver."""
    driver = _driver(report, module_release(MODULE_VERSION))
    return [driver, _gpus(report, driver.state)]


def nvidia_hardware(pci: Path) -> bool:
    """Whether there is an NVIDIA display or 3D controller on the PCI bus, with or without a driver."""
    for device in pci.glob("*"):
        try:
            if (device / "vendor").read_text().strip() == "0x10de" and (device / "class").read_text()[:4] == "0x03":
                return True
        except OSError:
            continue
    return False


def _driver(report: Mapping[str, Any], release: str | None) -> Finding:
    version = report["driver_version"]
    facts = {"cuda": cuda_version(version) if version else None, "release": release}
    shared: dict[str, Any] = {"needed_by_gpu": True, "facts": facts}
    if not report["has_library"]:
        # The error of opening the library is of interest only if the library exists.
        why = () if "No such file" in report["error"] else (report["error"],)
        return Finding(DRIVER, State.MISSING, _without_library(release), why, driver_command(), **shared)
    if not version:
        return Finding(DRIVER, State.BROKEN, "does not answer", (report["error"],), "nvidia-smi", **shared)
    words = f"CUDA {cuda_version(version)}" + (f", release {release}" if release else "")
    if version < OLDEST_DRIVER:
        return Finding(DRIVER, State.BROKEN, f"too old: {words}", (report["error"],), driver_command(), **shared)
    return Finding(DRIVER, State.GOOD, words, **shared)


def _without_library(release: str | None) -> str:
    if release is not None:
        return f"its kernel module {release} is loaded, but libcuda.so.1 is not here"
    if nvidia_hardware(PCI_DEVICES):
        return "none, although there is an NVIDIA GPU on the PCI bus"
    return "none, and no NVIDIA GPU on the PCI bus"


def _gpus(report: Mapping[str, Any], driver: State) -> Finding:
    gpus = [{**gpu, "error": gpu["error"] or _age(gpu)} for gpu in report["gpus"]]
    shared: dict[str, Any] = {"needed_by_gpu": True, "facts": {"gpus": gpus, "error": report["error"]}}
    if driver is not State.GOOD:
        return Finding(GPUS, State.MISSING, "cannot be seen without a driver that works", **shared)
    if not gpus:
        return _no_gpu(report["error"] or "no reason given", shared)
    words = "; ".join(_words(gpu) for gpu in gpus)
    failures = tuple(f"{gpu['device']}: {gpu['error']}" for gpu in gpus if gpu["error"])
    if len(failures) == len(gpus):
        return Finding(GPUS, State.BROKEN, words, failures, "nvidia-smi", **shared)
    if failures:
        return Finding(GPUS, State.HURTS, words, failures, "nvidia-smi", **shared)
    return Finding(GPUS, State.GOOD, words, **shared)


def _no_gpu(error: str, shared: dict[str, Any]) -> Finding:
    """A missing GPU is common, in images that bring libcuda; any other refusal is a fault."""
    state = State.MISSING if "CUDA_ERROR_NO_DEVICE" in error else State.BROKEN
    fix = "nvidia-smi"
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        fix = "unset CUDA_VISIBLE_DEVICES"
    elif in_container():
        fix = "docker run --gpus all IMAGE"
    details: tuple[str, ...] = (error,)
    if CONTROL_FILE.exists() and not os.access(CONTROL_FILE, os.R_OK | os.W_OK):
        details += (f"This user may not open {CONTROL_FILE}.",)
    return Finding(GPUS, state, "none", details, fix, **shared)


def _age(gpu: Mapping[str, Any]) -> str | None:
    """The problem of a GPU that is too old for the compiler."""
    architecture = gpu.get("architecture")
    if architecture is None or int(architecture.removeprefix("sm_")) >= OLDEST_ARCHITECTURE:
        return None
    return f"compute capability {_capability(architecture)}; CUDA 13 needs {_capability(f'sm_{OLDEST_ARCHITECTURE}')}"


def _capability(architecture: str) -> str:
    digits = architecture.removeprefix("sm_")
    return f"{digits[:-1]}.{digits[-1]}"


def _words(gpu: Mapping[str, Any]) -> str:
    if "architecture" not in gpu:
        return gpu["device"]
    capability = _capability(gpu["architecture"])
    memory = binary_size(gpu["memory_bytes"])
    return f"{gpu['device']} {gpu['name']} (compute capability {capability}, {gpu['sms']} SMs, {memory})"
