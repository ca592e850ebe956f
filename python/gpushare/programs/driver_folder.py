# SPDX-License-Identifier: Apache-2.0
"""The folder in which a program finds gpushare's library under the CUDA driver's name, and the driver itself."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from gpushare import _core
from gpushare._core import CudaError

LIBRARY = Path(_core.__file__).parent / "intercept" / "libcuda.so.1"
IMAGES = LIBRARY.with_name("libgpushare_images.so")
"""What the library opens for programs that ask for workers."""
DRIVER = "libcuda.so.1"
DRIVER_BEHIND = "libcuda-real.so"
"""The name that gpushare's library is linked to."""
PREFIX = "gpushare-run-"
LEAST_AGE_S = 60.0
"""A younger folder may be one that its run has not locked yet."""
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
    """The folder, which exists while programs use it. Those that killed runs have left are removed.

    Raises:
        CudaError: there is no driver, or gpushare was built without its library.
    """
    driver = driver_file()
    with tempfile.TemporaryDirectory(prefix=PREFIX) as made, _locked(made):
        folder = Path(made)
        _remove_left(folder.parent)
        for name in (DRIVER, "libcuda.so"):
            (folder / name).symlink_to(LIBRARY)
        (folder / IMAGES.name).symlink_to(IMAGES)
        (folder / DRIVER_BEHIND).symlink_to(driver)
        yield folder


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Marks the folder as that of a run: the kernel releases the lock with the process."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks: then programs are found by their environment
            fcntl.flock(opened, fcntl.LOCK_SH)
        yield
    finally:
        os.close(opened)


def _remove_left(place: Path) -> None:
    """Removes folders of runs that have ended without removing them, unless a program goes on there."""
    left = [each for each in place.glob(f"{PREFIX}*") if _is_left(each)]
    used = _environments() if left else b""
    for folder in left:
        if os.fsencode(folder) not in used:
            shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path) -> bool:
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        found = os.fstat(opened)
        if found.st_uid != os.getuid() or time.time() - found.st_mtime < LEAST_AGE_S:
            return False
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(opened)
    return True


def _environments() -> bytes:
    """Those of all processes that can be seen."""
    found = b""
    for each in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # of another user, or ended
            found += each.read_bytes()
    return found


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
