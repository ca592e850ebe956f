# SPDX-License-Identifier: Apache-2.0
"""What the command line says and returns when something is wrong."""

import pathlib

import pytest
from click.testing import CliRunner

import gpushare as gs
from gpushare.cli import main

pytestmark = pytest.mark.usefixtures("command_folder")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("compare nothing", "no workload 'nothing'; known: cd_search, cumas, ercbench, slate, suite"),
        ("compare absent.toml", "absent.toml: cannot be read: No such file"),
        ("compare pair.toml --policies fifi", "no policy 'fifi'; known: fifo, mpmax"),
        ("compare pair.toml --policies ,", "--policies names no policy"),
        ("compare pair.toml --policies fifo,fifo", "two policies are named 'fifo'"),
        ("compare pair.toml --device b200", "no device 'b200'; known: sim:fermi"),
        ("compare pair.toml --policies hardware-streams", "'hardware-streams' is what a GPU does by itself"),
        ("compare pair.toml --policies fifo,green-contexts:40,92", "'green-contexts:40,92' is what a GPU does"),
        ("compare pair.toml --repeats 0", "repeats must lie in 1.."),
        ("compare pair.toml --repeats x", "'x' is not a valid integer"),
        ("compare pair.toml --seed -1", "-1 is not in the range x>=0"),
        ("compare pair.toml --save nowhere/r", "nowhere/r: the folder 'nowhere' does not exist"),
        ("compare", "Missing argument"),
        ("run pair.toml", "Missing option '--policy'"),
        (
            "run pair.toml --policy mine.py",
            "say which policy, as mine.py:CLASS; policies in this file: LatestFirst, Fa",
        ),
        ("run pair.toml --policy mine.py:Gone", "mine.py: no policy 'Gone' in this file; it has: LatestFirst, Fails"),
        ("run pair.toml --policy mine.py:NeedsMore", "cannot be made: TypeError"),
        ("run pair.toml --policy gone.py:Mine", "no file 'gone.py' to take a policy from"),
        ("run pair.toml --policy broken.py:Mine", "broken.py: cannot be imported: SyntaxError"),
        ("run pair.toml --policy leaves.py:Mine", "leaves.py: cannot be imported: SystemExit"),
        ("run pair.toml --policy srtf --plot run.xyz", "--plot run.xyz: the name must end in one of: "),
        ("run pair.toml --policy srtf --trace nowhere/t", "nowhere/t: cannot be written: No such file"),
        ("devices b200", "no device 'b200'"),
        ("reproduce nothing", "no paper 'nothing'; known: srtf, effisha, cumas"),
        ("demo --out pair.toml", "is a file"),
        ("assemble", "No such command 'assemble'"),
    ],
)
def test_bad_input_is_exit_code_2_with_a_message_on_stderr(call, line, message):
    pathlib.Path("broken.py").write_text("def (")
    pathlib.Path("leaves.py").write_text("raise SystemExit(0)")
    result = call(*line.split(), code=2)
    assert message in result.stderr
    assert result.stdout == ""


def test_tracebacks_are_for_those_who_ask(monkeypatch):
    monkeypatch.setenv("GPUSHARE_DEBUG", "1")
    result = CliRunner().invoke(main, ["compare", "nothing"])
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert "no workload 'nothing'" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ZeroDivisionError("by nought"), 3, "this is a bug in gpushare: ZeroDivisionError: by nought"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (gs.PolicyError("broken"), 1, "gpushare: broken"),
    ],
)
def test_other_errors_have_codes_of_their_own(call, monkeypatch, error, code, message):
    def fail(*_):
        raise error

    monkeypatch.setattr(gs, "device_names", fail)
    assert message in call("devices", code=code).stderr
