# SPDX-License-Identifier: Apache-2.0
"""The GPU that is none: makes this process and those that it starts take it for the real one."""

import os
import pathlib
import shutil

ROOT = pathlib.Path(__file__).parents[2]
LIBRARY = "libgpushare_stand_in_gpu.so"
BUILD = "cmake --preset release && cmake --build --preset release --target gpushare_stand_in_gpu"


def is_wanted():
    return os.environ.get("GPUSHARE_STAND_IN") == "1"


def library():
    """The one named in GPUSHARE_STAND_IN_LIBRARY, else the one built last; None where there is none."""
    named = os.environ.get("GPUSHARE_STAND_IN_LIBRARY")
    built = [pathlib.Path(named)] if named else list(ROOT.glob(f"build/*/{LIBRARY}"))
    return max(built, key=lambda path: path.stat().st_mtime, default=None)


def environment(log):
    """What a process needs in its environment before it opens the driver; misuse and faults go to the file ``log``."""
    from gpushare.cuda_libraries import CudaLibraries, cuda_libraries

    found: CudaLibraries = cuda_libraries()
    return {
        "GPUSHARE_STAND_IN": "1",
        "GPUSHARE_LIBCUDA": str(library()),
        "GPUSHARE_PTXAS": str(ROOT / "tests/stand_in_gpu/ptxas"),
        "GPUSHARE_STAND_IN_PTXAS": found.ptxas or shutil.which("ptxas") or "ptxas",
        "GPUSHARE_STAND_IN_LOG": str(log),
    }
