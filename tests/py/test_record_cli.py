# SPDX-License-Identifier: Apache-2.0
"""gpushare record from the command line to a comparison, with the CUPTI of the tests."""

import json
import os
import subprocess
import sys
import tomllib

import pytest

import gpushare as gs

WORK = [
    "cuda", "device 132", "call 1000 3000 1", "copy h2d 6000 90000 4000000 7 1 async",
    "call 4000 6000 2", "kernel _Z5saxpyfPfS_ 91000 191000 7 2 1056 256 32 0", "wait stream 10000 193000 7 3",
    "call 200000 202000 4", "copy d2h 206000 290000 4000000 7 4 sync",
]  # fmt: skip


@pytest.fixture
def recorded(call, fake_cupti, monkeypatch, tmp_path):
    """Records the program of the tests into FILE.toml."""
    monkeypatch.setenv("GPUSHARE_RECORD_CUPTI", str(fake_cupti[0]))

    def record(stem, *arguments, options=(), code=0):
        file = tmp_path / f"{stem}.toml"
        return file, call("record", "-o", str(file), *options, "--", str(fake_cupti[1]), *arguments, code=code)

    return record


def test_from_a_program_to_a_comparison(call, recorded):
    file, result = recorded("one", *WORK, options=["--replay"])
    assert "there is no simulated device of this GPU" in result.output
    assert "+0.0%" in result.output
    document = json.loads(
        call("compare", str(file), "--device", "sim:h100", "--policies", "fifo,srtf", "--json").stdout
    )
    assert [row["application"] for row in document["applications"]] == ["program", "program"]
    workload = gs.Workload.from_toml(file)
    copy, launch, back = workload.applications[0].operations
    assert (copy.direction, copy.bytes, copy.time_ns) == ("to_device", 4_000_000, 84_000)
    assert (launch.kernel.name, launch.blocks, launch.kernel.registers_per_thread) == ("saxpy", 1056, 32)
    assert launch.pace == gs.HostPace(gap_ns=1000, host_ns=3000)
    assert back.direction == "to_host"
    assert back.pace.after_ns == 15_000
    assert "# saxpy(float, float*, float*)" in file.read_text()
    assert "on NVIDIA Fake: " in file.read_text().splitlines()[0]


def test_json(recorded):
    file, result = recorded("one", *WORK, options=["--json", "--replay"])
    document = json.loads(result.stdout)
    assert document["file"] == str(file)
    assert document["recording"] == str(file.with_suffix(".trace"))
    (row,) = document["applications"]
    assert (row["name"], row["launches"], row["copies"]) == ("program", 1, 2)
    assert row["recorded_ns"] == 284_000
    assert row["replayed_ns"] == pytest.approx(284_000, abs=20)


@pytest.mark.parametrize("as_json", [True, False])
def test_what_the_program_prints_does_not_get_into_the_document(fake_cupti, monkeypatch, tmp_path, as_json):
    monkeypatch.setenv("GPUSHARE_RECORD_CUPTI", str(fake_cupti[0]))
    chatty = ["sh", "-c", 'echo "epoch 1"; exec "$@"', "sh", str(fake_cupti[1]), *WORK]
    options = ["-o", str(tmp_path / "t.toml"), *(["--json"] if as_json else [])]
    command = [sys.executable, "-m", "gpushare", "record", *options, "--", *chatty]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    if as_json:
        assert json.loads(done.stdout)["applications"][0]["launches"] == 1
    assert "epoch 1" in (done.stderr if as_json else done.stdout)


def test_the_summary(call, recorded):
    file, _ = recorded("one", *WORK)
    output = call("record", "--summary", str(file)).output
    for words in ("saxpy", "(copies to the device)", "1056 blocks", "4.000 MB", "engines over 284.000 us"):
        assert words in output
    document = json.loads(call("record", "--summary", str(file.with_suffix(".trace")), "--json").stdout)
    assert document["length_ns"] == 284_000
    assert [use["busy_ns"] for use in document["engines"]] == [100_000, 84_000, 84_000]
    assert [use["idle_ns"] for use in document["engines"]] == [184_000, 200_000, 200_000]


def test_arguments_that_are_no_text_are_a_comment(recorded):
    """A script in an argument has lines, and the name of a file need not be UTF-8."""
    file, _ = recorded("one", *WORK, "sleep 0\nb\x1b", "sleep 0\udc80")
    assert gs.Workload.from_toml(file).name == "one"
    assert "'sleep 0 b\\x1b' 'sleep 0\\udc80'" in file.read_text().splitlines()[0]


def test_outputs_that_differ_after_a_dot_have_recordings_of_their_own(call, recorded, fake_cupti, tmp_path):
    for stem in ("lr0.1", "lr0.01"):
        call("record", "-o", str(tmp_path / stem), "--", str(fake_cupti[1]), *WORK)
        assert gs.Workload.from_toml(tmp_path / stem).name == stem
        assert "saxpy" in call("record", "--summary", str(tmp_path / stem)).output
    assert sorted(each.name for each in tmp_path.glob("*.trace")) == ["lr0.01.trace", "lr0.1.trace"]


def test_a_recording_is_converted_again(call, recorded, tmp_path):
    file, _ = recorded("one", *WORK, "kernel other 100000 120000 9 12 132 64 16 0")
    assert len(gs.Workload.from_toml(file).applications) == 1
    again = tmp_path / "streams.toml"
    call("record", "--from", str(file.with_suffix(".trace")), "-o", str(again), "--by", "stream")
    assert [each.name for each in gs.Workload.from_toml(again).applications] == ["program/1", "program/2"]


def test_a_part_of_a_recording(call, recorded, tmp_path):
    file, _ = recorded("one", *WORK)
    again, trace = tmp_path / "part.toml", str(file.with_suffix(".trace"))
    for between, operations in (("0.05:0.1", ["Launch"]), (":0.1", ["Copy", "Launch"]), ("0.1:", ["Copy"])):
        call("record", "--from", trace, "-o", str(again), "--between", between)
        (application,) = gs.Workload.from_toml(again).applications
        assert [type(operation).__name__ for operation in application.operations] == operations
        assert application.arrival_ns == 0
    output = call("record", "--from", trace, "-o", str(again), "--between", "7:8", code=2).output
    assert "nothing began between 7 and 8 ms" in output


def test_the_recorded_gpu_as_a_device(call, recorded, tmp_path):
    """A launch through gpushare costs 43 us on sim:h100, and nothing more than it did here."""
    file, _ = recorded("one", *WORK, options=["--device-file", str(tmp_path / "gpu.toml")])

    def makespan_ns(device):
        arguments = ["--device", device, "--policies", "fifo", "--json"]
        return json.loads(call("compare", str(file), *arguments).stdout)["metrics"]["fifo"]["makespan_ns"]

    assert makespan_ns(str(tmp_path / "gpu.toml")) == pytest.approx(284_000, abs=20)
    assert makespan_ns("sim:h100") == pytest.approx(284_000 + 43_000, abs=20)


def test_a_device_file_on_stdout_has_nothing_of_what_the_program_prints(fake_cupti, monkeypatch, tmp_path):
    monkeypatch.setenv("GPUSHARE_RECORD_CUPTI", str(fake_cupti[0]))
    command = [sys.executable, "-m", "gpushare", "record", "-o", str(tmp_path / "one.toml"), "--device-file", "-", "--"]
    program = ["sh", "-c", 'echo printed; exec "$@"', "sh", str(fake_cupti[1]), *WORK]
    run = subprocess.run([*command, *program], capture_output=True, text=True, check=True)
    assert "sms" in tomllib.loads(run.stdout)
    assert "printed" in run.stderr


def test_two_programs_together(call, recorded, tmp_path):
    one, _ = recorded("one", *WORK)
    two, _ = recorded("two", "cuda", "device 132", "kernel other 100000 120000 9 12 132 64 16 0")
    arguments = ["--together", "--device", "sim:h100", "--policies", "fifo", "--json"]
    document = json.loads(call("compare", str(one), str(two), *arguments).stdout)
    assert document["workloads"] == ["one + two"]
    assert [row["application"] for row in document["applications"]] == ["program", "program-2"]
    both = tmp_path / "both.toml"
    call("record", "--merge", "-o", str(both), str(one), str(two))
    assert gs.Workload.from_toml(both) == gs.together([gs.Workload.from_toml(one), gs.Workload.from_toml(two)], "both")
    document = json.loads(call("record", "--merge", "-o", str(both), "--json", str(one), str(two)).stdout)
    assert (document["file"], document["merged"]) == (str(both), [str(one), str(two)])
    rows = [(row["name"], row["launches"], row["copies"]) for row in document["applications"]]
    assert rows == [("program", 1, 2), ("program-2", 1, 0)]


def test_a_program_that_fails_is_recorded_and_told(recorded):
    file, result = recorded("one", *WORK, "exit 7", code=2)
    assert "ended with exit code 7; what it did before that is recorded" in result.output
    assert len(gs.Workload.from_toml(file).applications) == 1


def test_a_program_that_is_killed_is_told(recorded):
    file, result = recorded("one", *WORK, "await-flush", "kill", code=2)
    assert "its last 0.1 s may be missing" in result.output
    assert "was ended by signal 9; what it did before that is recorded" in result.output
    assert file.is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sleep 1"], "used no CUDA: there is nothing to record"),
        (["cuda", "device 132"], "the program used CUDA, but launched and copied nothing"),
        (["cuda", "device 132", "memset 5 9 64 7 1"], "memsets and copies within the GPU alone"),
        (["sleep 1", "exit 4"], "ended with exit code 4"),
    ],
)
def test_programs_of_which_nothing_can_be_replayed(recorded, arguments, message):
    file, result = recorded("one", *arguments, code=2)
    assert message in result.output
    assert not file.exists()


def test_no_permission_is_told(recorded, monkeypatch):
    monkeypatch.setenv("FAKE_CUPTI", "forbidden")
    _, result = recorded("one", *WORK, code=2)
    assert "nothing was recorded: cuptiActivityEnable is not permitted" in result.output


def test_children_of_a_python_program_are_recorded(call, fake_cupti, monkeypatch, tmp_path):
    """As multiprocessing does it: a forked child that leaves by os._exit."""
    monkeypatch.setenv("GPUSHARE_RECORD_CUPTI", str(fake_cupti[0]))
    script = tmp_path / "train.py"
    script.write_text(
        "import ctypes, os, multiprocessing\n"
        "def use_cuda():\n"
        "    ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH']).InitializeInjection()\n"
        "if __name__ == '__main__':\n"
        "    workers = [multiprocessing.get_context('fork').Process(target=use_cuda) for _ in range(2)]\n"
        "    [worker.start() for worker in workers]\n"
        "    [worker.join() for worker in workers]\n"
    )
    folder = tmp_path / "t.trace"
    result = call("record", "-o", str(tmp_path / "t.toml"), "--", sys.executable, str(script), code=2)
    assert "used CUDA, but launched and copied nothing" in result.output
    from gpushare.recorded.trace_reader import read_part

    parts = [read_part(file) for file in folder.iterdir()]
    assert len(parts) == 2
    assert all(part.ended is not None and part.parent != os.getpid() for part in parts)
