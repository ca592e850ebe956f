# SPDX-License-Identifier: Apache-2.0
"""Predicts from a program's file whether it would use the driver without gpushare: ``gpushare doctor -- COMMAND``."""

from __future__ import annotations

import os
import shutil
import stat
import struct
from pathlib import Path

from gpushare.doctor.finding import Finding, State
from gpushare.programs.driver_folder import PAGE_VARIABLE, driver_file

PROGRAM = "program"
MOST_SEARCHED_BYTES = 256 << 20
ELF = b"\x7fELF"
CLASS_64, INTERPRETER, DYNAMIC = 2, 3, 2
RPATH = 15
DRIVER_PATH = b"/libcuda.so"


def findings_of(command: tuple[str, ...]) -> list[Finding]:
    """Findings for the command's program, and for the interpreter of a script."""
    if PAGE_VARIABLE in os.environ:
        fix = "run it without gpushare run"
        return [Finding(PROGRAM, State.BROKEN, "this process already runs under gpushare run", fix=fix)]
    found = shutil.which(command[0])
    if found is None:
        return [Finding(PROGRAM, State.BROKEN, f"there is no program {command[0]!r} that can be run")]
    findings = [_of_driver()]
    for file in _with_interpreter(Path(found)):
        problems = escapes_of(file)
        state = State.BROKEN if problems else State.GOOD
        summary = "its launches would not be seen" if problems else "finds gpushare's library in the driver's place"
        findings.append(Finding(PROGRAM, state, f"{file}: {summary}", problems))
    return findings


def escapes_of(file: Path) -> tuple[str, ...]:
    """Reasons why launches of this program would not be observed; empty if there are none that the file shows."""
    problems = []
    mode = file.stat().st_mode
    if mode & (stat.S_ISUID | stat.S_ISGID):
        problems.append("it is set-user-ID or set-group-ID, so that the loader ignores LD_LIBRARY_PATH")
    with file.open("rb") as opened:
        content = opened.read(MOST_SEARCHED_BYTES)
    if not content.startswith(ELF):
        return tuple(problems)
    if content[4] != CLASS_64:
        return (*problems, "it is a 32-bit program, for which there is no CUDA driver")
    kinds, tags = _segments(content)
    if INTERPRETER not in kinds:
        problems.append("it is linked statically, so the driver cannot be replaced")
    if RPATH in tags:
        problems.append("it has a DT_RPATH, which the loader searches before LD_LIBRARY_PATH: link it with RUNPATH")
    if DRIVER_PATH in content:
        problems.append("it may open the driver by an absolute path: its file has one that ends in libcuda.so")
    return tuple(problems)


def _of_driver() -> Finding:
    try:
        return Finding("driver", State.GOOD, f"{driver_file()} is used through gpushare's library")
    except Exception as error:  # doctor reports any error
        return Finding("driver", State.BROKEN, str(error), fix="gpushare doctor")


def _with_interpreter(program: Path) -> list[Path]:
    """The program, and the interpreter in a script's first line."""
    program = program.resolve()
    with program.open("rb") as opened:
        first = opened.readline(4096)
    if not first.startswith(b"#!"):
        return [program]
    words = first[2:].decode(errors="replace").split()
    if words and os.path.basename(words[0]) == "env":
        words = [each for each in words[1:] if not each.startswith("-") and "=" not in each]
    found = shutil.which(words[0]) if words else None
    return [program] if found is None else [program, Path(found).resolve()]


def _segments(content: bytes) -> tuple[set[int], set[int]]:
    """Types of the program's segments, and tags of its dynamic section."""
    kinds, tags = set(), set()
    try:
        (offset,) = struct.unpack_from("<Q", content, 32)
        size, count = struct.unpack_from("<HH", content, 54)
        for number in range(count):
            kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", content, offset + number * size)
            kinds.add(kind)
            if kind == DYNAMIC:
                tags |= {tag for tag, _ in struct.iter_unpack("<qQ", content[at : at + length // 16 * 16])}
    except struct.error:  # the file is truncated; running it will report that
        kinds.add(INTERPRETER)
    return kinds, tags
