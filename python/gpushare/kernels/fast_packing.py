# SPDX-License-Identifier: Apache-2.0
"""Fast path of argument packing: the core packs arguments of exactly the types of their parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpushare import _core
from gpushare.arguments.device_array import DeviceArray
from gpushare.arguments.launch_geometry import Extent
from gpushare.kernels.argument_packing import integer_range, is_of_bytes, pack, pointee_type
from gpushare.kernels.compiled_kernel import CompiledKernel
from gpushare.kernels.parameters import SCALARS, Parameter


class PackedParameter(NamedTuple):
    """A parameter, as the core takes it.

    Attributes:
        kind: how it is packed; the core leaves those of another kind than it knows to :func:`pack`.
        offset: from the first parameter, in bytes.
        size: in bytes.
        dtype: of a pointer's array; empty: any.
        least: value of an integer.
        most: value of an integer.
        scalar: NumPy's type of exactly such values; None where there is none.
    """

    kind: str
    offset: int
    size: int
    dtype: str
    least: int
    most: int
    scalar: type[np.generic] | None


class PackedLaunches:
    """Launches on a GPU of one kernel with one grid and block.

    Args:
        code: the kernel, loaded.
        compiled: what was loaded.
        grid: blocks, x first.
        block: threads per block, x first.
        shared_bytes: dynamic shared memory per block.
    """

    def __init__(
        self, code: _core.KernelCode, compiled: CompiledKernel, grid: Extent, block: Extent, shared_bytes: int
    ) -> None:
        self._compiled = compiled
        parameters = [_of_this_process(each) for each in compiled.parameters]
        self._shape = _core.LaunchShape(code, grid, block, shared_bytes, parameters, DeviceArray)

    def of(self, arguments: tuple[Any, ...]) -> _core.SubmittedCode:
        """The launch with these arguments.

        Raises:
            InvalidInput: an argument does not fit its parameter; the message names it.
        """
        usual = self._shape.with_arguments(arguments)
        if usual is not None:
            return usual
        return self._shape.with_bytes(pack(self._compiled.name, self._compiled.parameters, arguments))


def packed_parameter(parameter: Parameter) -> PackedParameter:
    """The parameter, as the core takes it."""
    kind: str = parameter.kind
    dtype, least, most = "", 0, 0
    if kind == "pointer":
        dtype = pointee_type(parameter)
    elif kind == "integer":
        least, most = integer_range(parameter)
        kind = "integer or pointer" if parameter.type == ".u64" else "integer"
    scalar = np.dtype(SCALARS[parameter.type]).type if parameter.type in SCALARS else None
    return PackedParameter(kind, parameter.offset, parameter.size, dtype, least, most, scalar)


def _of_this_process(parameter: Parameter) -> PackedParameter:
    """For ``char*`` arrays of several types are valid, but not of all: :func:`pack` looks at them."""
    packed = packed_parameter(parameter)
    return packed._replace(kind="other") if is_of_bytes(parameter) else packed
