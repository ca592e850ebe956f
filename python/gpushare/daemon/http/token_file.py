# SPDX-License-Identifier: Apache-2.0
"""The secret that permits changes over HTTP: a file that only the server's user can read."""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path

from gpushare._core import InvalidInput


class TokenFile:
    """A new secret in a file beside the socket.

    A TCP connection does not say which user is at its other end, as that to the server's socket does. So the token
    stands for the server's user: only that user and root can read it.

    Args:
        socket: path of the server's socket, whose lock the caller holds.

    Raises:
        InvalidInput: the file cannot be written.
    """

    def __init__(self, socket: Path) -> None:
        self.path = socket.with_name(socket.name + ".token")
        self._token = secrets.token_urlsafe(32)
        try:
            self.path.unlink(missing_ok=True)  # an ended server's
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise InvalidInput(f"{self.path}: cannot be made: {error.strerror or error}") from error
        with os.fdopen(file, "w") as opened:
            opened.write(f"{self._token}\n")

    def is_in(self, authorization: str | None) -> bool:
        """Whether this header ``Authorization`` has the token. The time of the comparison tells nothing of it."""
        return hmac.compare_digest(f"Bearer {self._token}".encode(), (authorization or "").encode())

    def remove(self) -> None:
        """Removes the file."""
        self.path.unlink(missing_ok=True)
