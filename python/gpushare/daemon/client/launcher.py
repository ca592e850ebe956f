# SPDX-License-Identifier: Apache-2.0
"""Launches of one kernel with one block on one worker: packs arguments and puts them into the ring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.arguments.launch_geometry import Extent
from gpushare.daemon.client.array import ArrayState
from gpushare.kernels.argument_packing import pack
from gpushare.kernels.fast_packing import packed_parameter
from gpushare.kernels.parameters import Parameter

if TYPE_CHECKING:
    from gpushare.daemon.client.registrations import Registered

Plain = (bool, int, float, bytes)


class Launcher:
    """Packs unusual arguments and makes error messages; the core packs the usual ones.

    Args:
        name: name of the kernel. The kernel itself is not referenced, so that unused ones can be unloaded.
        registered: registrations with the worker.
        answer: the worker's answer about the kernel with its block.

    Attributes:
        module: identity of its module's variables; None where it has none.
    """

    def __init__(self, name: str, registered: Registered, answer: dict[str, Any]) -> None:
        self._name = name
        self._registered = registered
        self.module = answer["module"]
        known = answer["parameters"]
        self._parameters = None if known is None else [Parameter(**each) for each in known]
        packed = None if self._parameters is None else [packed_parameter(each) for each in self._parameters]
        self._packer = _core.LaunchPacker(answer["kernel"], registered.place, packed)
        self._launch = registered.link.port.launch_packed

    def launch(self, application: int, grid: Extent, arguments: Sequence[Any], job: Any) -> int:
        """Puts a launch into the ring; ``job`` is returned with its end. Returns the launch's number there.

        Raises:
            InvalidInput: an argument does not fit its parameter; the message names it.
            WorkerGone: the worker has closed the ring.
        """
        number = self._launch(self._packer, application, grid, arguments, job)
        if number is None:
            content, arrays = self._looked_at(arguments)
            number = self._registered.link.port.launch_bytes(self._packer, application, grid, content, arrays, job)
        return number

    def _looked_at(self, arguments: Sequence[Any]) -> tuple[bytes, list[tuple[int, int]]]:
        """The arguments' bytes, and the arrays among them as place and handle."""
        values = [_sendable(f"kernel {self._name!r}, argument {place}", value)
                  for place, value in enumerate(arguments, 1)]  # fmt: skip
        if self._parameters is None:
            offsets, content = list(range(0, 8 * len(values), 8)), bytes(8 * len(values))
        else:
            offsets = [each.offset for each in self._parameters]
            content = self._packed(self._parameters, values)
        handles = {offset: value.handle_on(self._registered)
                   for offset, value in zip(offsets, values, strict=True) if isinstance(value, ArrayState)}  # fmt: skip
        return content, list(handles.items())

    def _packed(self, parameters: Sequence[Parameter], values: Sequence[Any]) -> bytes:
        content = bytearray(max((each.offset + each.size for each in parameters), default=0))
        pieces = pack(self._name, parameters, values)
        for parameter, value, piece in zip(parameters, values, pieces, strict=True):
            if not isinstance(value, ArrayState):  # only the worker knows the addresses of arrays
                content[parameter.offset : parameter.offset + parameter.size] = piece
        return bytes(content)


def _sendable(subject: str, value: Any) -> Any:
    """The value as it is sent to a worker.

    Raises:
        InvalidInput: it cannot be sent; the message says what to do.
    """
    if isinstance(value, ArrayState):
        value.require_kept()
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic | bytearray | memoryview) or value is None:
        return value
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        raise InvalidInput(f"{subject}: {value} fits no parameter of a kernel")
    if type(value) in Plain:
        return value
    if _is_on_a_gpu(value):  # checked first: tensors of PyTorch and CuPy have __array__ on every device
        what = f"a {type(value).__name__} in this process's own CUDA context"
        raise InvalidInput(
            f"{subject}: {what}, which the server cannot access; make the array with "
            "session.zeros(..., shared=True) and the tensor of that, or copy its values with session.array(...)"
        )
    if isinstance(value, np.ndarray) or hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        what = f"a {type(value).__name__} in host memory"
        raise InvalidInput(f"{subject}: {what}; copy it to the device with session.array(...) first")
    raise InvalidInput(f"{subject}: expected an array of this session or a number, got {value!r}")


def _is_on_a_gpu(value: Any) -> bool:
    try:
        return hasattr(value, "__cuda_array_interface__")
    except Exception:  # PyTorch raises for a tensor that requires a gradient, for example
        return True
