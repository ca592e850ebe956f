# SPDX-License-Identifier: Apache-2.0
"""Output files of commands: checked before the work; an error while writing does not lose the printed result."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from gpushare._core import InvalidInput
from gpushare.checks import require
from gpushare.cli.output import STDOUT, keep_stdout
from gpushare.extras import extra
from gpushare.files.atomic_write import require_writable

ON_STDOUT = Path("-")
Wanted = Mapping[str, tuple[Path | None, Callable[[Path], Path]]]
"""By kind of file: its path, if requested, and the function that writes it."""


@dataclass(frozen=True)
class WrittenFiles:
    """The written files. Files that could not be written are reported after the result.

    Attributes:
        paths: paths of the written files, by kind.
        failures: errors of the other files.
    """

    paths: dict[str, Path]
    failures: tuple[str, ...] = ()


def written_file(name: str, what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option that names a file to write, which is checked before the command starts; ``-`` is stdout.

    Args:
        name: of the option.
        what: its help, a sentence, to which the meaning of ``-`` is added.
    """
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option(name, type=kind, metavar="FILE", help=f"{what[:-1]}; - is stdout.", callback=writable_path)


def writable_path(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Callback of an option: the path, after a check that it can be written; ``-`` is the standard output."""
    if path == ON_STDOUT:
        keep_stdout(context, f"{option.opts[0]} -")
        return path
    return None if path is None else require_writable(path)


def require_distinct(read: Iterable[str | Path] = (), **files: Path | None) -> None:
    """Raises InvalidInput if two options name one file to write, or one names a file that the command reads.

    Args:
        read: what may be the path of such a file.
        files: the files to write, by the options.
    """
    seen: dict[str, str] = {}
    for name, path in files.items():
        if path is None or (path.exists() and not path.is_file()):  # a device can take several documents
            continue
        where = os.path.realpath(path)
        is_read = where in map(os.path.realpath, read)
        require(not is_read, f"--{name} {path}: the command reads this file: name another one")
        first = seen.setdefault(where, name)
        require(first == name, f"--{first} and --{name} name one file, {str(path)!r}: give each a different name")


def require_tables() -> None:
    """Raises InvalidInput if pandas is missing: before the work whose results it is to show."""
    with extra("analysis"):
        import pandas as _  # noqa: F401


def require_plots() -> None:
    """Raises InvalidInput if matplotlib is missing, or cannot be used because of its settings."""
    with extra("analysis"):
        try:
            import matplotlib as _  # noqa: F401 - it reads MPLBACKEND when it is imported
        except ValueError as error:
            backend = os.environ.get("MPLBACKEND")
            raise InvalidInput(f"MPLBACKEND={backend}: unset it, or name another: {error}") from error


def write_files(wanted: Wanted) -> WrittenFiles:
    """Writes the requested files. An error in one does not prevent the others."""
    paths, failures = {}, []
    for name, (path, write) in wanted.items():
        if path is None:
            continue
        try:
            paths[name] = write_file(path, write)
        except InvalidInput as error:
            failures.append(str(error))
    return WrittenFiles(paths, tuple(failures))


def write_file(path: Path, write: Callable[[Path], Path]) -> Path:
    """Writes one requested file, or its content to the standard output.

    Args:
        path: of the option.
        write: writes the file of a path, and returns that.
    """
    if path != ON_STDOUT:
        return write(path)
    with tempfile.TemporaryDirectory(prefix="gpushare-") as folder:
        content = write(Path(folder, "content")).read_bytes()
    stdout = click.get_current_context().meta[STDOUT]
    stdout.flush()
    stdout.buffer.write(content)
    stdout.buffer.flush()
    return ON_STDOUT
