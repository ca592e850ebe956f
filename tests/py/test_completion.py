# SPDX-License-Identifier: Apache-2.0
"""What shells propose for incomplete arguments, and the scripts that ask for it."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import click
import pytest
from click.shell_completion import ShellComplete

import gpushare as gs
from gpushare import _core
from gpushare.backends.baselines import BASELINES
from gpushare.cli import COMMANDS, main
from gpushare.cli.completion.bash import BashWithColons
from gpushare.cli.completion.command import SHELLS
from gpushare.cli.completion.names import kernels_in

pytestmark = pytest.mark.usefixtures("command_folder")


def proposals(line):
    """The completions of the last word."""
    *words, incomplete = line.split(" ")
    found = ShellComplete(main, {}, "gpushare", "_GPUSHARE_COMPLETE").get_completions(words, incomplete)
    return [item.value for item in found]


def test_commands_are_proposed_without_importing_them():
    code = (
        "import sys\nfrom click.shell_completion import ShellComplete\nfrom gpushare.cli import main\n"
        "print(len(ShellComplete(main, {}, 'gpushare', 'X').get_completions([], '')))\n"
        "print([name for name in sys.modules if name.startswith('gpushare.cli.compare')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == f"{len(COMMANDS)}\n[]\n"


@pytest.mark.parametrize(
    ("line", "among"),
    [
        ("comp", ["compare", "compile", "completion"]),
        ("compare --po", ["--policies"]),
        ("compare suite_p", ["suite_pair"]),
        ("compare pa", ["pair.toml"]),
        ("compare x --device sim:h", ["sim:h100", "sim:h200"]),
        ("compare x --policies fi", ["fifo"]),
        ("compare x --policies fifo,srt", ["fifo,srtf", "fifo,srtf-adaptive", "fifo,srtf-zero-sampling"]),
        ("compare x --policies fifo,fi", []),
        ("compare x --policies hardware-str", ["hardware-streams"]),
        ("compare x --policies mix:min_", ["mix:min_speed="]),
        ("compare x --policies mix:min_speed=0.3:min_", []),
        ("compare x --policies cumas+fi", ["cumas+fifo"]),
        ("compare x --policies string", ["strings+"]),
        ("compare x --policies nothing:x", []),
        ("schedule x --policy min", ["mine.py"]),
        ("schedule x --policy mine.py:", ["mine.py:LatestFirst", "mine.py:Fails", "mine.py:NeedsMore"]),
        ("schedule x --policy gone.py:", []),
        ("compare nowhere/", []),
        ("serve --device prog", ["programs"]),
        ("serve --ordering arr", ["arrival"]),
        ("suite run nbo", ["nbody"]),
        ("suite r", ["resources", "run"]),
        ("profile --suite tria", ["triad", "triad_vector"]),
        ("profile sax", ["saxpy.cu"]),
        ("compile sax", ["saxpy.cu"]),
        ("compile saxpy.cu -k ", ["saxpy", "scale"]),
        ("compile -k ", []),
        ("validate --kernels nbody,tria", ["nbody,triad", "nbody,triad_vector"]),
        ("reproduce sl", ["slate"]),
    ],
)
def test_proposals(line, among):
    kernels = (
        "template <class T>\n__global__ void __launch_bounds__(256) saxpy(T* x) {}\n__global__ void scale(int*) {}"
    )
    pathlib.Path("saxpy.cu").write_text(kernels)
    found = proposals(line)
    assert [each for each in found if not each.endswith("/")] == among


def test_every_name_is_proposed():
    assert {each.name for each in gs.policies()} | BASELINES.keys() <= set(proposals("compare x --policies "))
    assert {f"sim:{name}" for name in gs.device_names()} <= set(proposals("devices "))
    assert [each.name for each in _core.orderings()] == proposals("serve --ordering ")


def test_a_program_is_completed_by_the_shell():
    found = ShellComplete(main, {}, "gpushare", "_GPUSHARE_COMPLETE").get_completions(["run", "--"], "tr")
    assert [(item.type, item.value) for item in found] == [("file", "tr")]


def test_kernels_of_files():
    pathlib.Path("k.ptx").write_text(".visible .entry _Z1kPf(\n.param .u64 a) {}\n.entry other() {}\n")
    assert kernels_in(pathlib.Path("k.ptx")) == ["_Z1kPf", "other"]
    assert kernels_in(pathlib.Path("gone.cu")) == []
    assert kernels_in(pathlib.Path("pair.toml")) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts(call, shell):
    script = call("completion", shell).stdout
    assert "_GPUSHARE_COMPLETE" in script
    assert json.loads(call("completion", shell, "--json").stdout)["script"] == script
    assert main.get_command(click.Context(main), "completion").params[0].type.choices == SHELLS


@pytest.mark.parametrize(
    ("line", "incomplete", "kept"),
    [
        ("gpushare compare --device sim:h", "sim:h", "sim:"),
        ("gpushare compare --device=sim:h", "--device=sim:h", "sim:"),
        ("gpushare compare --policies mix:min_speed=0", "mix:min_speed=0", "mix:min_speed="),
        ("gpushare compare ", "", ""),
    ],
)
def test_what_bash_keeps(monkeypatch, line, incomplete, kept):
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_WORDBREAKS", " :=")
    shell = BashWithColons(main, {}, "gpushare", "_GPUSHARE_COMPLETE")
    assert shell.get_completion_args()[1] == incomplete
    assert shell.kept == kept


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("line", "replies"),
    [("gpushare devices sim:h", "h100"), ("gpushare compare x --policies fifo,srt", "fifo,srtf")],
)
def test_bash(tmp_path, call, line, replies):
    (tmp_path / "gpushare").write_text(f'#!/bin/sh\nexec {sys.executable} -m gpushare "$@"\n')
    (tmp_path / "gpushare").chmod(0o755)
    (tmp_path / "script").write_text(call("completion", "bash").stdout)
    ask = f'. ./script; COMP_LINE="{line}" COMP_POINT={len(line)}; _gpushare_completion gpushare; echo $COMPREPLY'
    path = f"{tmp_path}:{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-c", ask], capture_output=True, text=True, env=os.environ | {"PATH": path}, timeout=60
    )
    assert run.stdout.split() == [replies], run.stderr
