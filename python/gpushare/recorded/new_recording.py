# SPDX-License-Identifier: Apache-2.0
"""A temporary folder for a recording, which replaces an earlier recording only when it has content."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from gpushare._core import InvalidInput
from gpushare.recorded.recording import PART_SUFFIX


class NewRecording:
    """A folder beside the final place until ``take_place``; it is removed at the end of the context otherwise.

    Attributes:
        folder: the folder to record into.

    Raises:
        InvalidInput: the final place has something else than a recording.
    """

    def __init__(self, place: Path) -> None:
        # The target of a symbolic link is replaced, not the link.
        self._place = place.resolve()
        self._require_replaceable()
        self._place.parent.mkdir(parents=True, exist_ok=True)
        # On the same file system, and with room for the earlier recording.
        self._holder = Path(tempfile.mkdtemp(prefix=f".{self._place.name}-", dir=self._place.parent))
        self.folder = self._holder / "new"
        self.folder.mkdir()
        self._is_needed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_needed:
            shutil.rmtree(self._holder, ignore_errors=True)

    def is_empty(self) -> bool:
        """Whether no process has written a part.

        Raises:
            InvalidInput: the folder has been removed.
        """
        if not self.folder.is_dir():
            raise InvalidInput(f"{self.folder}: this folder to record into was removed while the program ran")
        return not any(self.folder.iterdir())

    def take_place(self) -> None:
        """Moves the folder to its final place. An earlier recording there is replaced; other files are not.

        Raises:
            InvalidInput: it cannot be moved; the recording stays in the temporary folder.
        """
        try:
            self._require_replaceable()
            if self._place.is_dir():
                self._place.rename(self._holder / "earlier")
            self.folder.rename(self._place)
        except (InvalidInput, OSError) as error:
            self._is_needed = True
            raise InvalidInput(f"{error}\nwhat was recorded is in {self.folder}") from error

    def _require_replaceable(self) -> None:
        if not self._place.exists():
            return
        if not self._place.is_dir():
            raise InvalidInput(f"{self._place}: is a file in the recording's place: name another file")
        strange = [file for file in self._place.iterdir() if file.suffix != PART_SUFFIX]
        if strange:
            raise InvalidInput(
                f"{self._place}: has other files than recordings, such as {strange[0].name}: name another file"
            )
