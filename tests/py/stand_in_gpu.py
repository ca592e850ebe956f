# SPDX-License-Identifier: Apache-2.0
"""tools/stand_in: makes this process and those that it starts take it for the driver."""

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
LIBRARY = "libgpushare_stand_in_gpu.so"
BUILD = "cmake --preset release && cmake --build --preset release --target gpushare_stand_in_gpu"


def library():
    """The one named in GPUSHARE_STAND_IN_LIBRARY, else the one built last; None where there is none."""
    named = os.environ.get("GPUSHARE_STAND_IN_LIBRARY")
    built = [pathlib.Path(named)] if named else list(ROOT.glob(f"build/*/{LIBRARY}"))
    return max(built, key=lambda path: path.stat().st_mtime, default=None)


def require_library():
    """Skips the test where there is none, or fails where all tests have to run."""
    if library() is None:
        words = f"{LIBRARY} was not built: {BUILD}"
        if os.environ.get("GPUSHARE_REQUIRE_PTX_RUN") == "1":
            pytest.fail(words, pytrace=False)
        pytest.skip(words)


def use(log):
    """Before this process opens the driver. Calls that no correct program makes go to the file ``log``, and faults."""
    from gpushare.kernels.cuda_libraries import cuda_libraries

    os.environ["GPUSHARE_LIBCUDA"] = str(library())
    os.environ["GPUSHARE_STAND_IN_LOG"] = str(log)
    if "GPUSHARE_STAND_IN_PTXAS" not in os.environ:
        os.environ["GPUSHARE_STAND_IN_PTXAS"] = cuda_libraries().ptxas or "ptxas"
    os.environ["GPUSHARE_PTXAS"] = str(ROOT / "tools/stand_in/ptxas")
    cuda_libraries.cache_clear()
