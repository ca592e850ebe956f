# SPDX-License-Identifier: Apache-2.0
"""Files that users name: each appears as a whole or not at all, and no device or link is ever replaced by one."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from gpushare._core import InvalidInput
from gpushare.checks import require

NEW_FILE_MODE = 0o666
"""Less what the umask takes away, as for every file."""


def write_atomically(path: Path, content: bytes | str) -> Path:
    """Writes the file and returns its path. Links are followed; devices and pipes are written to.

    Texts are written as UTF-8. What UTF-8 does not have, from a name or message that was no text, becomes an escape:
    the file is what hours of work led to.

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
    """What keeps a file from being written is said before work is done for it.

    Raises:
        InvalidInput: there is no such folder, it is not one to write into, the path itself is a folder, or what is
            there may not be written.
    """
    require("\0" not in str(path), f"{str(path)!r} cannot name a file: it has a character NUL")
    try:
        mode = _mode(path)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from error
    require(mode is None or not stat.S_ISDIR(mode), f"{path}: is a folder; name a file")
    # Replacing a file takes its folder's permission alone, but whoever made it read-only meant it to stay.
    is_writable = mode is None or os.access(path, os.W_OK)
    require(is_writable, f"{path}: may not be written: name another file, or allow it with chmod u+w")
    if mode is not None and not stat.S_ISREG(mode):
        return path
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    require(folder.is_dir(), f"{path}: the folder {str(folder)!r} does not exist")
    require(os.access(folder, os.W_OK | os.X_OK), f"{path}: the folder {str(folder)!r} may not be written to")
    return path


def _mode(path: Path) -> int | None:
    """Of what is there; None for nothing, or for a link to nothing."""
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
