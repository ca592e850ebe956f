# SPDX-License-Identifier: Apache-2.0
"""The folder in which a program finds gpushare's library under the CUDA driver's name, and the driver itself."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gpushare import _core
from gpushare._core import CudaError

LIBRARY = Path(_core.__file__).parent / "intercept" / "libcuda.so.1"
IMAGES = LIBRARY.with_name("libgpushare_images.so")
"""What the library opens for programs that ask for workers."""
DRIVER = "libcuda.so.1"
DRIVER_BEHIND = "libcuda-real.so"
"""The name that gpushare's library is linked to."""
PAGE_VARIABLE = "GPUSHARE_PROGRAM"
"""The environment variable that locates the scheduling page for a program's processes."""


def driver_file() -> Path:
    """The file of the CUDA driver: GPUSHARE_LIBCUDA, else the loader's result.

    Raises:
        CudaError: there is none, or gpushare was built without its library.
    """
    if not LIBRARY.is_file():
        raise CudaError(
            f"gpushare was built without CUDA's headers, so that it cannot run programs: there is no {LIBRARY}. "
            'Install them (pip install "nvidia-cuda-runtime>=13.0,<13.1"), and build gpushare again'
        )
    if named := os.environ.get("GPUSHARE_LIBCUDA"):
        return Path(named).resolve()
    try:
        ctypes.CDLL(DRIVER)
    except OSError as error:
        raise CudaError(f"there is no CUDA driver ({error}): run gpushare doctor") from None
    found = [line.split(maxsplit=5)[-1] for line in Path("/proc/self/maps").read_text(errors="replace").splitlines()]
    return next(Path(name).resolve() for name in found if Path(name).name.startswith("libcuda.so"))


@contextmanager
def driver_folder() -> Iterator[Path]:
    """The folder, which exists while programs use it.

    Raises:
        CudaError: there is no driver, or gpushare was built without its library.
    """
    driver = driver_file()
    with tempfile.TemporaryDirectory(prefix="gpushare-run-") as made:
        folder = Path(made)
        for name in (DRIVER, "libcuda.so"):
            (folder / name).symlink_to(LIBRARY)
        (folder / IMAGES.name).symlink_to(IMAGES)
        (folder / DRIVER_BEHIND).symlink_to(driver)
        yield folder


def environment(folder: Path, page: int, others: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program, in which it finds the folder first, and its page.

    Args:
        folder: see :func:`driver_folder`.
        page: descriptor of its page in this process, which outlives the program.
        others: the other variables of its environment.
    """
    behind = others.get("LD_LIBRARY_PATH")
    return {
        **others,
        "LD_LIBRARY_PATH": f"{folder}:{behind}" if behind else str(folder),
        PAGE_VARIABLE: f"/proc/{os.getpid()}/fd/{page}",
    }
