# SPDX-License-Identifier: Apache-2.0
"""Trace files that are cut, damaged, foreign or from the future; what is missing in a recording is said."""

import struct
from contextlib import suppress
from random import Random

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.recorded.recording import read_recording
from gpushare.recorded.trace_format import BODY, FILE_HEADER, MAGIC, RECORD_HEADER, VERSION, Kind
from gpushare.recorded.trace_reader import read_part

HEADER = FILE_HEADER.pack(MAGIC, VERSION, FILE_HEADER.size)


def record(kind, *values, text=b""):
    body = BODY[kind].pack(*values) + text
    return RECORD_HEADER.pack(RECORD_HEADER.size + len(body), kind) + body


PROCESS = record(Kind.PROCESS, 17, 3, 900, text=b"./saxpy\0-n\0")
DEVICE = record(Kind.DEVICE, 0, 132, 64, 32, 65536, 233472, 32, 1_980_000, 9, 0, 80 * 10**9, 3_350_000_000, text=b"GPU")
END = record(Kind.END, 9000)


def name(number, text):
    return record(Kind.KERNEL_NAME, number, text=text)


def kernel(start, end, called=0, device=0, correlation=5):
    return record(
        Kind.KERNEL, start, end, device, 1, 7, correlation, called, 10, 2, 1, 64, 2, 1, 24, 100, 28, 0
    )  # grid 10 x 2, block 64 x 2, 24 registers, 100 + 28 bytes shared


def copy(start, end, size, direction=1):
    return record(Kind.COPY, start, end, size, 0, 1, 7, 6, direction, 2, 3, 1)


WHOLE = HEADER + PROCESS + DEVICE + name(0, b"saxpy") + kernel(1000, 2000) + END


@pytest.fixture
def folder(tmp_path):
    def write(**files):
        for stem, data in files.items():
            (tmp_path / f"{stem}.part").write_bytes(data)
        return tmp_path

    return write


@pytest.fixture
def part(folder):
    return lambda data: read_part(folder(one=data) / "one.part")


def test_a_whole_file(part):
    found = part(WHOLE)
    assert (found.process, found.parent, found.started, found.ended) == (17, 3, 900, 9000)
    assert found.command == ("./saxpy", "-n")
    (launched,) = found.kernels
    assert (launched.name, launched.grid, launched.block) == ("saxpy", (10, 2, 1), (64, 2, 1))
    assert (launched.shared_bytes, launched.registers_per_thread, launched.correlation) == (128, 24, 5)
    assert not found.is_cut


@pytest.mark.parametrize("missing", range(1, len(END) + 1))
def test_a_file_that_is_cut_keeps_what_is_whole(part, missing):
    found = part(WHOLE[:-missing])
    assert len(found.kernels) == 1
    assert found.ended is None
    assert found.is_cut == (missing < len(END))


def test_every_cut_is_read_or_refused(part):
    for length in range(len(WHOLE)):
        if length < len(HEADER):
            with pytest.raises(gs.InvalidInput):
                part(WHOLE[:length])
        else:
            assert len(part(WHOLE[:length]).kernels) in (0, 1)


def test_kinds_of_the_future_are_skipped(part):
    strange = RECORD_HEADER.pack(RECORD_HEADER.size + 5, 99) + b"hello"
    assert len(part(HEADER + PROCESS + strange + DEVICE + name(0, b"k") + kernel(1, 2)).kernels) == 1


@pytest.mark.parametrize("size", [0, 7, 8 + BODY[Kind.KERNEL].size - 1, 1 << 21])
def test_a_damaged_length_is_told_with_its_place(part, size):
    damaged = HEADER + PROCESS + RECORD_HEADER.pack(size, Kind.KERNEL) + bytes(200)
    place = len(HEADER + PROCESS)
    with raises_naming(gs.InvalidInput, "one.part", place, 4):
        part(damaged)


def test_other_files_are_refused(part):
    with raises_naming(gs.InvalidInput, "one.part"):
        part(b'name = "a workload"\n')
    with raises_naming(gs.InvalidInput, 2, 1):
        part(FILE_HEADER.pack(MAGIC, 2, 16))


def test_random_bytes_after_the_header_never_do_worse_than_being_refused(part):
    random = Random(5)
    for _ in range(300):
        junk = random.randbytes(random.randrange(120))
        with suppress(gs.InvalidInput):
            assert len(part(WHOLE + junk).kernels) >= 1


def test_a_kernels_name_may_come_later(part):
    assert part(HEADER + PROCESS + kernel(1, 2) + name(0, b"late")).kernels[0].name == "late"


def test_unknown_kernel_names_and_bytes_that_are_no_text(part):
    assert part(HEADER + PROCESS + kernel(1, 2, called=4)).kernels[0].name == "kernel 4"
    assert part(HEADER + PROCESS + name(4, b"\xff") + kernel(1, 2, called=4)).kernels[0].name == "\ufffd"


def test_a_recording_says_what_is_missing(folder):
    path = folder(
        a=HEADER + PROCESS + DEVICE + name(0, b"k") + kernel(1000, 2000) + kernel(0, 0) + kernel(5, 6, device=1),
        b=WHOLE + record(Kind.LOST, 12) + record(Kind.PROBLEM, text=b"the moon was full"),
    )
    remarks = list(read_recording(path).remarks())
    assert remarks == [
        "process 17 (saxpy) was killed, or became another program: its last 0.1 s may be missing",
        "process 17 (saxpy): 1 operations had not ended when it did; they are left out",
        "process 17 (saxpy): 1 operations on other GPUs than 0 are left out",
        "process 17 (saxpy): the moon was full",
        "process 17 (saxpy): CUPTI had no room for 12 records",
    ]


def test_a_file_that_ends_within_a_record_was_cut_by_more_than_a_kill(folder):
    (remark,) = read_recording(folder(a=WHOLE[:-1])).remarks()
    assert remark == (
        "process 17 (saxpy): its file ends within a record, and later records are missing: the disk was "
        "full, or the process was killed while it wrote"
    )


def test_copies_of_nothing_are_no_work(folder):
    recording = read_recording(folder(a=WHOLE + copy(100, 100, 0) + copy(3000, 3100, 1)))
    assert [type(work).__name__ for work in recording.parts[0].work] == ["KernelRecord", "CopyRecord"]


def test_recordings_of_nothing(folder, tmp_path):
    with pytest.raises(gs.InvalidInput):
        read_recording(tmp_path / "none")
    with pytest.raises(gs.InvalidInput):
        read_recording(tmp_path)
    with pytest.raises(gs.InvalidInput):
        read_recording(folder(a=HEADER + PROCESS + DEVICE + END))


def test_a_recording_that_was_cut_before_it_knew_its_gpu(folder):
    recording = read_recording(folder(a=HEADER + PROCESS + kernel(1, 2)))
    with raises_naming(gs.InvalidInput, 0):
        recording.device_record()


def test_the_gpu_is_the_one_with_the_most_work(folder):
    data = HEADER + PROCESS + DEVICE + kernel(1000, 2000) + kernel(1000, 5000, device=1)
    assert read_recording(folder(a=data)).device == 1


def test_the_sizes_are_those_of_the_writer():
    """src/record/trace_format.hpp asserts the same numbers."""
    sizes = {kind.name: RECORD_HEADER.size + body.size for kind, body in BODY.items()}
    assert sizes == {
        "PROCESS": 24, "DEVICE": 64, "KERNEL_NAME": 16, "KERNEL": 88, "COPY": 56, "MEMSET": 48, "WAIT": 40,
        "CALL": 40, "LOST": 16, "PROBLEM": 8, "END": 16, "MEMORY": 48,
    }  # fmt: skip
    assert struct.calcsize("<8sII") == FILE_HEADER.size == 16
