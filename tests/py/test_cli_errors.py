# SPDX-License-Identifier: Apache-2.0
"""What the command line says and returns when something is wrong."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from click.testing import CliRunner
from messages import assert_names

import gpushare as gs
from gpushare.cli import main

pytestmark = pytest.mark.usefixtures("command_folder")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("compare nothing", ("nothing", "cd_search", "cumas", "ercbench", "slate", "suite")),
        ("compare absent.toml", ("absent.toml", "No such file")),
        ("compare pair.toml --policies fifi", ("fifi", "fifo", "mpmax")),
        ("compare pair.toml --policies ,", "--policies"),
        ("compare pair.toml --policies fifo,fifo", "fifo"),
        ("compare pair.toml --device b200", ("b200", "sim:fermi")),
        ("compare pair.toml --policies hardware-streams", "hardware-streams"),
        ("compare pair.toml --policies fifo,green-contexts:40,92", "green-contexts:40,92"),
        ("compare pair.toml --repeats 0", ("repeats", "1..")),
        ("compare pair.toml --repeats x", "x"),
        ("compare pair.toml --seed -1", (-1, 0)),
        ("compare pair.toml --save nowhere/r", ("nowhere/r", "nowhere")),
        ("compare", ()),
        ("schedule pair.toml", "--policy"),
        (
            "schedule pair.toml --policy mine.py",
            ("mine.py:CLASS", "LatestFirst"),
        ),
        (
            "schedule pair.toml --policy mine.py:Gone",
            ("mine.py", "Gone", "LatestFirst"),
        ),
        ("schedule pair.toml --policy mine.py:NeedsMore", "TypeError"),
        ("schedule pair.toml --policy gone.py:Mine", "gone.py"),
        ("schedule pair.toml --policy broken.py:Mine", ("broken.py", "SyntaxError")),
        ("schedule pair.toml --policy leaves.py:Mine", ("leaves.py", "SystemExit")),
        ("schedule pair.toml --policy calls.py", ("calls.py:2", "JSONDecodeError")),
        ("schedule pair.toml --policy makes.py:Mine", ("makes.py:4", "KeyError", "gone")),
        ("schedule pair.toml --policy srtf --plot run.xyz", ("--plot", "run.xyz")),
        ("schedule pair.toml --policy srtf --plot run.pgf", ("--plot", "run.pgf")),
        ("compare pair.toml --device cuda:99999999999999999999", "cuda:99999999999999999999"),
        ("schedule pair.toml --policy srtf --trace nowhere/t", ("nowhere/t", "nowhere")),
        ("compare one.toml --pairs --policies fifo", ("--pairs", "pair")),
        ("compare pair.toml one.toml --pairs", ("--pairs", "pair")),
        ("compare pair.toml --timeout nan", ("--timeout", "nan")),
        ("compare pair.toml --timeout -1", ("--timeout", "0.001..1e+06", -1)),
        ("schedule pair.toml --policy srtf --timeout nan", ("--timeout", "nan")),
        ("schedule pair.toml --policy srtf --plot x.svg --trace ./x.svg", ("--plot", "--trace", "x.svg")),
        ("compare pair.toml --html x --save x", ("--html", "--save", "x")),
        ("devices b200", "b200"),
        ("reproduce nothing", ("nothing", "srtf", "effisha", "cumas")),
        ("demo --out pair.toml", "pair.toml"),
        ("assemble", "assemble"),
    ],
)
def test_bad_input_is_exit_code_2_with_a_message_on_stderr(call, line, named):
    pathlib.Path("broken.py").write_text("def (")
    pathlib.Path("one.toml").write_text(pathlib.Path("pair.toml").read_text().rpartition("[[application]]")[0])
    pathlib.Path("leaves.py").write_text("raise SystemExit(0)")
    pathlib.Path("calls.py").write_text('import json\njson.loads("{")\n')
    lines = ["import gpushare as gs", "class Mine(gs.Policy):", "    def __init__(self):", '        {}["gone"]']
    pathlib.Path("makes.py").write_text("\n".join(lines))
    result = call(*line.split(), code=2)
    assert_names(result.stderr, named)
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("line", "kind", "code", "named"),
    [
        ("compare nothing --json", "input", 2, "nothing"),
        ("compare --json pair.toml --repeats x", "usage", 2, "--repeats"),
        ("compare pair.toml --repeats x --json", "usage", 2, "--repeats"),
        ("compare pair.toml --polices fifo --json", "usage", 2, "--policies"),
        ("compare pair.toml --perfetto - --json", "input", 2, "--json"),
        ("compar pair.toml --json", "usage", 2, "compare"),
        ("suite run nbdy --json", "input", 2, "nbody"),
        ("suite rn nbody --json", "usage", 2, "rn"),
        ("devices b200 --json", "input", 2, "b200"),
        ("status --socket nowhere.sock --json", "input", 2, "nowhere.sock"),
    ],
)
def test_errors_are_documents_under_json(call, line, kind, code, named):
    result = call(*line.split(), code=code)
    document = json.loads(result.stdout)
    assert document.keys() == {"gpushare", "error"}
    assert (document["error"]["kind"], document["error"]["exit_code"]) == (kind, code)
    assert_names(document["error"]["message"], named)
    assert_names(result.stderr, named)


def test_a_failed_policy_is_in_the_one_document(call):
    pathlib.Path("bad.py").write_text(POLICY_THAT_RAISES_NO_TEXT)
    for command in ("compare pair.toml --policies bad.py:Odd", "schedule pair.toml --policy bad.py:Odd"):
        document = json.loads(call(*command.split(), "--json", code=1).stdout)
        assert "Odd" in document["errors"]
        assert "error" not in document


@pytest.mark.parametrize("line", ["run --weight x -- echo --json", "record --by x -- echo --json"])
def test_a_programs_own_json_is_none_of_gpushares(call, line):
    assert call(*line.split(), code=2).stdout == ""


def test_tracebacks_are_shown_on_request(monkeypatch):
    monkeypatch.setenv("GPUSHARE_DEBUG", "1")
    result = CliRunner().invoke(main, ["compare", "nothing"])
    assert result.exit_code == 2
    assert_names(result.stderr, "Traceback")
    assert_names(result.stderr, "nothing")


@pytest.mark.parametrize(
    ("error", "code", "named"),
    [
        (ZeroDivisionError("by nought"), 3, "ZeroDivisionError"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (gs.PolicyError("broken"), 1, "broken"),
    ],
)
def test_other_errors_have_codes_of_their_own(call, monkeypatch, error, code, named):
    def fail(*_):
        raise error

    monkeypatch.setattr(gs, "device_names", fail)
    assert_names(call("devices", code=code).stderr, named)
    error_document = json.loads(call("devices", "--json", code=code).stdout)["error"]
    assert error_document["exit_code"] == code
    assert_names(error_document["message"], named)


UNWRITABLE = [
    ("gpushare.compare", "compare pair.toml --html"),
    ("gpushare.compare", "compare pair.toml --perfetto"),
    ("gpushare.compare", "compare pair.toml --save"),
    ("gpushare.run", "schedule pair.toml --policy srtf --plot"),
    ("gpushare.run", "schedule pair.toml --policy srtf --perfetto"),
    ("gpushare.reproduce.reproduce", "reproduce srtf --html"),
    ("gpushare.reproduce.reproduce", "reproduce srtf --markdown"),
]


@pytest.mark.parametrize(("work", "command"), UNWRITABLE)
def test_a_path_that_cannot_be_written_is_refused_before_the_work(call, monkeypatch, work, command):
    monkeypatch.setattr(work, lambda *_, **__: pytest.fail("it ran"))
    assert_names(call(*command.split(), "nowhere/x", code=2).stderr, "nowhere/x", "nowhere")


def test_a_plot_of_an_unknown_kind_is_refused_before_the_run(call, monkeypatch):
    monkeypatch.setattr(gs, "run", lambda *_, **__: pytest.fail("it ran"))
    assert "must end in one of" in call("schedule", "pair.toml", "--policy", "srtf", "--plot", "run.xyz", code=2).stderr


@pytest.mark.parametrize(
    ("read", "command"),
    [
        ("pair.toml", "compare ercbench ./pair.toml --html"),
        ("pair.toml", "schedule pair.toml --policy srtf --trace"),
        ("h100.toml", "compare pair.toml --device h100.toml --save"),
        ("r.gpushare", "report r.gpushare --html"),
        ("k.ptx", "compile k.ptx --out"),
    ],
)
def test_a_file_that_is_read_is_not_written_over(call, read, command):
    pathlib.Path(read).touch()
    before = pathlib.Path(read).read_bytes()
    link = pathlib.Path("link" + pathlib.Path(read).suffix)
    link.symlink_to(read)
    for same in (read, f"./{read}", link):
        assert_names(call(*command.split(), str(same), code=2).stderr, pathlib.Path(same).name, "reads")
    assert pathlib.Path(read).read_bytes() == before


@pytest.mark.parametrize("json_or_table", [["--json"], []])
@pytest.mark.parametrize(
    ("command", "kept", "lost"),
    [
        ("compare pair.toml --policies fifo", "--html", "--save"),
        ("schedule pair.toml --policy srtf", "--plot", "--trace"),
    ],
)
def test_a_file_that_fails_after_the_work_costs_nothing_else(call, monkeypatch, command, kept, lost, json_or_table):
    function = "run" if command.startswith("schedule") else "compare"
    work = getattr(gs, function)

    def run_and_remove(*arguments, **choices):
        pathlib.Path("gone").rmdir()
        return work(*arguments, **choices)

    pathlib.Path("gone").mkdir()
    monkeypatch.setattr(gs, function, run_and_remove)
    result = call(*command.split(), kept, "kept.svg", lost, "gone/lost", *json_or_table, code=2)
    assert_names(result.stderr, "gone/lost")
    assert pathlib.Path("kept.svg").is_file()
    if json_or_table:
        assert list(json.loads(result.stdout)["files"]) == [kept.removeprefix("--")]
    else:
        assert ("fifo" if "compare" in command else "turnaround") in result.stdout


def test_the_end_of_a_plots_name_may_be_in_capitals(call):
    call("schedule", "pair.toml", "--policy", "srtf", "--plot", "x.PNG")
    assert pathlib.Path("x.PNG").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", ["svg", "pdf"])
def test_equal_runs_give_equal_pictures(call, monkeypatch, kind):
    for number in ("1", "2"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", 9 * number)  # what Matplotlib takes for the date
        call("schedule", "pair.toml", "--policy", "srtf", "--plot", f"{number}.{kind}")
    assert pathlib.Path(f"1.{kind}").read_bytes() == pathlib.Path(f"2.{kind}").read_bytes()


def command_line(*arguments, **environment):
    command = [sys.executable, "-m", "gpushare", *arguments]
    return subprocess.run(command, capture_output=True, env=os.environ | environment, timeout=60)


def test_a_name_that_the_terminal_cannot_show(command_folder):
    file = command_folder / "pair.toml"
    file.write_text(file.read_text().replace('"long"', '"läng"'), encoding="utf-8")
    run = command_line("schedule", "pair.toml", "--policy", "srtf", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (run.returncode, run.stderr) == (0, b"")
    assert b"l\\xe4ng" in run.stdout


def test_doctor_without_a_stdout():
    command = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "gpushare", "doctor"]
    run = subprocess.run(command, capture_output=True, timeout=60)
    something_is_broken = 4  # on this machine, which is for doctor to say
    assert run.returncode in (0, something_is_broken)
    assert run.stderr == b""


@pytest.mark.parametrize(
    "line", ["schedule pair.toml --policy srtf --plot x.png", "compare pair.toml --html x", "demo"]
)
def test_an_unknown_backend_of_matplotlib_is_named(line):
    run = command_line(*line.split(), MPLBACKEND="nonsense")
    assert run.returncode == 2
    assert run.stderr.startswith(b"gpushare: MPLBACKEND=nonsense: unset it, or name another: ")


def test_what_a_policy_raises_need_not_be_text(call, tmp_path):
    (tmp_path / "odd.py").write_text(POLICY_THAT_RAISES_NO_TEXT)
    line = ["compare", "pair.toml", "--policies", "fifo,odd.py:Odd", "--json", "--html", "x.html"]
    result = call(*line, code=1)
    assert json.loads(result.stdout)["errors"]["Odd"].startswith("policy 'Odd' raised RuntimeError: x\udc80y")
    assert "x\\udc80y" in (tmp_path / "x.html").read_text(encoding="utf-8")


POLICY_THAT_RAISES_NO_TEXT = """\
import gpushare as gs

class Odd(gs.Policy):
    def decide(self, state):
        raise RuntimeError("x\\udc80y")
"""
