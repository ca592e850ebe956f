# SPDX-License-Identifier: Apache-2.0
"""Without the packages of the extra ``analysis``: server and clients work, and the rest says what to install."""

import os
import subprocess
import sys
import tempfile

import pytest

HIDE = """
import sys


class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "matplotlib", "perfetto", "google", "jinja2", "markupsafe"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Hidden())
"""
"""As sitecustomize.py it is run by every process of Python, thus also by the server's."""
INSTALL = 'pip install "gpushare-scheduler[analysis]"'
RUN = """
import gpushare as gs

kernel = gs.KernelModel("kernel", threads=256, latency_ns=1_000)
workload = gs.Workload("one", [gs.Application("alice", [gs.Launch(kernel, 100)])])
run = gs.run(workload, "srtf", device="sim:h100")
result = gs.compare(workload, ["fifo"], device="sim:h100")
"""


@pytest.fixture
def python(tmp_path):
    """Runs Python without the packages: returns its output and errors."""
    folder = tmp_path / "hiding"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDE)
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def run(*arguments, statuses=(0,)):
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=tmp_path,
                              env=environment, timeout=100)  # fmt: skip
        assert done.returncode in statuses, done.stderr
        return done.stdout + done.stderr

    return run


def test_the_packages_are_hidden(python):
    assert "No module named 'pandas'" in python("-c", "import pandas", statuses=[1])


def test_every_command_has_a_help(python):
    program = """
import click
from gpushare.cli import main

context = click.Context(main)
print(main.get_help(context))
for name in main.list_commands(context):
    print(main.get_command(context, name).get_help(context))
"""
    assert "gpushare serve" in python("-c", program)


def test_doctor_works(python):
    assert "Simulated GPUs" in python("-m", "gpushare", "doctor", statuses=[0, 4])  # 4: it found something broken


def test_runs_and_comparisons_have_metrics(python):
    program = RUN + "print(run.metrics()['stp'], len(result.runs), run.workload._repr_html_()[:5])"
    assert python("-c", program).split() == ["1.0", "1", "<div>"]


def test_a_session_works(python):
    program = """
import gpushare as gs

with gs.Session("sim:gtx480", "srtf") as session:
    session.application("alice").submit(gs.KernelModel("k", threads=192, latency_ns=1e6), grid=30, block=192).result()
    print(session.finish().metrics()["makespan_ns"] > 0)
"""
    assert python("-c", program).split() == ["True"]


def test_a_server_and_its_client_work(python):
    program = """
import subprocess, sys, time
from pathlib import Path

import numpy as np

import gpushare as gs

path = Path(sys.argv[1], "socket")
command = [sys.executable, "-m", "gpushare", "serve", "--device", "sim:h100", "--socket", path, "--while-used"]
with subprocess.Popen(command):
    while not path.exists():
        time.sleep(0.05)
    with gs.connect(path) as session:
        x = session.array(np.ones(64, np.float32))
        kernel = gs.KernelModel("kernel", threads=256, latency_ns=1_000)
        session.application("alice").submit(kernel, grid=4, block=256, args=[x]).result(60)
        print(session.status()["device"], x.numpy()[0])
        try:
            session.trace(1)
        except gs.InvalidInput as error:
            print(error)
"""
    with tempfile.TemporaryDirectory(prefix="gpushare", dir="/tmp") as folder:  # the path of a socket has to be short
        written = python("-c", program, folder)
    assert "sim:h100 1.0\n" in written
    assert f"needs perfetto, which is not installed: {INSTALL}\n" in written


NEEDED_BY = {
    "result.metrics()": "pandas",
    "result.to_pandas()": "pandas",
    "run.applications()": "pandas",
    "run.plot.timeline()": "matplotlib",
    "run.to_perfetto('run.pftrace')": "perfetto",
    "result.to_html('report.html')": "markupsafe",
}


def test_what_needs_a_package_says_how_to_install_it(python):
    attempt = "\ntry:\n    {}\nexcept gs.InvalidInput as error:\n    print(error)"
    written = python("-c", RUN + "".join(map(attempt.format, NEEDED_BY)))
    expected = [f"this needs {package}, which is not installed: {INSTALL}" for package in NEEDED_BY.values()]
    assert written.splitlines() == expected


def test_a_command_that_prints_tables_says_so_before_its_work(python):
    program = """
from click.testing import CliRunner

from gpushare.cli import main

for command in ("compare suite_pair", "demo", "reproduce srtf", "schedule suite_pair --policy srtf",
                "validate --from missing.json"):
    done = CliRunner().invoke(main, command.split())
    print(done.exit_code, done.output, end="")
"""
    expected = f"2 gpushare: this needs pandas, which is not installed: {INSTALL}"
    assert python("-c", program).splitlines() == [expected] * 5
