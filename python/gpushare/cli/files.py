# SPDX-License-Identifier: Apache-2.0
"""Files that commands write beside what they print: checked before the work, and never at the price of its result."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from gpushare._core import InvalidInput
from gpushare.checks import require
from gpushare.cli.output import STDOUT, keep_stdout
from gpushare.files.atomic_write import require_writable

ON_STDOUT = Path("-")
Wanted = Mapping[str, tuple[Path | None, Callable[[Path], Path]]]
"""By what it is: where it is wanted, if it is, and what writes it."""


@dataclass(frozen=True)
class WrittenFiles:
    """What came of the files that were wanted. What is unwritten is said once the result is printed.

    Attributes:
        paths: of those that were written, by what they are.
        failures: why the others were not.
    """

    paths: dict[str, Path]
    failures: tuple[str, ...] = ()


def written_file(name: str, what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option that names a file to write. Where that cannot be is said before the command begins."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option(name, type=kind, metavar="FILE", help=what, callback=writable_path)


def writable_path(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Of an option: the path, once it is known that it can be written; ``-`` is the standard output."""
    if path == ON_STDOUT:
        keep_stdout(context, f"{option.opts[0]} -")
        return path
    return None if path is None else require_writable(path)


def require_distinct(**files: Path | None) -> None:
    """Raise InvalidInput if two options name one file: the last would be all that is left."""
    seen: dict[str, str] = {}
    for name, path in files.items():
        if path is None or (path.exists() and not path.is_file()):  # a device takes several
            continue
        first = seen.setdefault(os.path.realpath(path), name)
        require(first == name, f"--{first} and --{name} name one file, {str(path)!r}: give each a name of its own")


def require_plots() -> None:
    """Raise InvalidInput where matplotlib cannot be used because of its settings."""
    try:
        import matplotlib as _  # noqa: F401 - it reads MPLBACKEND when it is imported
    except ValueError as error:
        raise InvalidInput(f"MPLBACKEND={os.environ.get('MPLBACKEND')}: unset it, or name another: {error}") from error


def write_files(wanted: Wanted) -> WrittenFiles:
    """Writes what is wanted. One that cannot be written keeps no other from it."""
    paths, failures = {}, []
    for name, (path, write) in wanted.items():
        if path is None:
            continue
        try:
            paths[name] = _on_stdout(write) if path == ON_STDOUT else write(path)
        except InvalidInput as error:
            failures.append(str(error))
    return WrittenFiles(paths, tuple(failures))


def _on_stdout(write: Callable[[Path], Path]) -> Path:
    with tempfile.TemporaryDirectory(prefix="gpushare-") as folder:
        content = write(Path(folder, "content")).read_bytes()
    stdout = click.get_current_context().meta[STDOUT]
    stdout.flush()
    stdout.buffer.write(content)
    stdout.buffer.flush()
    return ON_STDOUT
