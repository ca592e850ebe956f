# SPDX-License-Identifier: Apache-2.0
"""Checks optional packages that provide arrays and kernels for gpushare."""

from __future__ import annotations

from importlib import metadata

from gpushare.doctor.finding import Finding, State

# Distribution names by package. None is imported: torch alone takes seconds.
DISTRIBUTIONS = {
    "torch": ("torch",),
    "cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy"),
    "numba": ("numba-cuda", "numba"),
    "triton": ("triton",),
}
FIX = 'pip install torch   # or cupy-cuda13x, "numba-cuda[cu13]", triton'


def check() -> list[Finding]:
    """One line for all packages, which are optional."""
    versions = {name: _version(names) for name, names in DISTRIBUTIONS.items()}
    words = [f"{name} {version}" for name, version in versions.items() if version is not None]
    if not words:
        return [
            Finding("Front ends", State.MISSING, f"none of {', '.join(versions)} (optional)", (), FIX, facts=versions)
        ]
    return [Finding("Front ends", State.GOOD, ", ".join(words), facts=versions)]


def _version(names: tuple[str, ...]) -> str | None:
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None
