# SPDX-License-Identifier: Apache-2.0
"""A kernel of the suite: its CUDA source, and its cases."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

import numpy as np

from gpushare._core import InvalidInput
from gpushare.suite.case import Case

Size = Literal["small", "large"]
"""A small case is checked in milliseconds; a large one fills an H100 for 0.2 to 20 ms, in at most 1.5 GB."""


@dataclass(frozen=True)
class SuiteKernel:
    """A CUDA kernel with data to run it on. Its source is the ``.cu`` file beside the module that builds its cases.

    >>> from gpushare.suite import KERNELS
    >>> triad = KERNELS["triad"]
    >>> case = triad.case("small")
    >>> case.grid, case.block, [argument.name for argument in case.arguments]
    ((4, 1, 1), (256, 1, 1), ['sums', 'addends', 'factors', 'scale', 'count'])
    >>> case.mistakes({"sums": case.expected["sums"]})
    []
    """

    name: str
    summary: str
    build: Callable[[Size, np.random.Generator], Case]
    stands_for: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The benchmarks that it reimplements: name in the paper's table by the paper's short name."""
    is_layerable: bool = True
    """Whether it does the same work, with the same results, once for every layer (``z``) of its grid."""

    @property
    def field(self) -> str:
        """Name of its folder."""
        return self.source_path.parent.name

    @property
    def source_path(self) -> Path:
        """The CUDA source."""
        return Path(str(sys.modules[self.build.__module__].__file__)).with_suffix(".cu")

    @property
    def entry(self) -> str:
        """The name of the kernel in the source."""
        return self.name

    def case(self, size: str = "small", seed: int = 0) -> Case:
        """A launch. The same size and seed give the same data.

        Raises:
            InvalidInput: there is no such size.
        """
        if size not in get_args(Size):
            raise InvalidInput(f"no size {size!r}; known: {', '.join(get_args(Size))}")
        return self.build(cast("Size", size), np.random.default_rng(seed))
