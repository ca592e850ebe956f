# SPDX-License-Identifier: Apache-2.0
"""The command line: tables or one JSON document on stdout, the rest on stderr, and exit codes that mean something."""

import json
import math
import os
import pathlib
import subprocess
import sys

import click
import numpy as np
import pytest
from messages import assert_names

import gpushare as gs
from gpushare import _core
from gpushare.backends.baselines import BASELINES
from gpushare.cli import COMMANDS, main
from gpushare.cli.output import print_json

pytestmark = pytest.mark.usefixtures("command_folder")


@pytest.fixture
def document(call):
    """Runs a command line with --json and returns the one document on stdout."""
    return lambda *arguments, code=0: json.loads(call(*arguments, "--json", code=code).stdout)


def test_version(call):
    assert call("--version").stdout == f"gpushare, version {gs.__version__}\n"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_has_examples(call, command):
    text = call(*command.split(), "--help").stdout
    assert "gpushare " in text
    assert "\\b" not in text
    assert "\n    gpushare " in text
    assert command == "" or "Examples:" in text
    assert all(f"\n  {name}" in text for name in COMMANDS) or command


def test_every_command_but_serve_takes_json():
    commands = {name: main.get_command(click.Context(main), name) for name in COMMANDS}
    groups = [each.commands if isinstance(each, click.Group) else {name: each} for name, each in commands.items()]
    takes = {
        name: "--json" in [text for each in command.params for text in each.opts]
        for commands in groups
        for name, command in commands.items()
    }
    assert [name for name in takes if not takes[name]] == ["serve"]


def test_policies(call, document):
    assert [each["name"] for each in document("policies")["hardware"]] == list(BASELINES)
    listed = document("policies")["policies"]
    assert [each["name"] for each in listed] == [entry.name for entry in gs.policies()]
    assert {each["name"] for each in listed if each["oracle"]} == {"sjf", "ljf", "srtf-zero-sampling"}
    table = call("policies").stdout
    assert all(each["name"] in table and each["summary"] in table for each in listed)
    assert all(name in table.partition("on a GPU also")[2] for name in BASELINES)
    orderings = document("policies")["orderings"]
    assert [each["name"] for each in orderings][:3] == ["arrival", "strings", "cumas"]
    assert all(each["summary"] in table.partition("before a policy's name")[2] for each in orderings)
    assert "on simulated devices" not in table  # a GPU has them, too


def test_devices(call, document):
    assert [each["name"] for each in document("devices")["devices"]] == gs.device_names()
    assert document("devices", "sim:k20")["device"]["sms"] == 13
    assert all(f"sim:{name}" in call("devices").stdout for name in gs.device_names())
    assert "to_device.bandwidth_gb_per_s" in call("devices", "h100").stdout


def test_workloads(call, document):
    _, _, ercbench, slate, suite, suite_pair = document("workloads")["workloads"]
    assert slate["device"] == "titan-xp"
    assert ercbench["device"] == "gtx480"
    assert len(ercbench["applications"]) == 8
    assert suite["device"] == suite_pair["device"] == "cuda:0"
    assert suite_pair["applications"] == ["long", "short"]
    assert gs.Workload.from_toml(ercbench["file"]) == gs.bundled_workload("ercbench")
    assert "RayTracing" in call("workloads").stdout


def test_compare_prints_what_python_computes(document):
    found = document("compare", "pair.toml", "--policies", "fifo,srtf,sjf", "--repeats", "2", "--seed", "4")
    result = gs.compare(gs.Workload.from_toml("pair.toml"), ["fifo", "srtf", "sjf"], repeats=2, seed=4)
    assert found["policies"] == ["fifo", "srtf", "sjf"]
    assert found["oracles"] == ["sjf"]
    assert found["winner"] == "srtf"
    assert found["metrics"] == result.metrics().to_dict(orient="index")
    assert len(found["per_workload"]) == 3
    assert len(found["applications"]) == 3 * 2 * 2
    assert found["errors"] == {}


def test_compare_marks_the_best_realizable_policy(call):
    lines = call("compare", "pair.toml", "--policies", "fifo,srtf,sjf").stdout.splitlines()
    rows = {line.split()[0]: line for line in reversed(lines) if line.strip()}
    metrics = gs.compare(gs.Workload.from_toml("pair.toml"), ["fifo", "srtf"]).metrics()
    assert f"{metrics.loc['srtf', 'stp']:.3f} *" in rows["srtf"]
    assert "*" not in rows["sjf"]
    assert "(oracle)" in rows["sjf"]
    assert any(line.startswith("srtf wins (shortest predicted") for line in lines)


CHATTY = """
import gpushare as gs
print("imported")

class Chatty(gs.Policy):
    def __init__(self):
        print("made")

    def decide(self, state):
        print("decides")
        return gs.Plan({launch: state.full_quota(launch) for launch in state.running})
"""


@pytest.mark.parametrize(
    "command", ["schedule pair.toml --policy chatty.py", "compare pair.toml --policies fifo,chatty.py"]
)
def test_what_a_policy_prints_stays_out_of_the_document(call, command):
    pathlib.Path("chatty.py").write_text(CHATTY)
    result = call(*command.split(), "--json")
    assert json.loads(result.stdout)["errors"] == {}
    assert all(word in result.stderr for word in ("imported", "made", "decides"))
    assert "decides" in call(*command.split()).stdout


def test_compare_pairs(document):
    found = document("compare", "ercbench", "--pairs", "--policies", "fifo,srtf")
    assert len(found["workloads"]) == 56
    assert found["devices"] == ["gtx480"]


def test_compare_several_workloads_on_another_device(document):
    found = document("compare", "pair.toml", "ercbench", "--policies", "even", "--device", "sim:k20")
    assert found["workloads"] == ["pair", "ercbench"]
    assert found["devices"] == ["k20"]


def test_compare_writes_files(document):
    files = ["--html", "r.html", "--perfetto", "r.pftrace", "--save", "r.gpushare"]
    found = document("compare", "pair.toml", "--policies", "fifo,srtf", *files)
    assert found["files"] == {"html": "r.html", "perfetto": "r.pftrace", "save": "r.gpushare"}
    assert "<html" in pathlib.Path("r.html").read_text(encoding="utf-8")
    assert pathlib.Path("r.pftrace").stat().st_size > 1000
    loaded = gs.Result.load("r.gpushare")
    assert loaded.metrics().to_dict(orient="index") == found["metrics"]


def test_a_policy_of_ones_own(document):
    found = document("compare", "pair.toml", "--policies", "fifo,mine.py:LatestFirst")
    assert found["policies"] == ["fifo", "LatestFirst"]
    assert found["metrics"]["LatestFirst"] != found["metrics"]["fifo"]
    assert document("schedule", "pair.toml", "--policy", "mine.py:LatestFirst")["policy"] == "LatestFirst"


def test_a_failing_policy_is_exit_code_1_and_the_rest_is_printed(call, document):
    arguments = ["compare", "pair.toml", "--policies", "fifo,mine.py:Fails"]
    result = call(*arguments, code=1)
    assert_names(result.stderr, "Fails", "RuntimeError", "not today")
    assert "fifo" in result.stdout
    found = document(*arguments, code=1)
    assert found["errors"].keys() == {"Fails"}
    assert found["metrics"].keys() == {"fifo"}
    assert document("compare", "pair.toml", "--policies", "mine.py:Fails", code=1)["errors"].keys() == {"Fails"}
    assert document("schedule", "pair.toml", "--policy", "mine.py:Fails", code=1)["errors"].keys() == {"Fails"}


def test_run(call, document):
    found = document("schedule", "pair.toml", "--policy", "srtf", "--seed", "3")
    run = gs.run(gs.Workload.from_toml("pair.toml"), "srtf", seed=3)
    assert found["metrics"] == run.metrics()
    assert found["applications"] == run.applications().to_dict(orient="records")
    assert (found["device"], found["seed"]) == ("gtx480", 3)
    table = call("schedule", "pair.toml", "--policy", "srtf", "--seed", "3").stdout
    assert "short" in table
    assert f"{run.metrics()['antt']:.3f}" in table


def test_run_writes_files(document):
    files = ["--perfetto", "r.pftrace", "--plot", "r.png", "--trace", "r.trace"]
    found = document("schedule", "pair.toml", "--policy", "srtf", *files)
    assert found["files"] == {"perfetto": "r.pftrace", "plot": "r.png", "trace": "r.trace"}
    assert pathlib.Path("r.png").read_bytes().startswith(b"\x89PNG")
    trace = _core.Trace.from_bytes(pathlib.Path("r.trace").read_bytes())
    assert trace == gs.run(gs.Workload.from_toml("pair.toml"), "srtf").trace


def test_demo(call):
    result = call("demo", "--policies", "fifo,srtf,sjf")
    files = {path.suffix: path for path in pathlib.Path("gpushare-report").iterdir()}
    assert files.keys() == {".html", ".pftrace", ".gpushare"}
    assert all(str(path) in result.stderr for path in files.values())
    assert_names(result.stderr, "ui.perfetto.dev")
    assert "srtf wins" in result.stdout
    assert files[".pftrace"].name.endswith("-srtf.pftrace")
    loaded = gs.Result.load(files[".gpushare"])
    assert len(loaded.workloads) == 56
    # 50 cycles of the device's clock.
    assert {run.workload.applications[1].arrival_ns for run in loaded.runs} == {36}


def test_demo_as_json(document):
    found = document("demo", "--policies", "fifo,srtf", "--device", "sim:k20", "--out", "out")
    assert found["devices"] == ["k20"]
    assert found["files"]["html"] == "out/report.html"
    assert all(pathlib.Path(path).is_file() for path in found["files"].values())


def test_reproduce(call, document, monkeypatch):
    import pandas as pd

    from gpushare import reproduce
    from gpushare.reproduce.reproduction import Reproduction, Section

    asked = []

    def quickly(paper, **how):
        asked.append((paper, how))
        return Reproduction("A paper", (Section("Table <5>", pd.DataFrame({"stp": [1.5]}, ["srtf"]), "a note"),))

    monkeypatch.setattr(reproduce, "reproduce", quickly)
    assert "Table <5>" in call("reproduce", "srtf", "--quick", "--html", "page.html").stdout
    assert asked == [("srtf", {"seeds": None, "quick": True, "device": None})]
    assert "Table &lt;5&gt;" in pathlib.Path("page.html").read_text(encoding="utf-8")
    assert document("reproduce", "srtf")["sections"][0]["rows"] == [{"index": "srtf", "stp": 1.5}]
    assert asked[1] == ("srtf", {"seeds": None, "quick": False, "device": None})
    call("reproduce", "slate", "--device", "sim:h100", "--seeds", "3", "--markdown", "page.md")
    assert asked[2] == ("slate", {"seeds": 3, "quick": False, "device": "sim:h100"})
    assert "## Table <5>\n\n|  | stp |" in pathlib.Path("page.md").read_text(encoding="utf-8")


def test_as_a_process_of_its_own():
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(gs.__file__).parents[1])}
    program = "from gpushare.cli import COMMANDS, main; main(prog_name='gpushare')"
    command = [sys.executable, "-W", "error", "-c", program]
    good = subprocess.run(
        [*command, "compare", "pair.toml", "--json"], env=environment, capture_output=True, check=False
    )
    assert (good.returncode, good.stderr) == (0, b"")
    assert json.loads(good.stdout)["policies"] == [entry.name for entry in gs.policies()]
    bad = subprocess.run(
        [*command, "schedule", "x", "--policy", "fifo"], env=environment, capture_output=True, check=False
    )
    assert (bad.returncode, bad.stdout) == (2, b"")
    assert bad.stderr.startswith(b"gpushare: no workload 'x'")


def test_what_is_not_finite_is_null_in_json(capsys):
    print_json({"known": 1.5, "others": (math.inf, [-math.inf, np.float64("inf")], {"nan": math.nan})})
    assert json.loads(capsys.readouterr().out) == {"known": 1.5, "others": [None, [None, None], {"nan": None}]}


def test_help_is_quick_because_it_imports_little():
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(gs.__file__).parents[1])}
    program = (
        "import sys; from gpushare.cli import COMMANDS, main; main(['--help'], standalone_mode=False); "
        "print('imported:', *{'rich', 'pandas', 'matplotlib', 'pydantic', 'gpushare.cli.demo'} & sys.modules.keys())"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert output.stdout.endswith("imported:\n")


@pytest.mark.parametrize(
    "command",
    ["schedule pair.toml --policy srtf", "compare pair.toml --policies fifo,srtf"],
    ids=["schedule", "compare"],
)
def test_perfetto_to_standard_output_is_the_trace_alone(call, command):
    result = call(*command.split(), "--perfetto", "-")
    call(*command.split(), "--perfetto", "named.pftrace")
    assert result.stdout_bytes == pathlib.Path("named.pftrace").read_bytes()
    assert "STP" in result.stderr or "stp" in result.stderr
    assert not pathlib.Path("-").exists()


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("schedule pair.toml --policy srtf", "--trace"),
        ("schedule pair.toml --policy srtf", "--plot"),
        ("compare pair.toml --policies fifo,srtf", "--save"),
        ("profile", "--export"),
    ],
)
def test_a_file_on_standard_output_is_the_file_alone(call, command, option):
    names = {"--plot": "named.png"}
    result = call(*command.split(), option, "-")
    call(*command.split(), option, names.get(option, "named"))
    written = pathlib.Path(names.get(option, "named")).read_bytes()
    without_date = [
        [line for line in each.splitlines() if b"exported" not in line] for each in (result.stdout_bytes, written)
    ]
    assert without_date[0] == without_date[1] != []
    assert not pathlib.Path("-").exists()


def test_the_help_of_every_written_file_says_how_to_get_it_on_standard_output(call):
    for command, options in (
        ("compare", ["--html", "--perfetto", "--save"]),
        ("schedule", ["--perfetto", "--plot", "--trace"]),
        ("reproduce", ["--html", "--markdown"]),
        ("profile", ["--export"]),
        ("record", ["--device-file"]),
        ("validate", ["--save"]),
        ("report", ["--html", "--perfetto"]),
    ):
        text = call(command, "--help").stdout
        for option in options:
            described = " ".join(text.partition(f"{option} FILE")[2].partition("\n  -")[0].split())
            assert "- is stdout" in described, (command, option, described)


@pytest.mark.parametrize("others", [["--json"], ["--save", "-"]])
def test_standard_output_takes_one_document(call, others):
    result = call("compare", "pair.toml", "--policies", "fifo", "--perfetto", "-", *others, code=2)
    assert "the standard output takes one document" in result.stderr
