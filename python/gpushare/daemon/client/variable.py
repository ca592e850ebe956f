# SPDX-License-Identifier: Apache-2.0
"""Variables of a client's kernels, as arrays in the server's device memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpushare.daemon.client.array import ArrayState
from gpushare.daemon.client.registrations import Registered
from gpushare.kernels.kernel import Kernel
from gpushare.kernels.module_variables import ModuleVariable


class VariableState(ArrayState):
    """A variable of a kernel's source and its present place; its memory lasts as long as the kernel's code.

    Args:
        kernel: a kernel of the source.
        symbol: its name in the machine code.
        shape: shape of the array.
        dtype: data type of its elements.
    """

    def __init__(self, kernel: Kernel, symbol: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
        super().__init__(shape, dtype, is_durable=False)
        self._kernel = kernel
        self._symbol = symbol

    def _requested(self, registered: Registered, patience_s: float) -> int:
        return registered.variable(self._kernel, self._symbol)["array"]

    def found_on(self, registered: Registered, handle: int) -> None:
        """Sets its handle on this worker."""
        self._remote.handle, self._remote.place, self._there = handle, registered.place, registered

    @property
    def _lost_words(self) -> str:
        return (
            f"this variable of the source of kernel {self._kernel.name!r} was lost with its worker, and has its "
            "initial value: upload a value, or ask for it again with session.variable(...)"
        )


def found_variable(registered: Registered, *, kernel: Kernel, name: str, dtype: Any, shape: Any) -> VariableState:
    """Looks the variable up on this worker, for this session.

    Raises:
        InvalidInput: there is none of this name, or its size does not match.
    """
    answer = registered.variable(kernel, name)
    told = answer["variable"]
    variable = ModuleVariable(**{**told, "extents": tuple(told["extents"])})
    try:
        state = VariableState(kernel, variable.symbol, *variable.described(dtype, shape))
    except BaseException:
        registered.link.free(answer["array"])
        raise
    state.found_on(registered, answer["array"])
    return state
