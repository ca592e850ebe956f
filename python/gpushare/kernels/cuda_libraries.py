# SPDX-License-Identifier: Apache-2.0
"""Finds NVRTC, nvJitLink, ptxas and CUDA's headers: already loaded, in wheels, in conda, or in a toolkit."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpushare._core import CudaError
from gpushare.extras import install

INSTALL = install("cu13")
WHEEL_OF_PTXAS = "nvidia/cu13/bin/ptxas"
# One header per folder that changes with every release.
RELEASE_HEADERS = ("cuda_runtime_api.h", "cuda/std/__cccl/version.h", "cuda/__cccl_config")


@dataclass(frozen=True)
class CudaLibraries:
    """Absolute paths; ``nvrtc_builtins`` is empty where it is not beside NVRTC.

    ``ptxas`` is the path that was found, if any; :mod:`gpushare.kernels.assembler` checks that it matches NVRTC.
    """

    nvrtc: str
    nvrtc_builtins: str
    nvjitlink: str
    header_folders: tuple[str, ...]
    ptxas: str | None = None

    def fingerprint(self) -> tuple[object, ...]:
        """Changes when another release is installed. NVRTC's version lacks the patch level."""
        headers = [Path(folder, name) for folder in self.header_folders for name in RELEASE_HEADERS]
        assemblers: list[str | Path] = [self.nvjitlink] if self.ptxas is None else [self.nvjitlink, self.ptxas]
        return tuple(_stamp(path) for path in [self.nvrtc, *assemblers, *headers])


@cache
def cuda_libraries() -> CudaLibraries:
    """The installed libraries, searched once.

    Raises:
        CudaError: a library is missing; the message says how to install it.
    """
    nvrtc = _library("nvrtc")
    builtins = sorted(str(path) for path in Path(nvrtc).parent.glob("libnvrtc-builtins.so*"))
    return CudaLibraries(
        nvrtc, builtins[0] if builtins else "", _library("nvJitLink"), _header_folders(), find_ptxas(nvrtc)
    )


def find_ptxas(nvrtc: str) -> str | None:
    """The ptxas that GPUSHARE_PTXAS names, else of NVRTC's release, else from a wheel, else on the PATH."""
    if named := os.environ.get("GPUSHARE_PTXAS"):
        return os.path.abspath(named)
    folders = [parent for path in (Path(nvrtc), Path(nvrtc).resolve()) for parent in path.parents[1:4]]
    beside = [folder / "bin" / "ptxas" for folder in folders]
    in_wheels = [Path(folder, WHEEL_OF_PTXAS) for folder in sys.path if folder]
    found = (str(path) for path in (*beside, *in_wheels) if path.is_file() and os.access(path, os.X_OK))
    path = next(found, None) or shutil.which("ptxas")
    return os.path.abspath(path) if path else None  # Absolute, because it is run in another folder.


def _library(name: str) -> str:
    from cuda import pathfinder

    try:
        path = pathfinder.load_nvidia_dynamic_lib(name).abs_path
    except (pathfinder.DynamicLibNotFoundError, RuntimeError, OSError) as error:
        raise CudaError(f"lib{name}.so of CUDA, which compiles kernels, was not found. Install: {INSTALL}") from error
    if path is None:
        raise CudaError(f"lib{name}.so is loaded, but its path is not known. Install: {INSTALL}")
    return path


def _header_folders() -> tuple[str, ...]:
    from cuda import pathfinder

    found = [pathfinder.find_nvidia_header_directory(name) for name in ("cudart", "cccl")]
    return tuple(dict.fromkeys(folder for folder in found if folder))


def _stamp(path: str | Path) -> tuple[object, ...]:
    try:
        status = os.stat(path)
    except OSError:
        return (os.fspath(path), None)
    return (os.path.realpath(path), status.st_size, status.st_mtime_ns)


def library_path(name: str) -> str | None:
    """Where it is; None where it is nowhere."""
    from cuda import pathfinder

    try:
        return pathfinder.load_nvidia_dynamic_lib(name).abs_path
    except (pathfinder.DynamicLibNotFoundError, RuntimeError, OSError):
        return None
