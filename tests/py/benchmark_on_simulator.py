# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of the checkout for tests: their modules, and runs on a simulated device from a shell."""

import importlib
import json
import os
import pathlib
import subprocess
import sys

import gpushare as gs

ROOT = pathlib.Path(__file__).parents[2]
TIMEOUT_S = 240


def module_of(name):
    """The module of this name below benchmarks, which are in no package that is installed."""
    sys.path.insert(0, str(ROOT))
    try:
        return importlib.import_module(f"benchmarks.{name}")
    finally:
        sys.path.remove(str(ROOT))


def tables_of(folder, name, *options, package="benchmarks.gpu"):
    """The tables that the benchmark writes; its files go to the folder."""
    path = folder / "figures.json"
    line = [name, "--device", "sim:h100", "--size", "small", *options, "--json", str(path)]
    folders = [str(pathlib.Path(gs.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
    environment["TMPDIR"] = "/tmp"  # the path of its server's socket has to be short
    done = subprocess.run(
        [sys.executable, "-m", package, *line],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text())["tables"]
