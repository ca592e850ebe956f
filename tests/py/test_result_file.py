# SPDX-License-Identifier: Apache-2.0
"""Saved results come back equal, equal results give equal bytes, and a damaged file is refused by name."""

import itertools
import json
import math
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs


class LatestFirst(gs.Policy):
    def decide(self, state):
        return gs.Plan({launch: state.full_quota(launch) for launch in reversed(state.running)})


class Fails(gs.Policy):
    def decide(self, state):
        raise RuntimeError("not today")


@pytest.fixture(scope="module")
def compared(pair):
    return gs.compare(pair, ["fifo", "srtf", LatestFirst(), Fails()], repeats=2)


@pytest.fixture
def saved(tmp_path, compared):
    """A result with traces, and the file it was saved to."""
    return compared, compared.save(tmp_path / "result.gpushare")


def test_a_loaded_result_equals_the_saved_one(saved):
    result, path = saved
    loaded = gs.Result.load(path)
    assert loaded.metrics().equals(result.metrics())
    assert loaded.to_pandas().equals(result.to_pandas())
    assert loaded.errors == result.errors
    assert loaded.errors.keys() == {"Fails"}
    for before, after in zip(result.runs, loaded.runs, strict=True):
        assert after.workload == before.workload
        assert after.metrics() == before.metrics()
        assert after.trace == before.trace
        assert after.record.operation_durations == before.record.operation_durations
        assert after.blocks().equals(before.blocks())


def test_equal_results_give_equal_bytes(saved, tmp_path):
    result, path = saved
    assert result.save(tmp_path / "again").read_bytes() == path.read_bytes()
    assert gs.Result.load(path).save(tmp_path / "loaded").read_bytes() == path.read_bytes()


def test_arguments_that_are_not_finite_are_strict_json(measured_result, tmp_path):
    kernel = gs.Kernel('extern "C" __global__ void f(float v) {}', "f")
    arguments = [math.inf, np.float32(-math.inf), np.float64(math.nan), math.nan, 1e300]
    (run, *_) = measured_result.runs
    first, *others = run.workload.applications
    launch = gs.Launch(kernel, grid=first.operations[1].blocks, block=32, args=arguments)
    operations = (*first.operations[:1], launch, *first.operations[2:])
    workload = replace(run.workload, applications=(replace(first, operations=operations), *others))
    path = gs.Result([replace(run, workload=workload)]).save(tmp_path / "r")
    with zipfile.ZipFile(path) as archive:
        text = archive.read("result.json").decode()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert gs.Result.load(path).runs[0].workload == workload


def test_only_the_file_is_left_behind(saved, tmp_path):
    assert [path.name for path in tmp_path.iterdir()] == ["result.gpushare"]


def test_a_built_in_policy_makes_its_trace_again(pair, ercbench_pair, tmp_path):
    result = gs.compare([pair, ercbench_pair], ["srtf", "strings+fifo", LatestFirst()])
    loaded = gs.Result.load(result.save(tmp_path / "r"))
    for policy in ("srtf", "strings+fifo"):
        assert loaded.run(policy).record.trace is None
        assert loaded.run(policy).trace == result.run(policy).trace
    with raises_naming(gs.InvalidInput, "LatestFirst"):
        _ = loaded.run("LatestFirst").trace


def test_a_run_that_comes_out_differently_is_not_passed_off_as_the_saved_one(pair, ercbench_pair, tmp_path):
    path = gs.compare([pair, ercbench_pair], ["srtf"]).save(tmp_path / "r")
    rewrite(path, lambda content: content["runs"][0]["record"]["ends"].__setitem__(0, 1_000_000_000))
    with pytest.raises(gs.InvalidInput):
        _ = gs.Result.load(path).run("srtf").trace


def test_two_devices_stay_apart(pair, tmp_path):
    runs = [gs.run(pair, "fifo", device=device) for device in ("gtx480", "k20", "gtx480")]
    loaded = gs.Result.load(gs.Result(runs).save(tmp_path / "r"))
    assert [run.device.name for run in loaded.runs] == ["gtx480", "k20", "gtx480"]
    assert [run.device.sms for run in loaded.runs] == [15, 13, 15]


def rewrite(path, change):
    """Changes the JSON inside a saved result."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    content = json.loads(members["result.json"])
    change(content)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**members, "result.json": json.dumps(content)}.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda content: content.update(format=99, gpushare="9.9"), ("9.9", 99, 3)),
        (lambda content: content.update(format=1, gpushare="0.1"), ("0.1", 1, 3)),
        (lambda content: content.update(colour="red"), ("colour", "format", "gpushare", "devices")),
        (lambda content: content.pop("runs"), "runs"),
        (lambda content: content["runs"][0].update(seed="7"), "runs.0.seed"),
        (lambda content: content["runs"][0]["record"].update(nonsense=1), "arrivals"),
        (lambda content: content["runs"][0].update(workload=5), ()),
        (lambda content: content["runs"][0].update(workload=-1), ()),
        (lambda content: content["runs"][0]["record"]["ends"].pop(), (1, 2)),
        (lambda content: content["runs"][0]["alone_ns"].update(long=0), ()),
        (lambda content: content["runs"][0].update(trace="traces/99"), "traces/99"),
        (lambda content: content["devices"][0].update(sms=-4), "devices.0.sms"),
        (lambda content: content["workloads"][0]["application"].clear(), ()),
        (lambda content: content["runs"][0]["record"].update(makespan=10**30), "TypeError"),
        (lambda content: content["runs"][0]["record"]["ends"].__setitem__(0, 2**63), "TypeError"),
        (lambda content: content["runs"][0]["alone_ns"].update(long=2**63), ()),
        (
            lambda content: content["runs"][0]["record"]["ends"].__setitem__(0, 0),
            ("long", 0),
        ),
        (lambda content: content["runs"][0]["record"]["arrivals"].__setitem__(1, -(2**63)), ("short", -(2**63))),
        (lambda content: content["runs"][0]["record"]["sm_busy"].__setitem__(0, -1), (-1, "sm_busy", 0)),
        (lambda content: content["runs"][0]["record"].update(to_host_busy=-5), (-5, "to_host_busy", 0)),
        (lambda content: content["devices"][0].update(name="\ud800"), ()),
        (lambda content: content["runs"][0].update(policy="a\0b"), ()),
    ],
)
def test_a_wrong_content_is_named(saved, change, named):
    _, path = saved
    rewrite(path, change)
    with raises_naming(gs.InvalidInput, named) as caught:
        gs.Result.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("number", ["9" * 5000, "[" * 100_000])
def test_a_content_that_python_cannot_hold_is_named(saved, number):
    _, path = saved
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("result.json", f'{{"format": 3, "runs": {number}')
    with raises_naming(gs.InvalidInput, "result.gpushare"):
        gs.Result.load(path)


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.99])
def test_a_file_cut_short_is_refused(saved, kept):
    _, path = saved
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with raises_naming(gs.InvalidInput, "result.gpushare"):
        gs.Result.load(path)


def test_a_flipped_byte_is_noticed(saved):
    _, path = saved
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0xFF
    path.write_bytes(data)
    with raises_naming(gs.InvalidInput, "result.gpushare"):
        gs.Result.load(path)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("hello")
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("hello", "hello")
    with zipfile.ZipFile(tmp_path / "list", "w") as archive:
        archive.writestr("result.json", "[1, 2]")
    with zipfile.ZipFile(tmp_path / "no-json", "w") as archive:
        archive.writestr("result.json", b"\xff\xfe{")
    for name in ("text", "zip", "list", "no-json", "absent", "."):
        with raises_naming(gs.InvalidInput, tmp_path):
            gs.Result.load(tmp_path / name)


def test_what_names_no_file_cannot_be_written(saved):
    result, _ = saved
    save, to_perfetto, to_html = result.save, result.run("fifo").to_perfetto, result.to_html
    for write, path in [*itertools.product((save, to_perfetto), ("", ".", "a\0b")), (to_html, "a\0b")]:
        with pytest.raises(gs.InvalidInput):
            write(path)


def test_saving_into_a_folder_that_is_not_there_says_so(saved, tmp_path):
    result, _ = saved
    with raises_naming(gs.InvalidInput, "nowhere"):
        result.save(tmp_path / "nowhere" / "result")


def replace_member(path, name, data):
    with zipfile.ZipFile(path) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in (members | {name: data}).items():
            archive.writestr(each, content)


@pytest.mark.parametrize("name", ["result.json", "traces/0", "more"])
def test_a_file_that_would_become_much_more_than_it_is_is_refused(saved, name, monkeypatch):
    _, path = saved
    replace_member(path, name, bytes(64 << 20))
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("it was unpacked"))
    with raises_naming(gs.InvalidInput, "result.gpushare"):
        gs.Result.load(path)


def test_members_that_lie_in_one_another_are_refused(saved):
    """Each says truly how much it becomes, and all of them are the same bytes of the file."""
    _, path = saved
    replace_member(path, "more", np.random.default_rng(7).bytes(1 << 20))
    with zipfile.ZipFile(path, "a") as archive:
        last = archive.getinfo("more")
        for number in range(50):
            again = zipfile.ZipInfo(f"again {number}")
            for field in ("compress_type", "compress_size", "file_size", "CRC", "header_offset", "flag_bits"):
                setattr(again, field, getattr(last, field))
            archive.filelist.append(again)
        archive._didModify = True
    with pytest.raises(gs.InvalidInput):
        gs.Result.load(path)


def test_a_trace_of_another_run_is_refused(saved, tmp_path, ercbench_pair):
    _, path = saved
    other = gs.run(ercbench_pair, "fifo")
    replace_member(path, "traces/0", other.trace.to_bytes())
    with raises_naming(gs.InvalidInput, "result.gpushare"):
        gs.Result.load(path)


def test_a_trace_is_one_runs_alone(saved):
    _, path = saved
    rewrite(path, lambda content: content["runs"][1].update(trace=content["runs"][0]["trace"]))
    with pytest.raises(gs.InvalidInput):
        gs.Result.load(path)


def test_a_trace_with_a_changed_byte_is_refused_or_possible(saved):
    """Whatever byte of it is changed: nothing that goes through a trace may meet what cannot be."""
    result, path = saved
    data = result.runs[0].record.trace.to_bytes()
    refused = 0
    for place in range(0, len(data), max(len(data) // 60, 1)):
        damaged = bytearray(data)
        damaged[place] ^= 0x55
        replace_member(path, "traces/0", bytes(damaged))
        try:
            run = gs.Result.load(path).runs[0]
        except gs.InvalidInput:
            refused += 1
        else:
            run.blocks(), run.trace.decisions()
    assert refused > 10
