# SPDX-License-Identifier: Apache-2.0
"""Without the packages of the extra ``analysis``: server and clients work, and the rest says what to install."""

import os
import subprocess
import sys

import pytest

HIDE = """
import sys

HIDDEN = ("pandas", "matplotlib", "perfetto", "google", "jinja2", "markupsafe")


class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])


sys.meta_path.insert(0, Hidden())
"""
"""Python runs a sitecustomize.py of its path in every process, thus also in the server's and the compiler's."""


@pytest.fixture
def without_analysis(tmp_path):
    """Runs this Python with arguments, without the packages of the extra."""
    folder = tmp_path / "hiding"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDE)
    path = os.pathsep.join([str(folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])

    def run(*arguments, status=0):
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=110,
                              env={**os.environ, "PYTHONPATH": path})  # fmt: skip
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    return run


def test_the_packages_are_hidden(without_analysis):
    assert "No module named 'pandas'" in without_analysis("-c", "import pandas", status=1)


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["run", "--help"], ["compare", "--help"],
                                       ["policies"], ["devices"], ["workloads"]])  # fmt: skip
def test_commands_without_tables_work(without_analysis, arguments):
    assert without_analysis("-m", "gpushare", *arguments)


def test_every_command_has_its_help(without_analysis):
    program = """
import click
from gpushare.cli import main

context = click.Context(main)
for name in main.list_commands(context):
    print(name, len(main.get_command(context, name).get_help(context)))
"""
    assert "reproduce" in without_analysis("-c", program)


def test_doctor_works(without_analysis):
    assert "Simulated GPUs" in without_analysis("-m", "gpushare", "doctor", status=1)


def test_a_session_and_a_run_work(without_analysis):
    program = """
import gpushare as gs

kernel = gs.KernelModel("k", threads=256, latency_ns=1_000)
workload = gs.Workload("one", [gs.Application("alice", [gs.Launch(kernel, 100)])])
run = gs.run(workload, "srtf", device="sim:h100")
print("stp", run.metrics()["stp"], repr(gs.compare(workload, ["fifo"], device="sim:h100")))
"""
    assert "stp 1.0" in without_analysis("-c", program)
