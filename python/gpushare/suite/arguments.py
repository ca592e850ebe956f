# SPDX-License-Identifier: Apache-2.0
"""Arguments of launches from the suite's cases: up to 1.5 GB of data, generated when a run needs it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, get_args

from gpushare._core import InvalidInput
from gpushare.arguments.launch_arguments import LARGEST_DATA_SEED, Zeros
from gpushare.arguments.launch_geometry import Extent
from gpushare.checks import did_you_mean, require, whole
from gpushare.suite import KERNELS, Size

if TYPE_CHECKING:
    from gpushare.suite import Case, SuiteKernel

Geometry = tuple[Extent, Extent, int]

MOST_LAYERS = 65_535
"""CUDA's limit of a grid's ``z``."""


@cache
def known_geometry() -> dict[str, dict[str, Geometry]]:
    """Grid, block and dynamic shared bytes by kernel and size, from ``suite/geometry.toml``.

    >>> known_geometry()["transpose"]["small"]
    ((2, 3, 1), (32, 8, 1), 0)
    """
    text = files("gpushare.suite").joinpath("geometry.toml").read_text(encoding="utf-8")
    return {
        name: {
            size: (_extent(case["grid"]), _extent(case["block"]), case["shared_bytes"]) for size, case in sizes.items()
        }
        for name, sizes in tomllib.loads(text).items()
    }


def _extent(sizes: list[int]) -> Extent:
    x, y, z = sizes
    return x, y, z


def suite_kernel(name: str) -> SuiteKernel:
    """The kernel of this name.

    >>> suite_kernel("triad").entry
    'triad'
    """
    known = isinstance(name, str) and name in KERNELS
    if not known:
        raise InvalidInput(
            f"no kernel {name!r} in the suite; it has: {', '.join(KERNELS)}{did_you_mean(name, KERNELS)}"
        )
    return KERNELS[name]


def require_size(size: str) -> None:
    """Raise InvalidInput unless the suite has cases of this size."""
    sizes = get_args(Size)
    require(size in sizes, f"no size {size!r}; known: {', '.join(sizes)}")


@dataclass(frozen=True)
class SuiteArguments:
    """The arguments of a suite kernel's case.

    Args:
        name: name of the kernel.
        size: "small" or "large".
        seed: seed of the data.
        layers: layers of the grid, each of which does all of the work, for longer launches.

    >>> [type(argument).__name__ for argument in SuiteArguments("triad", "small").build()]
    ['Zeros', 'ndarray', 'ndarray', 'float32', 'int32']
    """

    name: str
    size: str = "large"
    seed: int = 0
    layers: int = 1

    def __post_init__(self) -> None:
        suite_kernel(self.name)
        require_size(self.size)
        object.__setattr__(self, "seed", whole("seed", self.seed, 0, LARGEST_DATA_SEED))
        object.__setattr__(self, "layers", whole("layers", self.layers, 1, MOST_LAYERS))
        require(
            self.layers == 1 or suite_kernel(self.name).is_layerable,
            f"suite kernel {self.name!r} has no layers: a second one would have other work to do; leave out "
            f"layers={self.layers}, or launch it several times",
        )

    @property
    def geometry(self) -> Geometry:
        """Grid, block and dynamic shared bytes."""
        (x, y, z), block, shared_bytes = known_geometry()[self.name][self.size]
        return (x, y, z * self.layers), block, shared_bytes

    def build(self) -> tuple[Any, ...]:
        """The arguments, generated anew and not stored, so their memory is freed when the caller drops them."""
        case = suite_kernel(self.name).case(self.size, self.seed)
        self._require_known_geometry(case)
        return tuple(
            # Arrays that are only written need no upload: a workload's results are not read.
            Zeros(argument.value.shape, argument.value.dtype)
            if argument.is_output and not argument.is_updated
            else argument.value
            for argument in case.arguments
        )

    def _require_known_geometry(self, case: Case) -> None:
        found = (case.grid, case.block, case.shared_bytes)
        known = known_geometry()[self.name][self.size]
        if found != known:
            raise InvalidInput(f"suite kernel {self.name!r}: its case has {found}, the table has {known}")
