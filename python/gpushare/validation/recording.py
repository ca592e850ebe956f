# SPDX-License-Identifier: Apache-2.0
"""Recordings of validation runs on a GPU, as files, for use without a GPU and with later models."""

from __future__ import annotations

import json
import lzma
import statistics
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpushare._core import InvalidInput
from gpushare.files.atomic_write import write_atomically
from gpushare.profile.record import Conditions
from gpushare.validation.damage import require_undamaged

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT = "gpushare validation 1"
TOO_DEEP = "lists or tables are nested too deeply"


@dataclass(frozen=True)
class SoloRuns:
    """A kernel alone on a part of the GPU, launched once under a fixed quota. All times end with the last block.

    Attributes:
        kernel: a kernel of the suite.
        sms: number of SMs, from SM 0 on.
        residency: largest number of blocks per SM; 0 for maximum residency.
        turnaround_ns: turnaround of each repeat.
    """

    kernel: str
    sms: int
    residency: int
    turnaround_ns: tuple[int, ...]

    @property
    def median_ns(self) -> float:
        """Median over the repeats."""
        return statistics.median(self.turnaround_ns)


@dataclass(frozen=True)
class AloneRuns:
    """A kernel launched as often as in the pairs, without other applications.

    Attributes:
        kernel: a kernel of the suite.
        launches: launches, one after the other.
        original_ns: time of the original kernel on a stream, median of several runs.
        turnaround_ns: turnaround as workers under fifo, of each repeat.
    """

    kernel: str
    launches: int
    original_ns: int
    turnaround_ns: tuple[int, ...]

    @property
    def median_ns(self) -> float:
        """Median over the repeats."""
        return statistics.median(self.turnaround_ns)


@dataclass(frozen=True)
class PairRuns:
    """Two kernels that arrive together.

    Attributes:
        kernels: both kernels.
        launches: launches of each.
        way: way of sharing: a policy, or ``split:44``.
        turnaround_ns: turnarounds of both, of each repeat.
        operations_ns: durations of all launches of the first repeat, those of the first kernel first.
    """

    kernels: tuple[str, str]
    launches: tuple[int, int]
    way: str
    turnaround_ns: tuple[tuple[int, int], ...]
    operations_ns: tuple[int, ...]


@dataclass(frozen=True)
class Recording:
    """All measurements of a validation.

    Attributes:
        size: size of the kernels' data.
        sms: SMs of the GPU.
        solo: runs on parts of the GPU.
        alone: runs alone, one per kernel.
        pairs: runs of pairs, one per pair and way of sharing.
        failures: messages about runs that a policy or the time limit ended.
        conditions: device, driver, version and date.
    """

    size: str
    sms: int
    solo: tuple[SoloRuns, ...]
    alone: tuple[AloneRuns, ...]
    pairs: tuple[PairRuns, ...]
    failures: tuple[str, ...]
    conditions: Conditions

    @property
    def kernels(self) -> list[str]:
        """All kernels."""
        return [each.kernel for each in self.alone]

    @property
    def ways(self) -> list[str]:
        """All ways of sharing."""
        return list(dict.fromkeys(each.way for each in self.pairs))

    def save(self, path: Path) -> Path:
        """Writes the file atomically, compressed if its name ends with ``.xz``, and returns its path."""
        content = _lines({"format": FORMAT, **asdict(self)}).encode()
        return write_atomically(path, lzma.compress(content) if _is_compressed(path) else content)

    @staticmethod
    def load(path: Path) -> Recording:
        """Reads a recording.

        Raises:
            InvalidInput: it cannot be read, is not a recording, or is damaged; the message names file and key.
        """
        from pydantic import ValidationError

        document = _document(path)
        found = document.pop("format", None) if isinstance(document, dict) else None
        if found != FORMAT:
            raise InvalidInput(f"{path}: is not a recording of {FORMAT!r}: its format is {found!r}")
        try:
            recording: Recording = _reader().validate_json(json.dumps(document), strict=True)
            require_undamaged(recording)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            raise InvalidInput(f"{path}: key '{key}': {first['msg']}") from error
        except InvalidInput as error:
            raise InvalidInput(f"{path}: {error}") from error
        except RecursionError as error:
            raise InvalidInput(f"{path}: {TOO_DEEP}") from error
        return recording


def _document(path: Path) -> Any:
    try:
        content = path.read_bytes()
        return json.loads(lzma.decompress(content) if _is_compressed(path) else content)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from error
    except lzma.LZMAError as error:
        raise InvalidInput(f"{path}: is not compressed by xz: {error}") from error
    except ValueError as error:
        raise InvalidInput(f"{path}: is not JSON: {error}") from error
    except RecursionError as error:
        raise InvalidInput(f"{path}: {TOO_DEEP}") from error


def _is_compressed(path: Path) -> bool:
    return path.suffix == ".xz"


def _lines(document: dict[str, Any]) -> str:
    """JSON with one run per line."""
    parts = []
    for key, value in document.items():
        if isinstance(value, list | tuple) and value:
            rows = ",\n".join("  " + json.dumps(each) for each in value)
            parts.append(f"{json.dumps(key)}: [\n{rows}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


@cache
def _reader() -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(Recording)
