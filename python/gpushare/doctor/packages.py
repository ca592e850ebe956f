# SPDX-License-Identifier: Apache-2.0
"""Checks optional packages: what tables and plots need, and what provides arrays and kernels for gpushare."""

from __future__ import annotations

from importlib import metadata

from gpushare.doctor.finding import Finding, State
from gpushare.extras import install

ANALYSIS = ("pandas", "matplotlib", "jinja2", "perfetto")
# Distribution names by package. None is imported: torch alone takes seconds.
FRONT_ENDS = {
    "torch": ("torch",),
    "cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy"),
    "numba": ("numba-cuda", "numba"),
    "triton": ("triton",),
}
INSTALL_FRONT_END = 'pip install torch   # or cupy-cuda13x, "numba-cuda[cu13]", triton'


def check() -> list[Finding]:
    """One line per purpose."""
    return [analysis(), front_ends()]


def analysis() -> Finding:
    """The extra ``analysis``, without which a server and its clients work."""
    versions = {name: _version((name,)) for name in ANALYSIS}
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        summary = f"without {', '.join(missing)} (optional)"
        return Finding("Tables, plots", State.MISSING, summary, (), install("analysis"), facts=versions)
    return Finding("Tables, plots", State.GOOD, _listed(versions), facts=versions)


def front_ends() -> Finding:
    """Any of them will do."""
    versions = {name: _version(names) for name, names in FRONT_ENDS.items()}
    if not any(versions.values()):
        summary = f"none of {', '.join(versions)} (optional)"
        return Finding("Front ends", State.MISSING, summary, (), INSTALL_FRONT_END, facts=versions)
    return Finding("Front ends", State.GOOD, _listed(versions), facts=versions)


def _listed(versions: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items() if version is not None)


def _version(names: tuple[str, ...]) -> str | None:
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None
