# SPDX-License-Identifier: Apache-2.0
"""Checks of this machine: what is installed and missing, and how to install it (docs/guide/troubleshooting.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gpushare.backends.cuda.device import is_cuda
from gpushare.doctor import driver, host, installation, measuring, packages, settings, simulator, toolchain
from gpushare.doctor.finding import Finding, State
from gpushare.doctor.gpu_probe import probe


@dataclass(frozen=True)
class Diagnosis:
    """All findings, and conclusions from them."""

    findings: tuple[Finding, ...]
    gpu_expected: bool

    @property
    def healthy(self) -> bool:
        """Whether nothing is broken and everything required is installed."""
        return all(each.state is not State.BROKEN for each in self.findings)

    @property
    def simulator_works(self) -> bool:
        """Whether simulated devices can be used."""
        return any(each.name == simulator.DEVICES and each.state is State.GOOD for each in self.findings)

    @property
    def gpu_works(self) -> bool:
        """Whether kernels can be compiled for a real GPU and run on it."""
        return not self.wanted_for_gpu

    @property
    def wanted_for_gpu(self) -> list[str]:
        """Requirements of a real GPU that are missing or broken."""
        unusable = (State.MISSING, State.BROKEN)
        return [each.name for each in self.findings if each.needed_by_gpu and each.state in unusable]


def diagnose(*, require_gpu: bool = False) -> Diagnosis:
    """Runs all checks. Takes a second or two, and changes nothing on this machine.

    Args:
        require_gpu: whether a missing requirement of a real GPU counts as broken. It also does if the environment
            variable GPUSHARE_DEVICE names a real GPU.
    """
    expected = require_gpu or is_cuda("auto")
    found = [finding for name, check in _checks().items() for finding in _guarded(name, check)]
    if expected:
        found = [replace(each, state=State.BROKEN) if _is_lacking(each) else each for each in found]
    return Diagnosis(tuple(found), expected)


def _checks() -> dict[str, Callable[[], list[Finding]]]:
    report = probe()
    return {
        "Simulator": simulator.check,
        "Driver": lambda: driver.check(report),
        "Compiler": lambda: toolchain.check(report["driver_version"]),
        "Measuring": measuring.check,
        "Host": host.check,
        "Settings": settings.check,
        "Installation": installation.check,
        "Packages": packages.check,
    }


def _is_lacking(finding: Finding) -> bool:
    return finding.needed_by_gpu and finding.state is State.MISSING


def _guarded(name: str, check: Callable[[], list[Finding]]) -> list[Finding]:
    """An unexpected error in one check must not prevent the others."""
    try:
        return check()
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        details = (f"This is a bug in gpushare: {said}",)
        return [Finding(name, State.BROKEN, "cannot be checked", details, needed_by_gpu=True)]
