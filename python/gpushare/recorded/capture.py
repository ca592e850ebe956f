# SPDX-License-Identifier: Apache-2.0
"""Runs a program with a library that records its use of CUDA."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from gpushare import _core
from gpushare._core import CudaError, InvalidInput
from gpushare.extras import install
from gpushare.kernels.cuda_libraries import library_path
from gpushare.recorded.interrupts import signals_for_program
from gpushare.recorded.new_recording import NewRecording

LIBRARY = Path(_core.__file__).with_name("libgpushare_record.so")
INSTALL = install("cu13")
FOLDER_VARIABLE = "GPUSHARE_RECORD_FOLDER"
CUPTI_VARIABLE = "GPUSHARE_RECORD_CUPTI"
TOOLKIT_CUPTI = ("extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib")


def capture(command: Sequence[str], folder: Path, output: int | None = None) -> int:
    """Runs the command until it ends; each of its processes that use CUDA writes a part into the folder.

    Args:
        command: the program and its arguments.
        folder: folder for the recording, which replaces an earlier one.
        output: the file descriptor to which its standard output goes; by default this process's.

    Returns:
        The exit code; negative where a signal ended it.

    Raises:
        InvalidInput: there is no such program, it used no CUDA, or the folder has other files than recordings; an
            earlier recording stays.
        CudaError: CUPTI is missing, or gpushare was built without it.
    """
    program = _program(command)
    environment = _environment()
    with NewRecording(folder) as new:
        environment[FOLDER_VARIABLE] = str(new.folder)
        with signals_for_program() as signals:  # before the program starts, so that a signal cannot leave it behind
            try:
                running = subprocess.Popen([program, *command[1:]], env=environment, stdout=output)
            except OSError as error:
                raise InvalidInput(f"{command[0]!r} cannot be run: {error.strerror}") from error
            code = signals.until_end(running)
        if new.is_empty():
            ended = f"\ngpushare: {how_it_ended(command, code)}" if code else ""
            raise InvalidInput(f"{command[0]} used no CUDA: there is nothing to record{ended}")
        new.take_place()
    return code


def how_it_ended(command: Sequence[str], code: int) -> str:
    """The text about a program's exit code.

    >>> how_it_ended(["make", "all"], 2), how_it_ended(["make"], -15)
    ('make ended with exit code 2', 'make was ended by signal 15')
    """
    return f"{command[0]} ended with exit code {code}" if code >= 0 else f"{command[0]} was ended by signal {-code}"


def _program(command: Sequence[str]) -> str:
    if not command:
        raise InvalidInput("no program: gpushare record -o FILE -- PROGRAM ARGUMENTS...")
    found = shutil.which(command[0])
    if found is None:
        raise InvalidInput(f"no program {command[0]!r}: it is neither a file that can be run nor on the PATH")
    return found


def _environment() -> dict[str, str]:
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
        CUPTI_VARIABLE: cupti_path(),
    }


def cupti_path() -> str:
    """Path of libcupti.so: from GPUSHARE_RECORD_CUPTI, a wheel, or a toolkit.

    Raises:
        CudaError: it was not found.
    """
    said = os.environ.get(CUPTI_VARIABLE)
    if said:
        return said
    found = library_path("cupti") or _in_toolkit()
    if found is None:
        raise CudaError(f"libcupti.so, which records CUDA programs, was not found. Install: {INSTALL}")
    return found


def _in_toolkit() -> str | None:
    toolkits = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    folders = [Path(toolkit, folder) for toolkit in toolkits if toolkit for folder in TOOLKIT_CUPTI]
    files = [file for folder in folders for file in sorted(folder.glob("libcupti.so.1*"))]
    return str(files[0]) if files else None
