# SPDX-License-Identifier: Apache-2.0
"""On which GPU arrays and streams of PyTorch and CuPy are: on another one they would be wrong without an error."""

from __future__ import annotations

from typing import Any

OF_CUDA = 2
"""Memory of a GPU in DLPack."""


def gpu_of_array(value: Any) -> int | None:
    """The number of the GPU of an array of another library; None of anything else.

    >>> gpu_of_array(2.0)
    """
    if not hasattr(value, "__dlpack_device__"):
        return None
    kind, number = value.__dlpack_device__()
    return int(number) if kind == OF_CUDA else None


def gpu_of_stream(value: Any) -> int | None:
    """The number of the GPU of a stream; None of anything else, and where it does not say."""
    if hasattr(value, "cuda_event"):  # an event can be asked for on any GPU
        return None
    number = getattr(getattr(value, "device", None), "index", None)  # PyTorch; CuPy has the number
    number = getattr(value, "device_id", None) if number is None else number
    return int(number) if isinstance(number, int) and number >= 0 else None
