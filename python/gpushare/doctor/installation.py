# SPDX-License-Identifier: Apache-2.0
"""Checks that the folder of the package has the files of its distribution, and no others."""

from __future__ import annotations

import base64
import hashlib
from importlib import metadata
from pathlib import Path

from gpushare.clash import OTHER, OWN, REPAIR
from gpushare.doctor.finding import Finding, State

PACKAGE = Path(__file__).parents[1]
INSTALLATION = "Installation"
SHOWN = 5
"""How many files a finding names."""
COMPILED = (".pyc", ".pyo")


def check() -> list[Finding]:
    """One line: which distribution the package is of, or what has got into it."""
    own = installed(OWN)
    others = [f"{OTHER} {each.version}" for each in metadata.distributions(name=OTHER)]
    foreign, changed = strange_files(own) if own is not None else ([], [])
    details = []
    if others:
        details.append(f"{', '.join(others)} is another project's package, and its module has the same name.")
    if foreign:
        details.append(f"Files of neither this version nor Python's cache: {_listed(foreign)}.")
    if changed:
        details.append(f"Files that something has replaced: {_listed(changed)}.")
    facts = {"folder": str(PACKAGE), "others": others, "foreign": foreign, "changed": changed}
    if others or changed:
        summary = f"{OWN} and another package share {PACKAGE}" if others else f"files in {PACKAGE} were replaced"
        return [Finding(INSTALLATION, State.BROKEN, summary, tuple(details), REPAIR, facts=facts)]
    if foreign:
        return [Finding(INSTALLATION, State.HURTS, f"unknown files in {PACKAGE}", tuple(details), REPAIR, facts=facts)]
    where = f"{OWN} {own.version}" if own is not None else "not installed by pip: the sources"
    return [Finding(INSTALLATION, State.GOOD, f"{where}, in {PACKAGE}", facts=facts)]


def installed(name: str) -> metadata.Distribution | None:
    """The distribution of this name if it has put this package where it is."""
    init = (PACKAGE / "__init__.py").resolve()
    for found in metadata.distributions(name=name):
        if any(Path(str(found.locate_file(file))).resolve() == init for file in found.files or ()):
            return found
    return None


def strange_files(own: metadata.Distribution) -> tuple[list[str], list[str]]:
    """Files of the package's folder that the distribution does not know, and sources with another content."""
    known = {Path(str(own.locate_file(file))).resolve(): file for file in own.files or ()}
    foreign, changed = [], []
    for path in sorted(PACKAGE.rglob("*")):
        if path.is_dir() or path.suffix in COMPILED:
            continue
        file = known.get(path.resolve())
        name = str(path.relative_to(PACKAGE))
        if file is None:
            foreign.append(name)
        elif file.hash is not None and path.suffix == ".py" and _digest(path, file.hash.mode) != file.hash.value:
            changed.append(name)
    return foreign, changed


def _digest(path: Path, mode: str) -> str:
    """As in RECORD."""
    digest = hashlib.new(mode, path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _listed(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
