# SPDX-License-Identifier: Apache-2.0
"""The suite's cases as arguments of a launch: up to 1.5 GB of data, made only when a run needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from gpushare._core import InvalidInput
from gpushare.kernel_model import require, whole
from gpushare.launch_arguments import LARGEST_DATA_SEED, Zeros
from gpushare.launch_geometry import Extent

if TYPE_CHECKING:
    from gpushare.suite import Case, SuiteKernel

Geometry = tuple[Extent, Extent, int]

GEOMETRY: dict[str, dict[str, Geometry]] = {
    "triad": {
        "small": ((4, 1, 1), (256, 1, 1), 0),
        "large": ((312_501, 1, 1), (256, 1, 1), 0),
    },
    "triad_vector": {
        "small": ((2, 1, 1), (256, 1, 1), 0),
        "large": ((39_063, 1, 1), (256, 1, 1), 0),
    },
    "transpose": {
        "small": ((2, 3, 1), (32, 8, 1), 0),
        "large": ((320, 384, 1), (32, 8, 1), 0),
    },
    "matrix_product": {
        "small": ((4, 3, 1), (16, 16, 1), 0),
        "large": ((128, 128, 1), (16, 16, 1), 0),
    },
    "stencil_2d": {
        "small": ((2, 5, 1), (32, 8, 1), 0),
        "large": ((320, 1280, 1), (32, 8, 1), 0),
    },
    "stencil_3d": {
        "small": ((2, 3, 4), (32, 4, 2), 0),
        "large": ((16, 128, 256), (32, 4, 2), 0),
    },
    "black_scholes": {
        "small": ((4, 1, 1), (256, 1, 1), 0),
        "large": ((156_251, 1, 1), (256, 1, 1), 0),
    },
    "nbody": {
        "small": ((2, 1, 1), (256, 1, 1), 0),
        "large": ((2112, 1, 1), (256, 1, 1), 0),
    },
    "mandelbrot": {
        "small": ((4, 3, 1), (16, 16, 1), 0),
        "large": ((256, 256, 1), (16, 16, 1), 0),
    },
    "reduction": {
        "small": ((10, 1, 1), (256, 1, 1), 1024),
        "large": ((390_626, 1, 1), (256, 1, 1), 1024),
    },
    "histogram": {
        "small": ((3, 1, 1), (256, 1, 1), 0),
        "large": ((32_768, 1, 1), (256, 1, 1), 0),
    },
    "gaussian_fan2": {
        "small": ((3, 3, 1), (16, 16, 1), 0),
        "large": ((768, 768, 1), (16, 16, 1), 0),
    },
    "scan_lookback": {
        "small": ((49, 1, 1), (256, 1, 1), 0),
        "large": ((65_536, 1, 1), (256, 1, 1), 0),
    },
    "early_return": {
        "small": ((60, 1, 1), (256, 1, 1), 0),
        "large": ((300_000, 1, 1), (256, 1, 1), 0),
    },
    "spmv_csr": {
        "small": ((4, 1, 1), (128, 1, 1), 0),
        "large": ((15_625, 1, 1), (128, 1, 1), 0),
    },
    "philox_random": {
        "small": ((3, 4, 2), (256, 1, 1), 0),
        "large": ((64, 64, 64), (256, 1, 1), 0),
    },
}
"""Grid, block and dynamic shared bytes by kernel and size. The cases say the same, but only after making their data."""


def suite_kernel(name: str) -> SuiteKernel:
    """The kernel of this name.

    >>> suite_kernel("triad").entry
    'triad'
    """
    from gpushare.suite import KERNELS

    known = isinstance(name, str) and name in KERNELS
    require(known, f"no kernel {name!r} in the suite; it has: {', '.join(KERNELS)}")
    return KERNELS[name]


def require_size(size: str) -> None:
    """Raise InvalidInput unless the suite has cases of this size."""
    from gpushare.suite import Size

    sizes = get_args(Size)
    require(size in sizes, f"no size {size!r}; known: {', '.join(sizes)}")


@dataclass(frozen=True)
class SuiteArguments:
    """The arguments of a suite kernel's case.

    Args:
        name: of the kernel.
        size: "small" or "large".
        seed: of the data.

    >>> [type(argument).__name__ for argument in SuiteArguments("triad", "small").build()]
    ['Zeros', 'ndarray', 'ndarray', 'float32', 'int32']
    """

    name: str
    size: str = "large"
    seed: int = 0

    def __post_init__(self) -> None:
        suite_kernel(self.name)
        require_size(self.size)
        object.__setattr__(self, "seed", whole("seed", self.seed, 0, LARGEST_DATA_SEED))

    @property
    def geometry(self) -> Geometry:
        """Grid, block and dynamic shared bytes."""
        return GEOMETRY[self.name][self.size]

    def build(self) -> tuple[Any, ...]:
        """The arguments, made anew: nothing is kept here, so the memory is free once the caller drops them."""
        case = suite_kernel(self.name).case(self.size, self.seed)
        self._require_known_geometry(case)
        return tuple(
            # What is only written needs no upload: a workload's results are not looked at.
            Zeros(argument.value.shape, argument.value.dtype)
            if argument.is_output and not argument.is_updated
            else argument.value
            for argument in case.arguments
        )

    def _require_known_geometry(self, case: Case) -> None:
        found = (case.grid, case.block, case.shared_bytes)
        if found != self.geometry:
            raise InvalidInput(f"suite kernel {self.name!r}: its case has {found}, the table has {self.geometry}")
