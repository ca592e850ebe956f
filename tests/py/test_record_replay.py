# SPDX-License-Identifier: Apache-2.0
"""From records to workloads: paces, models of kernels, and that a replay alone takes as long as the recording."""

import dataclasses
from pathlib import Path
from random import Random

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.recorded.conversion import converted
from gpushare.recorded.kernel_models import Shape, model_of
from gpushare.recorded.pacing import HostSide, paced
from gpushare.recorded.recorded_device import recorded_device, simulated_twin
from gpushare.recorded.recording import Recording, read_recording
from gpushare.recorded.replay import replayed_alone
from gpushare.recorded.trace_format import (
    CallRecord,
    CopyRecord,
    DeviceRecord,
    KernelRecord,
    MemsetRecord,
    Stream,
    WaitRecord,
    What,
)
from gpushare.recorded.trace_reader import Part

GPU = DeviceRecord(
    0, 132, 64, 32, 65536, 233472, 32, 1_980_000, 9, 0, 80 * 10**9, 3_350_000_000, "NVIDIA H100 80GB HBM3"
)
DEVICE = recorded_device(GPU)
LATENCY = 5000  # from a call to its work, in these recordings


class Program:
    """Writes a part as CUPTI would: operations on streams, each with the call that issued it."""

    def __init__(self, name="program"):
        self.part = Part(Path(name), process=1, command=(f"./{name}",), ended=1, devices={0: GPU})
        self._correlation = 0

    def _call(self, issued, returned):
        self._correlation += 1
        self.part.calls.append(CallRecord(issued, returned, 1, 0, 1, self._correlation))
        return self._correlation

    def kernel(self, start, end, *, issued=None, name="k", blocks=132, stream=7):
        issued = start - LATENCY if issued is None else issued
        shape = (Stream(0, 1, stream), self._call(issued, issued + 2000), name, (blocks, 1, 1), (256, 1, 1), 32, 0, 0)
        self.part.kernels.append(KernelRecord(start, end, *shape))
        return self

    def copy(self, start, end, *, issued=None, direction=1, returned=None, size=4096, stream=7):
        issued = start - LATENCY if issued is None else issued
        call = self._call(issued, issued + 2000 if returned is None else returned)
        self.part.copies.append(CopyRecord(start, end, size, Stream(0, 1, stream), call, direction, 2, 3, True))
        return self

    def memset(self, start, end, *, issued):
        call = self._call(issued, issued + 2000)
        self.part.memsets.append(MemsetRecord(start, end, 64, Stream(0, 1, 7), call))
        return self

    def wait(self, start, end, what=What.CONTEXT, stream=0):
        self._correlation += 1
        self.part.waits.append(WaitRecord(start, end, what, 1, stream, self._correlation))
        return self

    def free(self, start, end):
        """A call that issues nothing."""
        self._call(start, end)
        return self

    def paces(self, *, by_stream=False):
        return [each.pace for each in paced(self.part.work, HostSide(self.part, by_stream=by_stream))][1:]

    def converted(self, **options):
        return converted(Recording(Path("r.trace"), (self.part,)), "r", **options)


def test_a_launch_behind_another_keeps_the_gap_between_them():
    program = Program().kernel(105_000, 200_000, issued=100_000).kernel(201_000, 300_000, issued=110_000)
    assert program.paces() == [gs.HostPace(host_ns=10_000, gap_ns=1000)]


def test_a_gpu_that_waits_for_its_host_waits_for_it_again():
    program = Program().kernel(105_000, 200_000).kernel(350_000, 400_000)
    assert program.paces() == [gs.HostPace(host_ns=245_000)]


def test_a_host_that_waited_works_after_the_end():
    program = Program().kernel(105_000, 200_000, issued=100_000).wait(130_000, 203_000).kernel(350_000, 400_000)
    assert program.paces() == [gs.HostPace(host_ns=25_000, after_ns=150_000)]


def test_a_wait_for_what_had_ended_is_still_one():
    """It worked for 195 us, then waited for nothing, then worked on."""
    program = Program().kernel(105_000, 200_000, issued=100_000).wait(300_000, 301_000).kernel(350_000, 400_000)
    assert program.paces() == [gs.HostPace(host_ns=195_000, after_ns=50_000)]


def test_a_copy_that_the_host_waits_for_is_a_wait():
    program = Program().copy(105_000, 200_000, issued=100_000, returned=204_000).kernel(250_000, 300_000)
    assert program.paces() == [gs.HostPace(after_ns=50_000)]


def test_a_small_copy_that_ends_before_its_call_returns_is_none_unless_it_has_to_be():
    def program():
        return Program().copy(101_000, 102_000, issued=100_000, returned=103_000).kernel(250_000, 300_000)

    assert program().paces() == [gs.HostPace(host_ns=149_000)]
    blocking = program()
    blocking.part.copies[0] = dataclasses.replace(blocking.part.copies[0], is_asynchronous=False)
    assert blocking.paces() == [gs.HostPace(after_ns=148_000)]


def test_a_kernel_that_ends_within_its_call_is_none():
    program = Program().kernel(101_000, 101_500, issued=100_000).kernel(250_000, 300_000, issued=249_000)
    assert program.paces() == [gs.HostPace(host_ns=149_000)]


def test_a_long_call_that_lasts_until_the_end_is_a_wait_and_a_short_one_is_chance():
    def program(begin):
        return Program().kernel(105_000, 200_000, issued=100_000).free(begin, 201_000).kernel(350_000, 400_000)

    assert program(150_000).paces() == [gs.HostPace(host_ns=45_000, after_ns=150_000)]
    assert program(195_000).paces() == [gs.HostPace(host_ns=245_000)]


def test_a_stream_that_waits_for_another_holds_up_no_host():
    program = Program().kernel(105_000, 200_000).wait(110_000, 111_000, What.STREAM_BY_STREAM).kernel(350_000, 400_000)
    assert program.paces() == [gs.HostPace(host_ns=245_000)]


def test_memsets_are_pauses():
    program = Program().kernel(105_000, 200_000, issued=100_000).memset(200_000, 230_000, issued=102_000)
    program.kernel(231_000, 300_000, issued=110_000)
    assert program.paces() == [gs.HostPace(host_ns=10_000, gap_ns=31_000)]


def test_waiting_for_another_stream_is_work_where_streams_are_applications():
    program = Program().kernel(105_000, 200_000, issued=100_000).wait(130_000, 240_000, What.STREAM, stream=9)
    program.kernel(350_000, 400_000)
    assert program.paces() == [gs.HostPace(host_ns=25_000, after_ns=150_000)]
    assert program.paces(by_stream=True) == [gs.HostPace(host_ns=245_000)]


def test_without_calls_every_pause_is_the_hosts():
    program = Program().kernel(105_000, 200_000).kernel(350_000, 400_000)
    program.part.calls.clear()
    assert program.paces() == [gs.HostPace(host_ns=245_000)]


@pytest.mark.parametrize("blocks", [1, 131, 132, 133, 1055, 1056, 1057, 5000, 100_000])
@pytest.mark.parametrize("duration_ns", [20_000, 1_234_567])
def test_a_model_alone_takes_as_long_as_the_kernel(blocks, duration_ns):
    model = model_of(Shape("k", blocks, 256, 32, 0), duration_ns, DEVICE, "k")
    assert model.max_residency(DEVICE) == 8
    workload = gs.Workload("w", [gs.Application("a", [gs.Launch(model, blocks)])])
    simulated = gs.run(workload, "fifo", device=DEVICE).applications().turnaround_ns[0]
    steps = -(-blocks // (132 * 8))
    assert simulated == pytest.approx(duration_ns, abs=4 * steps)  # latency and issue are whole nanoseconds


def test_a_kernel_that_does_not_fit_the_gpu_as_described_is_made_to_fit():
    assert model_of(Shape("k", 1, 256, 32, 10**6), 1000, DEVICE, "k").shared_memory_bytes == 0
    assert model_of(Shape("k", 1, 1024, 255, 0), 1000, DEVICE, "k").registers_per_thread == 0


def random_program(seed):
    """In-order work on one stream by a host that thinks, waits and runs ahead; returns it and its length."""
    dice = Random(seed)
    program = Program(f"p{seed}")
    host = ended = 100_000
    first = None
    for number in range(dice.randrange(2, 40)):
        host += dice.choice([500, 3000, 40_000])
        start = max(host + LATENCY, ended + dice.choice([0, 1000]))
        length = dice.randrange(2000, 200_000)
        ended = start + length
        if dice.random() < 0.6:
            program.kernel(start, ended, issued=host, name=f"k{number}", blocks=dice.choice([1, 132, 2000]))
        else:
            program.copy(start, ended, issued=host, direction=dice.choice([1, 2]))
        first = start if first is None else first
        if dice.random() < 0.4:
            begin = host + dice.choice([3000, 300_000])
            host = max(begin, ended) + 4000
            program.wait(begin, host)
    return program, ended - first


@pytest.mark.parametrize("seed", range(40))
def test_a_replay_alone_takes_as_long_as_the_recording(seed):
    program, length = random_program(seed)
    made = program.converted()
    assert made.recorded_ns == {f"p{seed}": length}
    assert made.remarks == ()
    (replayed,) = replayed_alone(made.workload, DEVICE).values()
    assert replayed == pytest.approx(length, abs=3 * len(program.part.work))


def test_beside_others_only_what_waits_moves():
    """Two launches of 100 us, the second issued 200 us after the first; another application delays the first."""
    first = {"start": 105_000, "end": 205_000, "issued": 100_000}
    async_host = Program().kernel(**first).kernel(305_000, 405_000)
    waiting_host = Program().kernel(**first).wait(110_000, 206_000).kernel(305_000, 405_000)
    long = gs.Launch(gs.KernelModel("long", 256, 32, latency_ns=50_000), 132 * 8)

    def end_beside_long(program):
        (application,) = program.converted().workload.applications
        later = dataclasses.replace(application, arrival_ns=1000)
        workload = gs.Workload("w", [gs.Application("long", [long]), later])
        return gs.run(workload, "fifo", device=DEVICE).applications().end_ns[1]

    assert end_beside_long(async_host) == pytest.approx(301_000, abs=5)  # 50 us late at first, then on time
    assert end_beside_long(waiting_host) == pytest.approx(350_000, abs=5)


def test_launches_of_one_shape_and_like_times_are_one_model():
    program = Program()
    for number, length in enumerate([10_000, 11_000, 12_000, 50_000, 10_000]):
        program.kernel(10**6 * (number + 1), 10**6 * (number + 1) + length)
    kernels = [launch.kernel for _, launch in program.converted().workload.applications[0].launches()]
    assert [kernel.name for kernel in kernels] == ["k", "k", "k", "k 2", "k"]
    assert kernels[0].latency_ns == pytest.approx(10_750)


def test_streams_become_applications():
    program = Program().kernel(105_000, 200_000, stream=7).kernel(120_000, 210_000, stream=9)
    by_process = program.converted()
    (remark,) = by_process.remarks
    assert "operations overlapped for 76% of its time" in remark
    by_stream = program.converted(by_stream=True)
    assert [each.name for each in by_stream.workload.applications] == ["program/1", "program/2"]
    assert [each.arrival_ns for each in by_stream.workload.applications] == [0, 15_000]
    assert by_stream.remarks == ()


def test_processes_of_one_name_are_numbered_and_arrive_when_they_did():
    parts = (Program().kernel(105_000, 200_000).part, Program().kernel(405_000, 500_000).part)
    workload = converted(Recording(Path("r"), parts), "r").workload
    assert [(each.name, each.arrival_ns) for each in workload.applications] == [("program", 0), ("program-2", 300_000)]


def test_streams_of_processes_of_one_name_are_told_apart():
    first = Program().kernel(105_000, 200_000, stream=7).part
    second = Program().kernel(305_000, 400_000, stream=7).kernel(320_000, 410_000, stream=9).part
    workload = converted(Recording(Path("r"), (first, second)), "r", by_stream=True).workload
    assert [each.name for each in workload.applications] == ["program/1", "program-2/1", "program-2/2"]


def test_a_remark_has_the_name_of_its_application():
    first = Program().kernel(105_000, 200_000).part
    second = Program().kernel(305_000, 400_000, stream=7).kernel(320_000, 410_000, stream=9).part
    (remark,) = converted(Recording(Path("r"), (first, second)), "r").remarks
    assert remark.startswith("program-2: operations overlapped")


SECOND = 10**9


@pytest.mark.parametrize(("add", "what"), [(Program.kernel, "k"), (Program.copy, "copy")], ids=["kernel", "copy"])
def test_an_operation_that_is_too_long_is_told_with_what_to_do(add, what):
    begin = 1_700_000_000 * SECOND  # CUPTI's clock begins in 1970
    program = add(Program().kernel(begin, begin + 2000), begin + 5_123_000, begin + 1500 * SECOND)
    program.kernel(begin + 1501 * SECOND, begin + 1502 * SECOND, name="after")
    recording = Recording(Path("r.trace"), (program.part,))
    for recorded in (recording, recording.between(5e6, 6e6)):
        with raises_naming(gs.InvalidInput, "r.trace", what, "5.123", "1500.0", 1000, "--between"):
            converted(recorded, "r")
    assert len(converted(recording.between(0, 5.123e6), "r").workload.applications[0].operations) == 1
    assert len(converted(recording.between(5.124e6, float("inf")), "r").workload.applications[0].operations) == 1


def test_a_long_kernel_of_short_blocks_is_not_too_long():
    made = Program().kernel(105_000, 105_000 + 1500 * SECOND, blocks=132 * 8 * 2).converted()
    assert replayed_alone(made.workload, DEVICE)["program"] == pytest.approx(1500 * SECOND)


def test_work_for_no_engine_cannot_be_replayed():
    with pytest.raises(gs.InvalidInput):
        Program().memset(105_000, 200_000, issued=100_000).converted()


def test_copies_alone_can():
    made = Program().copy(105_000, 200_000).converted()
    assert made.workload.applications[0].operations == (gs.Copy("to_device", 4096, time_ns=95_000),)


def test_the_simulated_device_is_found_by_name_and_size():
    assert simulated_twin(GPU) == "h100"
    assert simulated_twin(dataclasses.replace(GPU, sms=114)) is None
    assert simulated_twin(dataclasses.replace(GPU, name="NVIDIA TITAN Xp", sms=30)) == "titan-xp"
    assert simulated_twin(dataclasses.replace(GPU, name="NVIDIA A100-SXM4-40GB", sms=108)) is None


RECORDINGS = sorted((Path(__file__).parents[1] / "data" / "recordings").glob("*.trace"))


@pytest.mark.parametrize("folder", RECORDINGS, ids=lambda folder: folder.stem)
def test_replays_of_what_a_gpu_did_are_as_long_as_it_was(folder):
    """Recorded by benchmarks/gpu/record.py --keep; 15 % is what replays are meant to stay within."""
    recording = read_recording(folder)
    made = converted(recording, folder.stem)
    replayed = replayed_alone(made.workload, recorded_device(recording.device_record()))
    for application, recorded_ns in made.recorded_ns.items():
        assert replayed[application] == pytest.approx(recorded_ns, rel=0.15)
