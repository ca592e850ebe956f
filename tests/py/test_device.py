# SPDX-License-Identifier: Apache-2.0
"""Devices: names, files, the environment, and how many blocks fit."""

import copy
import json
import os
import pathlib
import pickle
import tomllib

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core
from gpushare.model.device_file import device_from_dict, device_to_dict
from gpushare.model.device_text import device_text
from gpushare.model.devices import changed_device
from gpushare.profile.toml_export import read_profiles

GTX480_FILE = pathlib.Path(gs.__file__).parent / "devices" / "gtx480.toml"


def test_every_bundled_device_can_be_had_by_both_names():
    for name in gs.device_names():
        assert gs.device(name).name == gs.device(f"sim:{name}").name == name


def test_auto_asks_the_environment_then_the_workload_then_takes_the_default(monkeypatch):
    assert gs.device().name == "h100"
    assert gs.device("auto", preferred="k20").name == "k20"
    monkeypatch.setenv("GPUSHARE_DEVICE", "sim:gtx480")
    assert gs.device("auto", preferred="k20").name == "gtx480"
    assert gs.device("sim:h100", preferred="k20").name == "h100"


def test_a_device_stays_itself():
    one = gs.device("k20")
    assert gs.device(one) is one


def test_the_h100_is_as_nvidia_describes_it():
    h100 = gs.device("h100")
    assert (h100.sms, h100.per_sm.threads, h100.per_sm.warps, h100.per_sm.registers) == (132, 2048, 64, 65_536)
    assert h100.per_sm.shared_memory_bytes == 228 * 1024


def test_whose_warps_an_sm_serves_first_is_said_by_the_file():
    hopper = {"h100", "h200"}
    assert {gs.device(name).per_sm.issue_order for name in hopper} == {"oldest-first"}
    assert {gs.device(name).per_sm.issue_order for name in set(gs.device_names()) - hopper} == {"fair"}
    with raises_naming(gs.InvalidInput, "youngest-first", "fair", "oldest-first"):
        _core.SmCapacity(threads=1, warps=1, blocks=1, registers=1, shared_memory_bytes=1, issue_order="youngest-first")


@pytest.mark.parametrize("name", gs.device_names())
def test_a_device_survives_the_dictionary(name):
    data = device_to_dict(gs.device(name))
    assert device_to_dict(device_from_dict(json.loads(json.dumps(data)))) == data


@pytest.mark.parametrize(
    ("needs", "blocks"),
    [
        # GTX 480: 1536 threads, 48 warps, 8 blocks, 32768 registers in units of 64 per warp, 48 KiB in units of 128.
        ({"threads": 256}, 6),
        ({"threads": 64}, 8),
        ({"threads": 61}, 8),
        ({"threads": 1024}, 1),
        ({"threads": 256, "registers_per_thread": 32}, 4),
        ({"threads": 128, "registers_per_thread": 43}, 5),
        ({"threads": 128, "registers_per_thread": 42}, 6),
        ({"threads": 64, "shared_memory_bytes": 12 * 1024}, 4),
        ({"threads": 64, "shared_memory_bytes": 12 * 1024 + 1}, 3),
        ({"threads": 64, "shared_memory_bytes": 48 * 1024 + 1}, 0),
    ],
)
def test_max_residency(needs, blocks):
    assert gs.KernelModel("k", latency_ns=1000, **needs).max_residency(gs.device("gtx480")) == blocks


@pytest.mark.parametrize("name", ["gtx840", "sim:", "", "h100 ", 3])
def test_an_unknown_device_lists_the_known_ones(name):
    with raises_naming(gs.InvalidInput, repr(name), tuple(f"sim:{each}" for each in gs.device_names())):
        gs.device(name)


def test_an_unknown_device_in_the_environment_is_named(monkeypatch):
    monkeypatch.setenv("GPUSHARE_DEVICE", "sim:nothing")
    with raises_naming(gs.InvalidInput, "sim:nothing"):
        gs.device()


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("sms = 15", "sms = 0", (4, "sms", 1)),
        ("sms = 15", "sms = 1e3", (4, "sms", "1000.0")),
        ("sms = 15", "sms = 99999999999", (4, "sms")),
        ("clock_mhz = 1401.0", "clock_mhz = -1.0", ("clock_mhz", 0.001, -1.0)),
        ("sms = 15", "sms = 2147483647", (4, "sms", 65536)),
        ("clock_mhz = 1401.0", "clock_mhz = 1e-300", ("clock_mhz", 0.001)),
        ("[to_host]", "[off_sm]\nllc_gb_per_s = -1\n[to_host]", ("off_sm.llc_gb_per_s", -1)),
        ("registers_per_warp = 64", "registers_per_warp = 0", ("granularity.registers_per_warp", 1)),
        ("clock_mhz = 1401.0", "clock_mhz = nan", "clock_mhz"),
        ("threads = 1536", "thread = 1536", ("per_sm.thread", "threads", "warps", "blocks")),
        ("threads = 1536", "threads = 0", "per_sm.threads"),
        ("threads = 1536", 'threads = 1536\nissue_order = "random"', "per_sm.issue_order"),
        ("latency_ns = 10_000", "latency_ns = -1000", "to_device.latency_ns"),
        ("[to_host]", "[to_moon]", ("to_moon", "name", "sms")),
        ("[to_host]", "[runtime]\nlate_poll_ns = -1\n[to_host]", ("runtime.late_poll_ns", -1)),
        ("[to_host]", '[runtime]\nlate_poll_ns = "soon"\n[to_host]', ("runtime.late_poll_ns", "soon", "number")),
        ("[to_host]", "[runtime]\nlate_poll = 1\n[to_host]", ("runtime.late_poll", "late_poll_ns", "short_block_ns")),
        ("[to_host]", "[runtime]\nfirst_top_up_patience_ns = 0\n[to_host]", "runtime.first_top_up_patience_ns"),
        ("[to_host]", "[tuning]\ngain_of_sharing = 0\n[to_host]", ("tuning.gain_of_sharing", 0)),
        ("[to_host]", "[tuning]\nswitch_cost_ns = nan\n[to_host]", "tuning.switch_cost_ns"),
    ],
)
def test_a_wrong_device_file_is_named(tmp_path, old, new, named):
    text = GTX480_FILE.read_text()
    assert old in text
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace(old, new, 1))
    with raises_naming(gs.InvalidInput, path, named):
        gs.device(path)


def test_a_device_of_ones_own(tmp_path, pair):
    path = tmp_path / "half.toml"
    path.write_text(GTX480_FILE.read_text().replace("sms = 15", "sms = 7").replace('"gtx480"', '"half"'))
    run = gs.run(pair, "fifo", device=path)
    assert run.device.name == "half"
    assert set(run.blocks()["sm"]) == set(range(7))


def test_a_file_states_what_its_gpu_is_to_wait_for(tmp_path):
    path = tmp_path / "patient.toml"
    path.write_text(GTX480_FILE.read_text() + "\n[runtime]\nlate_poll_ns = 80_000\n[tuning]\ngain_of_sharing = 2.5\n")
    patient, usual = gs.device(path), gs.device("gtx480")
    assert patient.runtime.late_poll_ns == 2 * usual.runtime.late_poll_ns
    assert patient.tuning.gain_of_sharing == 2.5
    changed = {("runtime", "late_poll_ns"), ("tuning", "gain_of_sharing")}
    one, other = device_to_dict(patient), device_to_dict(usual)
    assert {
        (name, key) for name in ("runtime", "tuning") for key in one[name] if one[name][key] != other[name][key]
    } == (changed)
    again = tmp_path / "again.toml"
    again.write_text(device_text(patient))
    for copied in (gs.device(again), pickle.loads(pickle.dumps(patient)), changed_device(patient, name="gtx480")):
        assert device_to_dict(copied) == one


def test_the_h100_states_all_that_it_is_to_wait_for_and_the_defaults_are_its():
    stated = tomllib.loads((GTX480_FILE.parent / "h100.toml").read_text())
    for name in ("runtime", "tuning"):
        assert stated[name] == device_to_dict(gs.device("h100"))[name] == device_to_dict(gs.device("gtx480"))[name]


def test_a_changed_file_is_read_again(tmp_path):
    path = tmp_path / "mine.toml"
    text = GTX480_FILE.read_text()
    path.write_text(text)
    first = gs.device(path)
    assert gs.device(path) is first
    path.write_text(text.replace("sms = 15", "sms = 8"))
    os.utime(path, ns=(0, 0))
    assert gs.device(path).sms == 8


def test_a_device_can_be_copied_and_pickled():
    gpu = gs.device("h100")
    for copied in (copy.deepcopy(gpu), pickle.loads(pickle.dumps(gpu))):
        assert device_to_dict(copied) == device_to_dict(gpu)


def test_a_workload_that_would_outlast_the_clock():
    figures = device_to_dict(gs.device("gtx480"))
    figures["to_device"]["bandwidth_gb_per_s"] = 1e-15
    slow = device_from_dict(figures)
    copy_of_a_petabyte = gs.Workload("slow", [gs.Application("a", [gs.Copy("to_device", 2**50)])])
    with raises_naming(gs.InvalidInput, 200, "gtx480"):
        gs.run(copy_of_a_petabyte, "fifo", device=slow)


def test_a_real_gpu_is_said_to_be_missing():
    if _core.cuda_device_count() == 0:
        with pytest.raises(gs.CudaError):
            gs.device("cuda:0")
    for name in ("cuda:x", "cuda:99999999999999999999"):
        with raises_naming(gs.InvalidInput, name, "cuda:0"):
            gs.device(name)


def test_split_block_time_keeps_the_mean_at_full_residency():
    latency_ns, issue_ns = _core.split_block_time(10_000, 8, 0.9)
    assert 0 < issue_ns <= latency_ns <= 10_000


def test_a_file_of_lists_in_lists_is_refused(tmp_path):
    (tmp_path / "deep.toml").write_text(f"sms = {'[' * 3000}{']' * 3000}")
    for read in (gs.device, gs.Workload.from_toml, read_profiles):
        with raises_naming(gs.InvalidInput, "deep.toml"):
            read(tmp_path / "deep.toml")
