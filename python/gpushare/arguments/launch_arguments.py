# SPDX-License-Identifier: Apache-2.0
"""Launch arguments of CUDA kernels in workloads: numbers, and arrays that are uploaded for each run.

The number and types of a kernel's parameters are known only from its compiled code, and are checked before the run.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from gpushare._core import InvalidInput
from gpushare.arguments.on_device import require_no_mask
from gpushare.checks import MOST_BYTES, require, whole

Content = Literal["random", "ones", "arange"]
DTYPE_KINDS = "biufcV"
GENERATED_KINDS = "biuf"
INTEGERS = (-(2**63), 2**64 - 1)
LARGEST_DATA_SEED = 2**63 - 1


@dataclass(frozen=True)
class Zeros:
    """Device memory, zeroed before each run.

    Args:
        shape: shape of the array, an int or several.
        dtype: data type of its elements.

    >>> Zeros(1000, np.float32)
    Zeros(shape=(1000,), dtype=dtype('float32'))
    """

    shape: tuple[int, ...]
    dtype: np.dtype

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_of("zeros: dtype", self.dtype))
        object.__setattr__(self, "shape", shape_of("zeros: shape", self.shape, self.dtype))


@dataclass(frozen=True)
class Generated:
    """An array given by a description, which is generated when a run needs it.

    Args:
        content: "random" (uniform), "ones" or "arange" (0, 1, 2, ... in C order).
        shape: shape of the array.
        dtype: data type of its elements.
        seed: seed of random elements.
        below: exclusive upper bound of random elements; by default 1 for floats and the type's range for integers.

    >>> Generated("arange", (2, 2), "int32").build().tolist()
    [[0, 1], [2, 3]]
    """

    content: Content
    shape: tuple[int, ...]
    dtype: np.dtype
    seed: int = 0
    below: float | None = None

    def __post_init__(self) -> None:
        known = get_args(Content)
        require(self.content in known, f"array: content must be one of {', '.join(known)}, got {self.content!r}")
        object.__setattr__(self, "dtype", dtype_of("array: dtype", self.dtype, GENERATED_KINDS))
        object.__setattr__(self, "shape", shape_of("array: shape", self.shape, self.dtype))
        object.__setattr__(self, "seed", whole("array: seed", self.seed, 0, LARGEST_DATA_SEED))
        random = self.content == "random"
        require(random or (self.seed == 0 and self.below is None), "array: seed and below go with 'random' only")
        if self.below is not None:
            object.__setattr__(self, "below", self._checked_below(self.below))

    def _checked_below(self, below: Any) -> float:
        require(self.dtype.kind != "b", "array: below has no meaning for bool")
        if self.dtype.kind == "f":
            most = float(np.finfo(self.dtype).max)
            plain = below.item() if isinstance(below, np.number) else below
            right = isinstance(plain, int | float) and not isinstance(plain, bool) and 0 < plain <= most
            require(right, f"array: below must be a number in 0..{most:g}, got {below!r}")
            return plain
        return whole("array: below", below, 1, int(np.iinfo(self.dtype).max))

    def build(self) -> np.ndarray:
        """Generates the array."""
        if self.content == "ones":
            return np.ones(self.shape, self.dtype)
        if self.content == "arange":
            return np.arange(math.prod(self.shape)).astype(self.dtype).reshape(self.shape)
        random = np.random.default_rng(self.seed)
        if self.dtype.kind == "f":
            drawn = random.random(self.shape, np.float32 if self.dtype.itemsize < 8 else np.float64)
            return np.multiply(drawn, self.below or 1, dtype=drawn.dtype).astype(self.dtype, copy=False)
        if self.dtype.kind == "b":
            return random.integers(0, 2, self.shape, np.uint8).astype(bool)
        most = np.iinfo(self.dtype).max if self.below is None else int(self.below) - 1
        return random.integers(0, most, self.shape, self.dtype, endpoint=True)


@dataclass(frozen=True)
class NotKept:
    """An argument of a saved workload of which only the data type, the shape and a digest were saved."""

    dtype: str
    shape: tuple[int, ...]
    digest: str

    def build(self) -> np.ndarray:
        """Raises InvalidInput: the contents were not saved."""
        raise InvalidInput(
            f"an array of {self.dtype} {list(self.shape)} was left out when this workload was saved, so its kernel "
            "cannot be run again: make the workload anew"
        )


class ArrayKey:
    """Compares arrays by their contents; the digest is computed when two different arrays are first compared."""

    def __init__(self, array: np.ndarray | NotKept) -> None:
        self.dtype, self.shape = str(array.dtype), tuple(array.shape)
        self._array = array
        self._digest = array.digest if isinstance(array, NotKept) else None

    @property
    def digest(self) -> str:
        """The digest of the bytes in C order."""
        if self._digest is None:
            held = np.ascontiguousarray(self._array).reshape(-1).view(np.uint8)
            self._digest = hashlib.blake2b(held.data, digest_size=16).hexdigest()
        return self._digest

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayKey):
            return NotImplemented
        if self._array is other._array:
            return True
        return (self.dtype, self.shape) == (other.dtype, other.shape) and self.digest == other.digest


def checked_arguments(subject: str, values: Any) -> tuple[Any, ...]:
    """The arguments as a tuple; InvalidInput names the argument that cannot be passed to a kernel."""
    if isinstance(values, str | bytes | np.ndarray) or not isinstance(values, Iterable):
        raise InvalidInput(f"{subject}: args must be a list of arguments, got {values!r}")
    arguments = tuple(values)
    for place, value in enumerate(arguments):
        _require_passable(f"{subject}: args[{place}]", value)
    return arguments


def key_of(value: Any) -> Any:
    """The key by which arguments of launches are compared: 2, 2.0 and np.float32(2) have different keys."""
    if isinstance(value, np.ndarray | NotKept):
        return ArrayKey(value)
    if isinstance(value, np.void):
        return ArrayKey(np.asarray(value))
    if isinstance(value, Zeros | Generated):
        return value
    return type(value).__name__, repr(value)


def built(value: Any) -> Any:
    """The argument as it is uploaded: arrays generated and contiguous; Zeros and numbers as they are."""
    if isinstance(value, Generated | NotKept):
        return value.build()
    return np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value


def _require_passable(subject: str, value: Any) -> None:
    if isinstance(value, Zeros | Generated | NotKept | bool | float):
        return
    if isinstance(value, int):
        whole(subject, value, *INTEGERS)
    elif isinstance(value, np.ndarray):
        require_no_mask(f"{subject}: the values", value)
        dtype_of(f"{subject}: dtype", value.dtype)
        require(value.size > 0, f"{subject}: the array is empty; pass at least one element")
    elif isinstance(value, np.generic):
        dtype_of(f"{subject}: dtype", value.dtype, GENERATED_KINDS + "V")
    elif hasattr(value, "__cuda_array_interface__"):
        raise InvalidInput(
            f"{subject} is memory of a device; in a workload pass a NumPy array or gs.Zeros, which every run uploads "
            "anew (device arrays belong to a gs.Session)"
        )
    else:
        shown = type(value).__name__
        raise InvalidInput(f"{subject} must be a NumPy array or scalar, gs.Zeros, int, float or bool, got {shown}")


def dtype_of(subject: str, value: Any, kinds: str = DTYPE_KINDS) -> np.dtype:
    """The data type; InvalidInput if there is no such type, or kernels have no such type."""
    require(value is not None, f"{subject} is missing")
    try:
        dtype = np.dtype(value)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{subject} must be a NumPy data type such as float32, got {value!r}") from error
    usable = dtype.kind in kinds and dtype.isnative and not dtype.hasobject and dtype.itemsize > 0
    too_wide = dtype.itemsize > {"f": 8, "c": 16}.get(dtype.kind, dtype.itemsize)
    require(usable and not too_wide, f"{subject} must be a data type that CUDA has, such as float32, got {dtype}")
    return dtype


def shape_of(subject: str, value: Any, dtype: np.dtype) -> tuple[int, ...]:
    """The shape as a tuple; InvalidInput unless it has at least one element and can be addressed."""
    values: Any = [value] if isinstance(value, int | np.integer) else value
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(f"{subject} must be a whole number or a list of them, got {value!r}")
    shape = tuple(whole(subject, extent, 1, MOST_BYTES) for extent in values)
    size = math.prod(shape) * dtype.itemsize
    require(size <= MOST_BYTES, f"{subject} {list(shape)} of {dtype} takes {size} bytes; at most {MOST_BYTES}")
    return shape
