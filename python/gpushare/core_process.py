# SPDX-License-Identifier: Apache-2.0
"""Processes of their own for what may crash or hang: code that calls CUDA's libraries.

A program is a file with a ``main(core)``. It gets the compiled core and has none of gpushare's other modules and no
site packages, which cost more to import than such a program runs.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from types import ModuleType


def command_for(program: str) -> list[str]:
    """The command line that starts the program, which is the path of its file."""
    from gpushare import _core

    return [sys.executable, "-I", "-S", __file__, program, _core.__file__]


def leads_session() -> bool:
    """Is this process the first of its session, so that Ctrl-C in another's terminal does not reach what it starts?

    Then that stays in its group, and can be ended with it.
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
