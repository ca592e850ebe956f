# SPDX-License-Identifier: Apache-2.0
"""gpushare profile without a GPU: what it lists, writes and reads, and what it says where it cannot measure."""

import importlib
import json
import pathlib
import shlex
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from click.testing import CliRunner
from messages import assert_names

import gpushare as gs
from gpushare.cli import main
from gpushare.model.workload import bundled_workload
from gpushare.profile import Conditions, CopyCurve, DeviceProfile, KernelProfile
from gpushare.profile.store import ProfileStore
from gpushare.profile.toml_export import ProfileFile, write_profiles
from gpushare.profiling.targets import of_suite, of_workload

ROOT = pathlib.Path(__file__).parents[2]
CONDITIONS = Conditions("NVIDIA Nothing", "580", "0.1.0", "2026-11-21T06:00:00+00:00")
FITTED = replace(CONDITIONS, gpushare="fitted")
PROFILE = KernelProfile(
    kernel="scale",
    source_hash="00",
    entry="scale",
    block=(256, 1, 1),
    grid=(64, 1, 1),
    shared_bytes=0,
    registers=16,
    static_shared_bytes=0,
    residency=8,
    alone_ns=(5000, 5200, 5100),
    conditions=CONDITIONS,
    refusal="a cluster",
    no_counters="no counters: the driver lets only administrators read counters",
    no_energy="no energy: NVML says: Not Supported",
)
DEVICE = DeviceProfile(4, (CopyCurve("to_device", "pinned", 3, (1024, 2048), (9000, 9100), (2000, 2100)),), CONDITIONS)
SOURCE = 'extern "C" __global__ void scale(float* x) { x[threadIdx.x] *= 2; }\n'


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUSHARE_PROFILES", str(tmp_path / "profiles.sqlite"))
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GPUSHARE_LIBCUDA", "/nowhere/libcuda.so.1")
    write_profiles(tmp_path / "some.toml", ProfileFile((PROFILE,), (DEVICE,)))
    (tmp_path / "scale.cu").write_text(SOURCE)
    return tmp_path


def profile(*arguments, code=0):
    result = CliRunner().invoke(main, ["profile", *arguments])
    assert result.exit_code == code, result.output
    return result


def test_a_fit_does_not_undo_what_was_measured_meanwhile(monkeypatch):
    profile("--import", "some.toml")
    newer = replace(CONDITIONS, date="2026-11-22T06:00:00+00:00")

    def fit_while_somebody_measures(before):
        ProfileStore().save(replace(before, conditions=newer))
        return replace(before, conditions=FITTED)

    monkeypatch.setattr("gpushare.cli.profile.with_fit", fit_while_somebody_measures)
    said = profile("--fit").stderr
    assert [each.conditions for each in (*ProfileStore().kernels(), *ProfileStore().devices())] == [newer, newer]
    assert "2 were measured again meanwhile" in said


def test_a_fit_is_kept(monkeypatch):
    profile("--import", "some.toml")
    monkeypatch.setattr("gpushare.cli.profile.with_fit", lambda each: replace(each, conditions=FITTED))
    assert "meanwhile" not in profile("--fit").stderr
    assert [each.conditions for each in (*ProfileStore().kernels(), *ProfileStore().devices())] == [FITTED, FITTED]


def test_list_of_nothing(folder):
    assert f"the store is {folder / 'profiles.sqlite'}" in profile("--list").stdout.replace("\n", "")


def test_import_list_export(folder):
    imported = profile("--import", "some.toml")
    assert_names(imported.stderr, 1)
    listed = profile("--list")
    assert all(word in listed.stdout for word in ("scale", "NVIDIA Nothing", "256x1x1", "5.100 us", "whole", "pinned"))
    assert "only administrators" in listed.stderr
    document = json.loads(profile("--list", "--json").stdout)
    assert document["kernels"][0]["refusal"] == "a cluster"
    assert document["devices"][0]["copies"][0]["bytes"] == [1024, 2048]
    profile("--export", "again.toml")
    bodies = [(folder / name).read_text().split("[[", 1)[1] for name in ("some.toml", "again.toml")]
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize("wrong", ["alone_ns = []", f"registers = 1{'0' * 400}"])
def test_what_could_not_be_listed_is_not_imported(folder, wrong):
    name = wrong.split()[0]
    lines = [wrong if line.startswith(f"{name} =") else line for line in (folder / "some.toml").read_text().split("\n")]
    (folder / "wrong.toml").write_text("\n".join(lines))
    assert_names(profile("--import", "wrong.toml", code=2).stderr, "wrong.toml", 1, name)
    assert "no profiles to show" in profile("--list").stdout


@pytest.mark.parametrize("line", ["profile --list", "profile --fit", "compare suite_pair --device sim:h100"])
def test_a_damaged_store_is_named(call, folder, line):
    profile("--import", str(ROOT / "python" / "gpushare" / "profiles" / "h100.toml"))
    with closing(sqlite3.connect(folder / "profiles.sqlite")) as store, store:
        store.execute("UPDATE kernels SET document = '{'")
    assert_names(call(*line.split(), code=2).stderr, "profiles.sqlite")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], ()),
        (["--suite", "triad"], "NVIDIA"),
        (["--suite", "nope"], ("nope", "triad")),
        (["--suite", "--workload", "suite"], ()),
        (["scale.cu"], ("scale.cu", "-k")),
        (["scale.cu", "-k", "scale", "--block", "256"], "--grid"),
        (["scale.cu", "-k", "scale", "--grid", "4,x", "--block", "256"], "--grid"),
        (["scale.cu", "-k", "scale", "--grid", "4", "--block", "256", "--arg", "float"], "--arg"),
        (["scale.cu", "-k", "scale", "--grid", "4", "--block", "2560"], 2560),
        (["scale.cu", "other.cu", "-k", "scale"], ()),
        (["--suite", "--grid", "4"], ("--grid", "KERNEL.cu")),
        (["missing.cu", "-k", "k", "--grid", "1", "--block", "1"], "missing.cu"),
        (["--workload", "ercbench"], ()),
        (["--import", "missing.toml"], "missing.toml"),
        (["--suite", "--device", "sim:h100"], ()),
    ],
)
def test_what_cannot_be_done(arguments, named):
    assert_names(profile(*arguments, code=2).stderr, named)


def test_argument_of_a_file_is_read(folder):
    argument = '{array = "zeros", dtype = "float32", shape = [256]}'
    said = profile("scale.cu", "-k", "scale", "--grid", "1", "--block", "256", "--arg", argument, code=2).stderr
    assert "no NVIDIA driver" in said


def shown(text):
    """The command of an example that profiles a file of CUDA C++."""
    (line,) = [line for line in text.replace("\\\n", " ").splitlines() if "profile saxpy.cu" in line]
    return shlex.split(line)[2:]


@pytest.mark.parametrize("place", ["docs", "help"])
def test_the_example_with_arguments_works_as_printed(monkeypatch, place):
    measured = []
    command = importlib.import_module("gpushare.cli.profile")
    monkeypatch.setattr(command, "_measure", lambda targets, *_, **__: (measured.extend(targets), {}))
    monkeypatch.chdir(ROOT / "docs" / "guide")
    profile(
        *shown((ROOT / "docs" / "guide" / "profile.md").read_text() if place == "docs" else profile("--help").stdout)
    )
    (target,) = measured
    (_, launch, *_), _ = (each.operations for each in gs.Workload.from_toml("saxpy.toml").applications)
    assert target.make().kernel.name == launch.kernel.name
    assert [type(each) for each in target.make().args] == [type(each) for each in launch.args]


def test_targets_of_the_suite_have_the_suites_data():
    (target,) = of_suite(["triad"], "small")
    launch = target.make()
    assert launch.kernel.name == "triad"
    assert len(launch.args) == 5


def test_targets_of_a_workload_are_its_kernels_once():
    targets = of_workload(bundled_workload("suite_pair"))
    assert len({target.name for target in targets}) == len(targets)
    assert all(target.make().is_real for target in targets)
