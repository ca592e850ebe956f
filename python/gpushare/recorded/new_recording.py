# SPDX-License-Identifier: Apache-2.0
"""A folder to record into, which takes the place of an earlier recording only when there is something in it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from gpushare._core import InvalidInput
from gpushare.recorded.recording import PART_SUFFIX


class NewRecording:
    """Lies beside its place until ``take_place``, and goes on leaving the context unless it did.

    Attributes:
        folder: where to record.

    Raises:
        InvalidInput: in its place is something else than a recording.
    """

    def __init__(self, place: Path) -> None:
        # What a symbolic link names is replaced, not the link.
        self._place = place.resolve()
        self._require_replaceable()
        self._place.parent.mkdir(parents=True, exist_ok=True)
        # On the same file system as its place, and with room for what was there.
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
        """Whether no process has left anything.

        Raises:
            InvalidInput: the folder is gone.
        """
        if not self.folder.is_dir():
            raise InvalidInput(f"{self.folder}: this folder to record into was removed while the program ran")
        return not any(self.folder.iterdir())

    def take_place(self) -> None:
        """An earlier recording there goes, as a file does that is written again; nothing else does.

        Raises:
            InvalidInput: it cannot; the recording stays where it is.
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
            raise InvalidInput(f"{self._place}: is a file, where the recording has to be: name another file")
        strange = [file for file in self._place.iterdir() if file.suffix != PART_SUFFIX]
        if strange:
            raise InvalidInput(
                f"{self._place}: has other files than recordings, such as {strange[0].name}: name another file"
            )
