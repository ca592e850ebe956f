# SPDX-License-Identifier: Apache-2.0
"""Hints for compiler errors: what to change, where the compiler's message names only the problem."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

MISSING_HEADER = re.compile(r'cannot open source file "([\w/]+)"')
"""A header without a suffix, as in C++'s standard library."""
NEWER_PTX = re.compile(r"Unsupported \.version ([\d.]+); current version is '([\d.]+)'")
LAUNCHES_KERNELS = re.compile(
    r"device-side kernel launch could not be processed"
    r"|Unresolved extern function '(?:__cudaCDP2\w*|cuda(?:GetParameterBuffer|LaunchDevice)\w*)'"
)


def hint(log: str, made_by: str, header_folders: Sequence[str] = ()) -> str:
    """The advice, to be appended after a colon; empty where the log is clear enough.

    Args:
        log: output of the compiler or assembler.
        made_by: name and release of the compiler or assembler.
        header_folders: folders of CUDA's headers.

    >>> hint("ptxas k.ptx, line 1; fatal   : Unsupported .version 9.9; current version is '9.0'",
    ...      "NVRTC 13.0 and ptxas 13.0")
    'its PTX is of version 9.9, and NVRTC 13.0 and ptxas 13.0 take none later than 9.0: update the compilers, \
pip install -U nvidia-cuda-nvcc nvidia-cuda-nvrtc nvidia-nvjitlink, or have the PTX made for 9.0'
    """
    if found := NEWER_PTX.search(log):
        return (
            f"its PTX is of version {found[1]}, and {made_by} take none later than {found[2]}: update the compilers, "
            "pip install -U nvidia-cuda-nvcc nvidia-cuda-nvrtc nvidia-nvjitlink, or have the PTX made for "
            f"{found[2]}"
        )
    if LAUNCHES_KERNELS.search(log):
        return "kernels cannot launch kernels here (dynamic parallelism): let the host launch them"
    if found := MISSING_HEADER.search(log):
        return _of_standard_header(found[1], header_folders)
    return ""


def _of_standard_header(name: str, folders: Sequence[str]) -> str:
    there = any(Path(folder, "cuda", "std", name).is_file() for folder in folders)
    if there:
        return f"the compiler has no <{name}> for GPUs: include <cuda/std/{name}>, and write cuda::std:: for std::"
    if "/" in name:
        return ""
    return f"the compiler has no <{name}> for GPUs, and CUDA has no <cuda/std/{name}> in its place"
