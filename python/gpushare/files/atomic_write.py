# SPDX-License-Identifier: Apache-2.0
"""Writes files atomically: complete or not at all; devices, pipes and links are not replaced."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from gpushare._core import InvalidInput
from gpushare.checks import require

NEW_FILE_MODE = 0o666
"""Permissions before the umask, as for every new file."""


def write_atomically(path: Path, content: bytes | str) -> Path:
    """Writes the file and returns its path. Links are followed; devices and pipes are written to.

    Texts are written as UTF-8. Characters that UTF-8 cannot encode, from names or messages that were not valid text,
    are escaped, because an encoding error here would lose the results of a long run.

    Raises:
        InvalidInput: it cannot be written; the message names the path.
    """
    require_writable(path)
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    try:
        mode = _mode(path)
        if mode is None or stat.S_ISREG(mode):
            _replace(Path(os.path.realpath(path)), data, mode)
        else:
            path.write_bytes(data)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from error
    return path


def require_writable(path: Path) -> Path:
    """Checks, before the work for a file is done, that it can be written.

    Raises:
        InvalidInput: the folder does not exist or is not writable, the path is a folder, or the file is read-only.
    """
    require("\0" not in str(path), f"{str(path)!r} cannot name a file: it has a character NUL")
    try:
        mode = _mode(path)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from error
    require(mode is None or not stat.S_ISDIR(mode), f"{path}: is a folder; name a file")
    # Replacing a file needs the folder's permission only, but a read-only file is not to be replaced.
    is_writable = mode is None or os.access(path, os.W_OK)
    require(is_writable, f"{path}: is read-only: name another file, or run chmod u+w")
    if mode is not None and not stat.S_ISREG(mode):
        return path
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    require(folder.is_dir(), f"{path}: the folder {str(folder)!r} does not exist")
    require(os.access(folder, os.W_OK | os.X_OK), f"{path}: the folder {str(folder)!r} may not be written to")
    return path


def _mode(path: Path) -> int | None:
    """Mode of the existing file; None if there is none, or a dangling link."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _replace(path: Path, data: bytes, mode: int | None) -> None:
    half_written = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with os.fdopen(os.open(half_written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, NEW_FILE_MODE), "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            file.write(data)
        half_written.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            half_written.unlink()
        raise
