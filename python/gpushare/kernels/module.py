# SPDX-License-Identifier: Apache-2.0
"""Kernels of one source that are compiled together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gpushare._core import InvalidInput
from gpushare.checks import did_you_mean, require
from gpushare.kernels.kernel import Kernel


class Module:
    """Kernels of one source that share its variables, also where they are instances of templates.

    Kernels that are no templates share them without a module.

    Args:
        source: CUDA C++ or PTX, as :class:`gpushare.Kernel` takes it.
        names: names of all the kernels, as :class:`gpushare.Kernel` takes them.
        options: options for NVRTC.
        preemptible: False runs the original kernels only.

    >>> module = Module('''
    ... __device__ int total;
    ... template <int step> __global__ void count() { atomicAdd(&total, step); }
    ... ''', ["count<1>", "count<2>"])
    >>> module["count<2>"]
    Kernel('count<2>' of count.cu)
    >>> [kernel.name for kernel in module]
    ['count<1>', 'count<2>']
    """

    def __init__(
        self, source: str | Path, names: Sequence[str], *, options: Sequence[str] = (), preemptible: bool = True
    ) -> None:
        require(
            isinstance(names, list | tuple) and len(names) > 0,
            f"a module: names must be a list of kernels, got {names!r}",
        )
        kernels = [Kernel(source, name, options=options, preemptible=preemptible) for name in names]
        self._kernels = {each.name: each for each in kernels}
        for kernel in kernels:
            kernel._compiled_with(self._kernels)

    def __getitem__(self, name: str) -> Kernel:
        """The kernel of this name."""
        if name not in self._kernels:
            meant = did_you_mean(name, self._kernels)
            raise InvalidInput(f"the module has no kernel {name!r}; it has: {', '.join(self._kernels)}{meant}")
        return self._kernels[name]

    def __iter__(self) -> Iterator[Kernel]:
        """The kernels in the order of ``names``."""
        return iter(self._kernels.values())

    def __len__(self) -> int:
        return len(self._kernels)
