# SPDX-License-Identifier: Apache-2.0
"""Starts separate processes for code that may crash or hang: calls into CUDA's libraries.

A program is a file with a ``main(core)``. It gets the compiled core, and imports neither gpushare's other modules nor
site packages: importing those would take longer than the program runs.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from types import ModuleType


def command_for(program: str) -> list[str]:
    """The command line that starts a program, given the path of its file."""
    from gpushare import _core

    return [sys.executable, "-I", "-S", __file__, program, _core.__file__]


def leads_session() -> bool:
    """Whether this process leads its session, and so receives no Ctrl-C from the terminal of another one.

    If it does, the processes that it starts stay in its process group and are ended with the group.
    """
    return os.getsid(0) == os.getpid()


def _load(name: str, path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    _load("program", sys.argv[1]).main(_load("gpushare._core", sys.argv[2]))
