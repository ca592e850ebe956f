# SPDX-License-Identifier: Apache-2.0
"""``gpushare report`` opens files of earlier runs, ``gpushare diff`` sets two results side by side."""

import json
import math
import pathlib
import zipfile
from dataclasses import replace

import pytest
from messages import assert_names, raises_naming

import gpushare as gs
from gpushare.daemon.worker.history import Past, PastJob
from gpushare.daemon.worker.history_trace import history_trace
from gpushare.programs.report import Launches, ProgramReport
from gpushare.results.difference import Change, difference
from gpushare.results.result import Result

pytestmark = pytest.mark.usefixtures("command_folder")


@pytest.fixture
def saved(pair):
    """Saves a comparison of these policies under this name and returns it."""

    def save(name, *policies, **choices):
        result = gs.compare(pair, policies, **choices)
        result.save(name)
        return result

    return save


def document(call, *line):
    return json.loads(call(*line, "--json").stdout)


def rewritten(old, new, **changes):
    """A copy of a saved result with other values in its description."""
    with zipfile.ZipFile(old) as archive:
        content = json.loads(archive.read("result.json")) | changes
    with zipfile.ZipFile(new, "w") as archive:
        archive.writestr("result.json", json.dumps(content))


def test_a_result_is_shown_as_it_was_compared(call):
    compared = call("compare", "pair.toml", "--policies", "fifo,srtf", "--save", "r.gpushare").stdout
    assert call("report", "r.gpushare").stdout == compared
    found = document(call, "report", "r.gpushare", "--html", "r.html", "--perfetto", "r.pftrace")
    assert found["files"] == {"html": "r.html", "perfetto": "r.pftrace"}
    assert pathlib.Path("r.html").stat().st_size > 1000
    assert found["metrics"].keys() == {"fifo", "srtf"}


def test_a_result_with_a_failed_policy(call, saved):
    saved("r.gpushare", "fifo", type("Odd", (gs.Policy,), {})())
    result = call("report", "r.gpushare", code=1)
    assert "fifo" in result.stdout
    assert_names(result.stderr, "Odd")


def test_a_servers_trace(call):
    jobs = [PastJob("a", "k", 1_100, 1_200, 1_500, False), PastJob("b", "m", 1_300, None, None, False)]
    past = Past(jobs, [], []).until(1_700)
    pathlib.Path("s.pftrace").write_bytes(history_trace("sim:x", past, [], (1_000, 1_700)))
    assert document(call, "report", "s.pftrace")["applications"] == [
        {"application": "a", "jobs": 1, "waiting_ns": 100, "running_ns": 300},
        {"application": "b", "jobs": 0, "waiting_ns": 400, "running_ns": 0},
    ]
    assert_names(call("report", "s.pftrace").stdout, "sim:x", "a", "300 ns")
    assert_names(call("report", "s.pftrace", "--html", "x.html", code=2).stderr, "s.pftrace")


def test_a_programs_report(call):
    launches = [Launches("saxpy", 3, 0.5)]
    one = ProgramReport("train", 2.0, 3, 0.5, 0.1, 0.0, 0, 0, 0, {}, 1.0, [], 1, launches, launches, launches)
    pathlib.Path("p.json").write_text(json.dumps(one.to_dict()))
    assert document(call, "report", "p.json")["program"] == one.to_dict()
    assert_names(call("report", "p.json").stdout, "saxpy", "500.000 ms")


FOREIGN = {
    "text": b"hello",
    "empty": b"",
    "no zip": b"PK nothing",
    "json": b'{"a": 1}',
    "no json": b"{",
    "deep": b'{"a":' + b"[" * 100_000,
    "protobuf": b"\x0a\x02\x08\x01",
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN.keys())
@pytest.mark.parametrize("command", ["report x", "diff x x"])
def test_foreign_files(call, command, content):
    pathlib.Path("x").write_bytes(content)
    assert_names(call(*command.split(), code=2).stderr, "x")


def test_a_file_that_is_not_there(call):
    assert_names(call("report", "gone", code=2).stderr, "gone")
    assert_names(call("diff", "gone", "gone", code=2).stderr, "gone")


def test_equal_results_have_no_difference(call, saved):
    saved("r.gpushare", "fifo", "srtf")
    found = document(call, "diff", "r.gpushare", "r.gpushare")
    assert found["notes"] == []
    changes = [change for metrics in found["policies"].values() for change in metrics.values()]
    assert {(change["ratio"], change["change"]) for change in changes} == {(1.0, "equal")}


def test_metrics_side_by_side(call, saved, pair):
    old = saved("old.gpushare", "fifo", "even")
    new = saved("new.gpushare", "srtf", "fifo", seed=3, device="sim:k20")
    found = document(call, "diff", "old.gpushare", "new.gpushare")
    assert found["workloads"] == [pair.name]
    assert list(found["policies"]) == ["fifo"]
    antt = found["policies"]["fifo"]["antt"]
    assert (antt["old"], antt["new"]) == (old.metrics().at["fifo", "antt"], new.metrics().at["fifo", "antt"])
    assert antt["ratio"] == antt["new"] / antt["old"]
    assert_names("\n".join(found["notes"]), "even", "srtf", "k20", "gtx480", 3)
    result = call("diff", "old.gpushare", "new.gpushare")
    assert_names(result.stdout, "fifo", "STP", "ANTT", "old.gpushare")
    assert_names(result.stderr, "even", "srtf")


def test_results_without_anything_in_common(call, saved):
    saved("old.gpushare", "fifo")
    saved("new.gpushare", "srtf")
    assert_names(call("diff", "old.gpushare", "new.gpushare", code=2).stderr, "policy", "fifo", "srtf")


def test_another_format_is_refused_and_another_version_noted(call, saved):
    saved("r.gpushare", "fifo")
    rewritten("r.gpushare", "later.gpushare", format=99, gpushare="9.9")
    assert_names(call("diff", "r.gpushare", "later.gpushare", code=2).stderr, "later.gpushare", "9.9", 99)
    rewritten("r.gpushare", "other.gpushare", gpushare="0.0.9", runs=traceless("r.gpushare"))
    assert_names(call("diff", "r.gpushare", "other.gpushare").stderr, "0.0.9", gs.__version__)


def traceless(path):
    with zipfile.ZipFile(path) as archive:
        return [run | {"trace": None} for run in json.loads(archive.read("result.json"))["runs"]]


def test_another_workload_of_the_same_name(pair):
    first, second = pair.applications
    other = replace(pair, applications=(replace(first, arrival_ns=first.arrival_ns + 1000), second))
    found = difference(gs.compare(pair, ["fifo"]), gs.compare(other, ["fifo"]))
    assert_names("\n".join(found.notes), pair.name)


def test_a_result_in_which_no_policy_ran():
    with raises_naming(gs.InvalidInput, "workload", "none"):
        difference(Result([]), Result([]))


@pytest.mark.parametrize(
    ("metric", "old", "new", "words"),
    [
        ("stp", 1.0, 1.1, "better"),
        ("antt", 1.0, 1.1, "worse"),
        ("antt", 1.1, 1.0, "better"),
        ("stp", 1.0, 1.0001, ""),
        ("to_host_utilisation", 0.0, 0.5, ""),
        ("to_host_utilisation", 0.0, 0.0, ""),
        ("board_joules", math.nan, 1.0, ""),
    ],
)
def test_the_direction_of_a_change(metric, old, new, words):
    assert Change("fifo", metric, old, new).words == words
