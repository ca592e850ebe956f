# SPDX-License-Identifier: Apache-2.0
"""What is raised when a kernel does not compile, and what to do where the compiler does not say it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpushare._core import InvalidInput

MISSING_HEADER = re.compile(r'cannot open source file "([\w/]+)"')
"""Without a suffix, as those of C++'s standard library are named."""
NEWER_PTX = re.compile(r"Unsupported \.version ([\d.]+); current version is '([\d.]+)'")
MARKED_HEADER = re.compile(r"^(.+)\(1\): error: .*\n\s*(?:\\ufeff|\ufeff)", re.MULTILINE)
"""NVRTC reads headers by itself, and takes a byte order mark for a part of their first line."""
LAUNCHES_KERNELS = re.compile(
    r"device-side kernel launch could not be processed"
    r"|Unresolved extern function '(?:__cudaCDP2\w*|cuda(?:GetParameterBuffer|LaunchDevice)\w*)'"
)


class CompileError(InvalidInput):
    """A kernel's source does not compile.

    Attributes:
        log: the compiler's output.
        source: the source with line numbers, as the log counts them.
        options: the options of the compiler.

    >>> error = CompileError("saxpy.cu does not compile", log="saxpy.cu(1): error", text="int x")
    >>> print(error)
    saxpy.cu does not compile:
    saxpy.cu(1): error
    >>> print(error.source)
       1 | int x
    """

    def __init__(self, summary: str, *, log: str, text: str, options: Sequence[str] = ()) -> None:
        super().__init__(f"{summary}:\n{log.strip()}" if log.strip() else summary)
        self.summary = summary
        self.log = log
        self.text = text
        self.options = tuple(options)

    @property
    def source(self) -> str:
        """The source with line numbers."""
        return "\n".join(f"{number:4} | {line}" for number, line in enumerate(self.text.splitlines(), start=1))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.summary, self.log, self.text, self.options)


def _restored(summary: str, log: str, text: str, options: Sequence[str]) -> CompileError:
    return CompileError(summary, log=log, text=text, options=options)


def hint(log: str, made_by: str, header_folders: Sequence[str] = ()) -> str:
    """What to do, in a sentence to be put behind a colon; empty where the log says enough.

    Args:
        log: of the compiler or assembler.
        made_by: its name and release.
        header_folders: CUDA's.

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
    if found := MARKED_HEADER.search(log):
        return f"{found[1]} begins with a byte order mark, which NVRTC does not skip in headers: save it without one"
    if LAUNCHES_KERNELS.search(log):
        return "kernels cannot launch kernels here (dynamic parallelism): let the host launch them"
    if found := MISSING_HEADER.search(log):
        return _of_standard_header(found[1], header_folders)
    return ""


def _of_standard_header(name: str, folders: Sequence[str]) -> str:
    there = any(Path(folder, "cuda", "std", name).is_file() for folder in folders)
    if there:
        return f"the compiler has no <{name}> for GPUs: include <cuda/std/{name}>, and write cuda::std for std"
    if "/" in name:
        return ""
    return f"the compiler has no <{name}> for GPUs, and CUDA has no <cuda/std/{name}> in its place"
