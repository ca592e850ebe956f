# SPDX-License-Identifier: Apache-2.0
"""The library that records, in programs that use a CUPTI of the tests: tests/py/fake_cupti."""

import os
import re

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.kernels.cuda_libraries import library_path
from gpushare.recorded import capture as capturing
from gpushare.recorded.capture import capture
from gpushare.recorded.conversion import converted
from gpushare.recorded.recording import most_memory, read_recording
from gpushare.recorded.trace_format import KernelRecord, MemsetRecord, Stream, What
from gpushare.recorded.trace_reader import read_part

KERNEL = "kernel _Z5saxpyfPfS_ 1000 5000 7 41 264 256 32 1024"


def only_part(folder):
    (file,) = folder.iterdir()
    return read_part(file)


def test_every_kind_of_record_arrives_as_cupti_gave_it(traced):
    part = only_part(
        traced(
            "cuda",
            "device 132",
            "call 100 200 41",
            KERNEL,
            "copy h2d 300 900 4096 7 40 async pageable",
            "copy d2h 6000 6100 8 9 43 sync",
            "memset 5500 5600 64 7 42",
            "wait stream 250 5100 7 44",
            "unknown",
        )
    )
    where = Stream(0, 0, 7)
    assert part.kernels == [
        KernelRecord(1000, 5000, where, 41, "saxpy(float, float*, float*)", (264, 1, 1), (256, 1, 1), 32, 1024, 0)
    ]
    first, second = part.copies
    assert (first.start, first.end, first.bytes, first.direction, first.correlation) == (300, 900, 4096, 1, 40)
    assert (first.is_asynchronous, first.is_pageable, first.stream) == (True, True, where)
    assert (second.bytes, second.direction, second.stream.stream) == (8, 2, 9)
    assert (second.is_asynchronous, second.is_pageable) == (False, False)
    assert part.memsets == [MemsetRecord(5500, 5600, 64, where, 42)]
    (wait,) = part.waits
    assert (wait.what, wait.start, wait.end, wait.stream) == (What.STREAM, 250, 5100, 7)
    (call,) = part.calls
    assert (call.start, call.end, call.correlation, call.interface, call.function) == (100, 200, 41, 1, 211)
    device = part.devices[0]
    assert (device.name, device.sms, device.warps_per_sm, device.clock_khz) == ("NVIDIA Fake", 132, 64, 1_980_000)
    assert (device.shared_bytes_per_sm, device.kilobytes_per_second) == (233_472, 3_350_000_000)
    assert (part.problems, part.lost, part.is_cut, part.ended) == ([], 0, False, 500)


def test_the_process_is_named_in_the_recording(traced, fake_cupti):
    part = only_part(traced("cuda", KERNEL))
    assert part.command == (str(fake_cupti[1]), "cuda", KERNEL)
    assert part.parent == os.getpid()
    assert part.path.name == f"{part.process}-0.part"


def test_more_than_a_buffer_of_records(traced):
    count = 6000  # of 208 bytes each in CUPTI's form: two buffers of 1 MiB
    part = only_part(traced("cuda", *(f"kernel k {i} {i + 1} 7 {i} 1 32 8 0" for i in range(1, count + 1))))
    assert [kernel.start for kernel in part.kernels] == list(range(1, count + 1))
    assert {kernel.name for kernel in part.kernels} == {"k"}


@pytest.mark.parametrize("leave", ["exit 3", "_exit 3"])
def test_whatever_way_it_ends_everything_is_there(traced, leave):
    part = only_part(traced("cuda", KERNEL, leave, code=3))
    assert len(part.kernels) == 1
    assert part.ended is not None


def test_a_handler_that_leaves_at_once_loses_nothing(traced):
    part = only_part(traced("cuda", KERNEL, "terminate 5", code=5))
    assert (len(part.kernels), part.ended) == (1, 500)


def test_a_handler_that_interrupts_cupti_is_not_held_up_for_ever(traced):
    """The last flush cannot be had: CUPTI waits for a lock that the thread holds whose handler calls _exit."""
    part = only_part(traced("cuda", KERNEL, "await-flush", "hold", "terminate 5", code=5))
    assert (len(part.kernels), part.ended) == (1, None)


def test_a_killed_program_leaves_what_it_did_before(traced):
    part = only_part(traced("cuda", KERNEL, "await-flush", "kernel late 7000 8000 7 2 1 32 8 0", "kill", code=-9))
    assert [kernel.correlation for kernel in part.kernels] in ([41], [41, 2])  # by when it was flushed last
    assert part.ended is None


def test_what_a_context_did_is_told_before_it_is_gone(traced):
    assert len(only_part(traced("cuda", KERNEL, "end-context")).kernels) == 1


def test_every_process_writes_its_own_part(traced):
    folder = traced("fork", "cuda", KERNEL, "_exit 0", "join", "cuda", "device 132", "kernel b 9000 9500 7 1 1 32 8 0")
    recording = read_recording(folder)
    assert [part.kernels[0].name for part in recording.parts] == ["saxpy(float, float*, float*)", "b"]
    child, parent = recording.parts
    assert child.parent == parent.process


def test_a_forked_child_without_cuda_writes_nothing_of_its_parent(traced):
    folder = traced("cuda", KERNEL, "fork", "_exit 0", "join", "kernel b 9000 9500 7 1 1 32 8 0")
    assert [kernel.start for kernel in only_part(folder).kernels] == [1000, 9000]


def test_a_program_without_cuda_leaves_nothing(traced, tmp_path):
    with pytest.raises(gs.InvalidInput):
        traced("sleep 1")
    assert list(tmp_path.iterdir()) == []


def test_what_was_preloaded_stays(traced, monkeypatch, tmp_path):
    monkeypatch.setenv("LD_PRELOAD", str(tmp_path / "none.so"))  # the loader says that it is not there, and goes on
    assert len(only_part(traced("cuda", KERNEL)).kernels) == 1


@pytest.mark.parametrize(
    ("mode", "problem"),
    [
        ("old", r"is CUPTI 12, but gpushare was built for CUPTI 13, whose records are others"),
        ("forbidden", r"cuptiActivityEnable is not permitted: the driver lets only administrators trace"),
        ("broken", r"cuptiActivityRegisterCallbacks failed: CUPTI_ERROR_OF_THE_FAKE \(result 999\)"),
    ],
)
def test_what_cupti_refuses_is_told(traced, monkeypatch, mode, problem):
    monkeypatch.setenv("FAKE_CUPTI", mode)
    folder = traced("cuda", KERNEL, "exit 5", code=5)  # the program itself goes on
    assert re.search(problem, only_part(folder).problems[0])
    with pytest.raises(gs.InvalidInput):
        read_recording(folder)


def test_a_recording_without_waits_is_still_one(traced, monkeypatch):
    monkeypatch.setenv("FAKE_CUPTI", "waitless")
    part = only_part(traced("cuda", KERNEL, "wait stream 250 5100 7 44"))
    assert (len(part.kernels), part.waits) == (1, [])
    assert part.problems == ["waits are not recorded: cuptiActivityEnable failed: CUPTI_ERROR_OF_THE_FAKE (result 27)"]


def test_the_memory_that_a_process_had_at_most(traced):
    folder = traced("cuda", "device 1", KERNEL, "take 10 64 1000", "take 20 128 500", "give 30 64", "take 40 64 700")
    recording = read_recording(folder)
    assert most_memory(recording.parts[0], 0) == 1500
    assert most_memory(recording.parts[0], 1) == 0
    (application,) = converted(recording, "r").workload.applications
    assert application.memory_bytes == 1500


def test_the_real_library_has_what_is_asked_of_it(fake_cupti, monkeypatch, tmp_path):
    """Without a GPU it refuses to record, but it can be opened, and is of the right release."""
    real = library_path("cupti")
    if real is None:
        pytest.skip("there is no libcupti here")
    monkeypatch.setenv("GPUSHARE_RECORD_CUPTI", real)
    assert capture([str(fake_cupti[1]), "cuda"], tmp_path / "t") == 0
    part = only_part(tmp_path / "t")
    assert part.started > 0
    assert all("cuptiActivityEnable failed" in problem for problem in part.problems)


def test_records_that_cupti_dropped_are_counted(traced, monkeypatch):
    monkeypatch.setenv("FAKE_CUPTI", "lossy")
    recording = read_recording(traced("cuda", "device 1", KERNEL))
    assert recording.parts[0].lost == 7
    assert "CUPTI had no room for 7 records" in " ".join(recording.remarks())


def test_a_libcupti_that_cannot_be_opened_is_told(traced, monkeypatch, fake_cupti, tmp_path):
    monkeypatch.setenv("GPUSHARE_RECORD_CUPTI", str(tmp_path / "nowhere.so"))
    folder = tmp_path / "t"
    assert capture([str(fake_cupti[1]), "cuda", KERNEL], folder) == 0
    assert only_part(folder).problems[0].startswith(f"cannot open {tmp_path}/nowhere.so: ")


def test_a_folder_that_goes_is_told_on_stderr(fake_cupti, monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("GPUSHARE_RECORD_CUPTI", str(fake_cupti[0]))
    script = f'rmdir "$GPUSHARE_RECORD_FOLDER" && exec {fake_cupti[1]} cuda "{KERNEL}"'
    with pytest.raises(gs.InvalidInput):
        capture(["sh", "-c", script], tmp_path / "t")
    assert "gpushare record: " in capfd.readouterr().err


def test_a_full_disk_is_told_on_stderr(fake_cupti, monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("GPUSHARE_RECORD_CUPTI", str(fake_cupti[0]))
    kernels = " ".join(f"'kernel k {i} {i + 1} 7 {i} 1 32 8 0'" for i in range(1, 50))
    script = f"trap '' XFSZ; ulimit -f 1; exec {fake_cupti[1]} cuda {kernels}"  # 512 or 1024 bytes, by the shell
    assert capture(["sh", "-c", script], tmp_path / "t") == 0
    assert "the rest is not recorded" in capfd.readouterr().err
    assert only_part(tmp_path / "t").is_cut


def test_without_the_library_or_cupti_there_is_a_way_out(monkeypatch, tmp_path):
    monkeypatch.setattr(capturing, "LIBRARY", tmp_path / "none.so")
    with raises_naming(gs.CudaError, "CUPTI"):
        capture(["true"], tmp_path / "t")
    monkeypatch.setattr(capturing, "LIBRARY", tmp_path)
    monkeypatch.setattr("gpushare.recorded.capture.library_path", lambda _: None)
    monkeypatch.setattr(capturing, "TOOLKIT_CUPTI", ())
    monkeypatch.delenv("GPUSHARE_RECORD_CUPTI", raising=False)
    with raises_naming(gs.CudaError, "libcupti.so"):
        capturing.cupti_path()
