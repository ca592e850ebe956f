# SPDX-License-Identifier: Apache-2.0
"""A sweep's folder: ``sweep.json``, which says what the sweep is, and ``runs/``, saved results of some runs each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpushare._core import InvalidInput
from gpushare.checks import require
from gpushare.files.atomic_write import write_atomically
from gpushare.providers import provided
from gpushare.results.result import Result
from gpushare.results.run import Run
from gpushare.sweep.identity import difference

SUFFIX = ".gpushare"


def packed(runs: Sequence[Run]) -> bytes:
    """The bytes of the file with these runs."""
    data: bytes = provided("packed_result")(Result(runs))
    return data


class SweepFolder:
    """The folder of one sweep.

    Args:
        path: where; it need not exist.
        description: of the sweep.

    Raises:
        InvalidInput: it belongs to another sweep, has other files, or cannot be read.
    """

    def __init__(self, path: Path, description: Mapping[str, Any]) -> None:
        self.path = path
        self._description = dict(description)
        self._check()

    @property
    def _index(self) -> Path:
        return self.path / "sweep.json"

    @property
    def _runs(self) -> Path:
        return self.path / "runs"

    def _check(self) -> None:
        try:
            found = json.loads(self._index.read_text())
        except FileNotFoundError:
            is_free = not self.path.exists() or (self.path.is_dir() and not any(self.path.iterdir()))
            require(is_free, f"{self.path}: is no sweep's folder, and not empty: name another one")
            return
        except OSError as error:
            raise InvalidInput(f"{self._index}: cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise InvalidInput(f"{self._index}: is damaged: {error}") from error
        require(isinstance(found, dict), f"{self._index}: is damaged: no table")
        differs = difference(found, self._description)
        require(differs is None, f"{self.path}: belongs to another sweep, with other {differs}: name another folder")

    def create(self) -> None:
        """Makes the folder ready to take runs.

        Raises:
            InvalidInput: it cannot be made or written to.
        """
        try:
            self._runs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(f"{self._runs}: cannot be made: {error.strerror or error}") from error
        if not self._index.exists():
            write_atomically(self._index, json.dumps(self._description, indent=1) + "\n")

    def keep(self, runs: Sequence[Run], data: bytes) -> None:
        """Adds the file of these runs, complete or not at all.

        Args:
            runs: the runs.
            data: what :func:`packed` makes of them.
        """
        keys = "\n".join(f"{run.workload.name}\t{run.policy}\t{run.seed}" for run in runs)
        write_atomically(self._runs / f"{hashlib.sha256(keys.encode()).hexdigest()[:24]}{SUFFIX}", data)

    def kept(self) -> Iterator[tuple[Path, Run]]:
        """All runs, each with its file.

        Raises:
            InvalidInput: a file is damaged; the message names it.
        """
        for path in sorted(self._runs.glob(f"*{SUFFIX}")):
            for run in Result.load(path).runs:
                yield path, run
