# SPDX-License-Identifier: Apache-2.0
"""Runs a program with the library in it that records what it does with CUDA."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from gpushare import _core
from gpushare._core import CudaError, InvalidInput
from gpushare.recorded.recording import PART_SUFFIX

LIBRARY = Path(_core.__file__).with_name("libgpushare_record.so")
INSTALL = 'pip install "gpushare-scheduler[cu13]"'
FOLDER_VARIABLE = "GPUSHARE_RECORD_FOLDER"
CUPTI_VARIABLE = "GPUSHARE_RECORD_CUPTI"
TOOLKIT_CUPTI = ("extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib")


def capture(command: Sequence[str], folder: Path, output: int | None = None) -> int:
    """Runs the command until it ends; every process of it that uses CUDA leaves a part in the folder.

    Args:
        command: the program and its arguments.
        folder: made, and emptied of an earlier recording.
        output: the file descriptor to which its standard output goes; by default this process's own.

    Returns:
        its exit code; negative where a signal ended it.

    Raises:
        InvalidInput: there is no such program, or the folder is not one for recordings.
        CudaError: CUPTI is missing, or gpushare was built without it.
    """
    program = _program(command)
    environment = _environment(folder)
    _make_empty(folder)
    try:
        running = subprocess.Popen([program, *command[1:]], env=environment, stdout=output)
    except OSError as error:
        raise InvalidInput(f"{command[0]!r} cannot be run: {error.strerror}") from error
    return _wait_for(running)


def _make_empty(folder: Path) -> None:
    """An earlier recording there goes, as a file does that is written again; nothing else does."""
    folder.mkdir(parents=True, exist_ok=True)
    strange = [file for file in folder.iterdir() if file.suffix != PART_SUFFIX]
    if strange:
        raise InvalidInput(f"{folder}: has other files than recordings, such as {strange[0].name}: name another file")
    for file in folder.iterdir():
        file.unlink()


def _wait_for(running: subprocess.Popen[bytes]) -> int:
    """Ctrl-C is the program's own affair: it gets it too, and what it did until then counts."""
    while True:
        try:
            return running.wait()
        except KeyboardInterrupt:
            continue


def _program(command: Sequence[str]) -> str:
    if not command:
        raise InvalidInput("no program: gpushare record -o FILE -- PROGRAM ARGUMENTS...")
    found = shutil.which(command[0])
    if found is None:
        raise InvalidInput(f"no program {command[0]!r}: it is neither a file that can be run nor on the PATH")
    return found


def _environment(folder: Path) -> dict[str, str]:
    if not LIBRARY.is_file():
        raise CudaError(
            f"gpushare was built without CUPTI's headers, so that it cannot record: there is no {LIBRARY}. "
            'Install them (pip install "nvidia-cuda-cupti>=13.0,<13.1"), and build gpushare again'
        )
    library = str(LIBRARY)
    preloaded = os.environ.get("LD_PRELOAD")
    return {
        **os.environ,
        "CUDA_INJECTION64_PATH": library,
        "LD_PRELOAD": f"{library}:{preloaded}" if preloaded else library,
        FOLDER_VARIABLE: str(folder.resolve()),
        CUPTI_VARIABLE: cupti_path(),
    }


def cupti_path() -> str:
    """Where libcupti.so is: where GPUSHARE_RECORD_CUPTI says, in a wheel, or in a toolkit.

    Raises:
        CudaError: nowhere.
    """
    said = os.environ.get(CUPTI_VARIABLE)
    if said:
        return said
    from gpushare.doctor.toolchain import library_path

    found = library_path("cupti") or _in_toolkit()
    if found is None:
        raise CudaError(f"libcupti.so, with which CUDA programs are recorded, was not found. Install: {INSTALL}")
    return found


def _in_toolkit() -> str | None:
    toolkits = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    folders = [Path(toolkit, folder) for toolkit in toolkits if toolkit for folder in TOOLKIT_CUPTI]
    files = [file for folder in folders for file in sorted(folder.glob("libcupti.so.1*"))]
    return str(files[0]) if files else None
