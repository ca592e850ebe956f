# SPDX-License-Identifier: Apache-2.0
"""Options of gpushare record that are wrong are refused before a program runs, and those that a mode does not use."""

import os

import pytest

from gpushare.files import atomic_write


@pytest.fixture
def refused(call, monkeypatch, tmp_path, fake_cupti):
    """What is said of this command line, whose program would leave a file."""
    monkeypatch.setenv("GPUSHARE_RECORD_CUPTI", str(fake_cupti[0]))
    monkeypatch.chdir(tmp_path)

    def refuse(*arguments):
        output = call("record", *arguments, code=2).output
        assert not (tmp_path / "it_ran").exists()
        assert not list(tmp_path.glob("*.t*"))
        return output

    return refuse


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "x.toml"], "no program: gpushare record -o FILE -- PROGRAM"),
        (["--", "true"], "name the workload's file"),
        (["-o", "none/x.toml", "--", "true"], "none/x.toml: the folder 'none' does not exist"),
        (["-o", "x.toml", "--", "nonesuch"], "no program 'nonesuch'"),
        (["-o", "x.toml", "--from", "none"], "none: there is no such folder with a recording"),
        (["-o", "x.toml", "--from", "none", "--", "true"], "--from runs no program"),
        (["--summary", "none.toml"], "none.trace: there is no such folder"),
        (["--summary", "x", "--", "true"], "--summary runs no program"),
        (["-o", "x.toml", "--merge"], "--merge: name the workloads"),
        (["-o", "x.toml", "--merge", "none"], "no workload 'none'"),
    ],
)
def test_wrong_calls(refused, arguments, message):
    assert message in refused(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--between", "abc"], "--between: write BEGIN:END in milliseconds, such as 100:250, got 'abc'"),
        (["--between", "5"], "write BEGIN:END"),
        (["--between", "a:b"], "write BEGIN:END"),
        (["--between", "200:100"], "--between: expected 0 <= BEGIN < END, got '200:100'"),
        (["--between", "-1:100"], "0 <= BEGIN < END"),
        (["--between", "nan:"], "0 <= BEGIN < END"),
        (["--device-file", "none/gpu.toml"], "none/gpu.toml: the folder 'none' does not exist"),
        (["--device-file", "x.toml"], "x.toml: the workload and the device have the same file"),
        (["--device-file", "x.trace"], "x.trace: the recording has this name"),
        (["-o", "x.trace"], "choose another file name, such as x.toml"),
        (["-o", "none/x.toml"], "none/x.toml: the folder 'none' does not exist"),
        (
            ["-o", "a\udc80.toml"],
            "the workload gets the file's name, and a workload's name must be a text of Unicode",
        ),
    ],
)
def test_checked_before_anything_runs(refused, arguments, message):
    assert message in refused("-o", "x.toml", *arguments, "--", "touch", "it_ran")


def test_a_file_that_may_not_be_written(refused, monkeypatch):
    """Asked of the system, which lets some accounts do everything."""
    monkeypatch.setattr(atomic_write.os, "access", lambda _, how: how & os.W_OK == 0)
    assert "x.toml: the folder '.' may not be written to" in refused("-o", "x.toml", "--", "touch", "it_ran")


@pytest.mark.parametrize(
    ("arguments", "unused"),
    [
        (["--summary", "x", "--between", "100:200"], "--summary does not use --between"),
        (["--summary", "x", "-o", "y.toml"], "--summary does not use --output"),
        (["--summary", "x", "--merge"], "--summary does not use --merge"),
        (["--summary", "x", "--from", "y"], "--summary does not use --from"),
        (["--summary", "x", "--by", "process"], "--summary does not use --by"),
        (["-o", "y.toml", "--merge", "--between", "1:2", "x.toml"], "--merge does not use --between"),
        (["-o", "y.toml", "--merge", "--replay", "x.toml"], "--merge does not use --replay"),
        (["-o", "y.toml", "--merge", "--by", "stream", "x.toml"], "--merge does not use --by"),
        (["-o", "y.toml", "--merge", "--device-file", "z.toml", "x.toml"], "--merge does not use --device-file"),
        (["-o", "y.toml", "--merge", "--from", "z", "x.toml"], "--merge does not use --from"),
    ],
)
def test_what_a_mode_does_not_use_is_refused(refused, arguments, unused):
    assert f"{unused}: leave it out" in refused(*arguments)
