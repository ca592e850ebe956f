# SPDX-License-Identifier: Apache-2.0
"""gpushare validate without a GPU: recordings as files, the simulated half, errors, tables and plots."""

import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from messages import assert_names, raises_naming

import gpushare as gs
from gpushare.cli import main
from gpushare.fixed_parts import FixedParts, Part
from gpushare.profile import Conditions
from gpushare.validation import errors, measure
from gpushare.validation.prediction import predicted
from gpushare.validation.recording import AloneRuns, PairRuns, Recording, SoloRuns
from gpushare.validation.settings import KERNELS, Settings, alone, in_part, pair, policy_of, sm_counts

NAMES = ("nbody", "md5")
LAUNCHES = (2, 3)
WAYS = ("fifo", "even", "split:66")
H100 = gs.device("sim:h100")


def asked_for():
    """What is to be run, with times that mean nothing."""
    return Recording(
        size="large",
        sms=132,
        solo=tuple(SoloRuns("md5", *part, (1,)) for part in ((33, 0), (132, 0), (132, 2))),
        alone=tuple(AloneRuns(*each, 1, (1, 1, 1)) for each in zip(NAMES, LAUNCHES, strict=True)),
        pairs=tuple(PairRuns(NAMES, LAUNCHES, way, ((1, 1), (1, 1)), ()) for way in WAYS),
        failures=("nbody+md5: did not end",),
        conditions=Conditions("NVIDIA H100 80GB HBM3", "580", "0.1.0", "2026-11-21T06:00:00+00:00"),
    )


@pytest.fixture(scope="module")
def simulated():
    return predicted(asked_for(), H100, progress=False)


@pytest.fixture
def recorded(simulated, tmp_path):
    """A file in which everything takes a tenth longer than simulated."""

    def longer(runs):
        times = runs.turnaround_ns
        ten = tuple(tuple(round(1.1 * each) for each in time) for time in times) if isinstance(times[0], tuple) else (
            tuple(round(1.1 * time) for time in times))  # fmt: skip
        return dataclasses.replace(runs, turnaround_ns=ten)

    parts = {name: tuple(map(longer, getattr(simulated, name))) for name in ("solo", "alone", "pairs")}
    path = tmp_path / "recorded.json"
    dataclasses.replace(simulated, **parts, conditions=asked_for().conditions).save(path)
    return path


def test_a_recording_is_what_was_saved(tmp_path):
    asked_for().save(tmp_path / "some.json")
    assert Recording.load(tmp_path / "some.json") == asked_for()
    assert [path.name for path in tmp_path.iterdir()] == ["some.json"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (None, ()),
        ("{", ()),
        ("[" * 200_000, ()),
        ("[]", "gpushare validation 1"),
        ('{"format": "gpushare validation 9"}', "gpushare validation 9"),
        ('{"format": "gpushare validation 1"}', "size"),
    ],
)
def test_what_is_no_recording(tmp_path, text, named):
    path = tmp_path / "some.json"
    if text is not None:
        path.write_text(text)
    with raises_naming(gs.InvalidInput, named):
        Recording.load(path)


@pytest.mark.parametrize(
    ("part", "changes", "named"),
    [
        ("solo", {"turnaround_ns": []}, "solo.0.turnaround_ns"),
        ("solo", {"turnaround_ns": [0]}, ("solo.0.turnaround_ns", 0)),
        ("solo", {"turnaround_ns": [10**400]}, "solo.0.turnaround_ns"),
        ("solo", {"sms": 0}, ("solo.0.sms", "1..132", 0)),
        ("solo", {"sms": 133}, ("solo.0.sms", "1..132", 133)),
        ("solo", {"residency": -1}, ("solo.0.residency", "0..")),
        ("alone", {"turnaround_ns": [0, 0, 0]}, ("alone.0.turnaround_ns", 0)),
        ("alone", {"launches": 0}, ("alone.0.launches", "1..")),
        ("pairs", {"turnaround_ns": []}, "pairs.0.turnaround_ns"),
        ("pairs", {"turnaround_ns": [[1, 0]]}, ("pairs.0.turnaround_ns", 0)),
        ("pairs", {"way": "split:x"}, ("pairs.0.way", "split:N", "1..131", "split:x")),
        ("pairs", {"way": "split:132"}, ("1..131", 132, "split:132")),
    ],
)
def test_a_damaged_recording_is_refused(tmp_path, part, changes, named):
    path = tmp_path / "some.json"
    asked_for().save(path)
    content = json.loads(path.read_text())
    content[part][0].update(changes)
    path.write_text(json.dumps(content))
    with raises_naming(gs.InvalidInput, path, named):
        Recording.load(path)


def test_a_kernel_that_never_ended_alone_is_recorded_as_a_failure_only(monkeypatch):
    monkeypatch.setattr(measure, "conditions_now", lambda _: asked_for().conditions)
    recorder = measure.Recorder(SimpleNamespace(description=H100), Settings(kernels=NAMES))
    recorder._alone = [AloneRuns("nbody", 1, 1, ()), *asked_for().alone[1:]]
    recorder._pairs = list(asked_for().pairs)
    assert recorder.recording.kernels == ["md5"]
    assert recorder.recording.pairs == ()


def test_a_split_of_a_larger_gpu_is_refused():
    with raises_naming(gs.InvalidInput, "split:N", "1..14", 15, "split:66"):
        policy_of("split:66", NAMES, 15)


def test_the_simulator_foretells_itself(simulated):
    again = errors.compared(simulated, predicted(simulated, H100, progress=False))
    assert again["error"].abs().max() == 0
    assert set(again["figure"]) == set(errors.FIGURES)


def test_fewer_sms_take_longer(simulated):
    quarter, whole, thin = (each.median_ns for each in simulated.solo)
    assert 3 < quarter / whole < 4.2
    assert thin > whole


def test_errors_are_of_slowdowns():
    runs = dataclasses.replace(asked_for().pairs[0], turnaround_ns=((20, 30), (40, 30), (30, 30)))
    alone_runs = (AloneRuns("nbody", 2, 9, (10, 12, 8)), AloneRuns("md5", 3, 9, (30, 30)))
    measured = dataclasses.replace(asked_for(), alone=alone_runs, pairs=(runs,), solo=())
    simulated = dataclasses.replace(measured, pairs=(dataclasses.replace(runs, turnaround_ns=((15, 60),)),))
    assert errors.slowdowns(runs, measured) == [3, 1]  # medians: 30 / 10, 30 / 30
    table = errors.compared(measured, simulated).set_index("figure")
    assert table.loc["STP", "measured"] == pytest.approx(1 / 3 + 1)
    assert table.loc["STP", "simulated"] == pytest.approx(10 / 15 + 30 / 60)
    assert table.loc["ANTT", "error"] == pytest.approx((1.5 + 2) / (3 + 1) - 1)


def test_parts_are_kept_to():
    workload = pair(NAMES, (1, 1), "large")
    run = gs.run(workload, policy_of("split:40", NAMES, 132), device="sim:h100")
    sms = run.blocks().groupby("application")["sm"].agg(["min", "max"])
    assert sms.loc["nbody"].tolist() == [0, 39]
    assert sms.loc["md5"].tolist() == [40, 131]
    thin = gs.run(alone("md5", "large"), in_part("md5", 10, 1), device="sim:h100").blocks()
    assert thin["sm"].max() == 9
    for _, blocks in thin.sort_values("start_ns").groupby("sm"):
        assert (blocks["start_ns"].to_numpy()[1:] >= blocks["end_ns"].to_numpy()[:-1]).all()


def test_parts_never_ask_for_more_than_fits():
    workload = alone("md5", "large")
    assert gs.run(workload, FixedParts("all", {"md5": Part(0, 132, 99)}), device="sim:h100").record.ends[0] > 0


def test_settings():
    settings = Settings(kernels=NAMES, splits=(44, 132, 140))
    assert settings.ways(132) == ["fifo", "mpmax", "even", "srtf", "split:44"]
    assert settings.launches(2_000_000) == 3
    assert len(KERNELS) == len(set(KERNELS)) >= 14
    assert sm_counts(132)[-1] == 132
    for wrong in ({"kernels": ("nobody",)}, {"kernels": ()}, {"kernels": ("md5", "md5")}, {"splits": (0,)}):
        with pytest.raises(gs.InvalidInput):
            Settings(**wrong)


def validate(*arguments, code=0):
    result = CliRunner().invoke(main, ["validate", *arguments])
    assert result.exit_code == code, result.output
    return result


def test_the_command_says_how_far_off_it_is(recorded, tmp_path):
    printed = validate("--from", str(recorded), "--output", str(tmp_path / "out")).stdout
    assert "sim:h100 against NVIDIA H100 80GB HBM3" in printed
    assert "split:66" in printed
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"points.csv", "errors.png", "solo_sms.png", "solo_residency.png", "stp.png", "antt.png"}
    assert all((tmp_path / "out" / name).stat().st_size > 100 for name in names)


def test_the_command_as_json(recorded):
    document = json.loads(validate("--from", str(recorded), "--json").stdout)
    assert document["kernels"] == list(NAMES)
    solo = document["figures"][errors.SOLO_SMS]
    assert solo["points"] == 2
    assert solo["median"] == pytest.approx(1 - 1 / 1.1, abs=1e-3)
    assert solo["bias"] < 0
    assert document["figures"]["STP"]["worst"] == pytest.approx(0, abs=1e-3)  # slowed alike, alone and shared
    assert len(document["by_way"]) == 3 + 2 * len(WAYS)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--record-only"], ("--record-only", "--save")),
        (["--from", "x.json", "--save", "y.json"], "--save"),
        (["--from", "x.json"], ()),
        (["--from", "x.json", "--size", "large", "--repeats", "2"], ("--size", "--repeats")),
        (["--from", "x.json", "--device", "cuda:1"], "--device"),
        (["--splits", "a"], "--splits"),
        (["--kernels", "nobody"], "nobody"),
    ],
)
def test_what_the_command_refuses(arguments, named, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUSHARE_LIBCUDA", "/nowhere/libcuda.so.1")
    assert_names(validate(*arguments, code=2).stderr, named)


ENDLESS = """
import signal
import gpushare as gs
from gpushare.profile import Conditions
from gpushare.validation import settings
from gpushare.validation.prediction import predicted
from gpushare.validation.recording import AloneRuns, Recording

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
launch = gs.Launch(gs.KernelModel("k", threads=64, latency_ns=1000), 2**40)
endless = gs.Workload("endless", [gs.Application("a", [launch])])
settings.alone = lambda *_: print("started", flush=True) or endless
asked_for = Recording("large", 132, (), (AloneRuns("a", 1, 1, (1,)),), (), (), Conditions("", "", "", ""))
predicted(asked_for, gs.device("sim:h100"))
"""


def test_ctrl_c_ends_a_case_that_would_take_for_ever():
    command = [sys.executable, "-c", ENDLESS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "started\n"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "KeyboardInterrupt" in errors


@pytest.mark.parametrize(("output", "named"), [("file/below", ()), ("taken", "points.csv")])
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(recorded, monkeypatch, tmp_path, output, named):
    (tmp_path / "file").touch()
    (tmp_path / "taken" / "points.csv").mkdir(parents=True)
    monkeypatch.setattr("gpushare.cli.tables.validation.predicted", lambda *_: pytest.fail("it ran"))
    said = validate("--from", str(recorded), "--output", str(tmp_path / output), code=2)
    assert_names(said.stderr, named)
    assert said.stdout == ""


@pytest.mark.parametrize("json_or_table", [["--json"], []])
def test_a_file_that_fails_after_the_work_costs_nothing_else(recorded, simulated, monkeypatch, tmp_path, json_or_table):
    monkeypatch.setattr("gpushare.cli.tables.validation.predicted", lambda *_: simulated)
    monkeypatch.setattr(os, "fchmod", lambda *_: raise_full())
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "errors.png").write_text("before")  # it alone has a mode to keep
    said = validate("--from", str(recorded), "--output", str(folder), *json_or_table, code=2)
    assert_names(said.stderr, "errors.png")
    assert (folder / "errors.png").read_text() == "before"
    assert "points.csv" in {path.name for path in folder.iterdir()}
    if json_or_table:
        assert str(folder / "stp.png") in json.loads(said.stdout)["files"]
    else:
        assert "sim:h100 against NVIDIA H100 80GB HBM3" in said.stdout


def raise_full():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_kernel_without_a_profile_is_named(recorded, monkeypatch, tmp_path):
    from gpushare.profile import lookup

    monkeypatch.setattr(lookup, "_shipped_by_key", dict)
    monkeypatch.setenv("GPUSHARE_PROFILES", str(tmp_path / "none.sqlite"))
    assert "there is no profile of it" in validate("--from", str(recorded), code=2).stderr
