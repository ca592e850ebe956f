# SPDX-License-Identifier: Apache-2.0
"""Launches whose blocks run on several GPUs at a time, and move among them."""

import asyncio
import os
import random
from concurrent.futures import Future

import numpy as np
import pytest
from live_sessions import started
from messages import raises_naming

import gpushare as gs
from gpushare import _core
from gpushare.session import spread_choice
from gpushare.session.spread import SpreadJob
from gpushare.suite import KERNELS

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu"), pytest.mark.timeout(300)]

TWO = "cuda:0,cuda:1"
ON_STAND_IN = os.environ.get("GPUSHARE_STAND_IN") == "1"
SPREAD = ["mandelbrot", "nbody", "black_scholes", "matrix_product", "histogram", "sha1"]
MOVES = 200
LONG_BLOCKS, LONG_ROUNDS = (1 << 15, 50) if ON_STAND_IN else (1 << 18, 400_000)
"""Of a launch that is in the middle for some tens of milliseconds, in blocks that end long before a session that is
closed gives them up."""

CODE = """
extern "C" __global__ void mixed(unsigned int* values, unsigned int* runs, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned int value = values[i];
  for (int round = 0; round < rounds; ++round) value = value * 1664525u + 1013904223u;
  values[i] = value;
  if (threadIdx.x == 0) atomicAdd(&runs[blockIdx.x], 1u);
}
extern "C" __global__ void append(unsigned int* hash, unsigned int* values, unsigned int n) {
  for (unsigned int i = 0; i < n; ++i) *hash = *hash * 31u + values[i];
}
extern "C" __global__ void waits(volatile int* gate, int* out) {
  while (*gate == 0) {}
  *out = 1;
}
__device__ int total;
extern "C" __global__ void counts_in_a_variable() { atomicAdd(&total, 1); }
extern "C" __global__ void ones(float* out) { out[blockIdx.x] = 1.0f; }
extern "C" __global__ void fault_in_last(int* values, int rounds) {
  unsigned int value = blockIdx.x;
  for (int round = 0; round < rounds; ++round) value = value * 1664525u + 1013904223u;
  values[blockIdx.x == gridDim.x - 1 ? 1ll << 42 : blockIdx.x] = value;
}
"""
BLOCK = 32


def kernel(name, **options):
    return gs.Kernel(CODE, name, **options)


@pytest.fixture(autouse=True)
def several_devices():
    if _core.cuda_device_count() < 2:
        pytest.skip("this machine has one device")


def mixed(values, rounds):
    """What the kernel makes of them, with a number of steps that grows with the logarithm of the rounds."""
    factor, summand, bits = 1664525, 1013904223, 2**32
    while rounds > 0:
        if rounds % 2 == 1:
            values = values * np.uint32(factor) + np.uint32(summand)
        factor, summand, rounds = factor * factor % bits, (factor + 1) * summand % bits, rounds // 2
    return values


class Mixing:
    """Launches that change an array in an order that shows, and count how often each block ran."""

    def __init__(self, session, application, blocks=64):
        self.application, self.blocks, self.launches, self.rounds = application, blocks, 0, 0
        self.first = np.arange(blocks * BLOCK, dtype=np.uint32)
        self.values, self.runs = session.array(self.first), session.zeros(blocks, np.uint32)

    def submit(self, rounds=40, **options):
        self.launches += 1
        self.rounds += rounds
        args = [self.values, self.runs, rounds]
        return self.application.submit(kernel("mixed"), grid=self.blocks, block=BLOCK, args=args, **options)

    def check(self):
        assert np.array_equal(self.runs.numpy(), np.full(self.blocks, self.launches, np.uint32))
        assert np.array_equal(self.values.numpy(), mixed(self.first, self.rounds))


def suite_results(name, device, **options):
    """The results of a kernel's small case, to the byte."""
    case = KERNELS[name].case("small")
    launch = gs.Launch.of_suite(name, "small")
    with gs.Session(device, "fifo", measure_alone=False) as session:
        arrays = [session.array(each.value) if np.ndim(each.value) else each.value for each in case.arguments]
        session.application("alice").submit(launch, args=arrays, **options).result(120)
        results = {
            each.name: array.numpy() for each, array in zip(case.arguments, arrays, strict=True) if each.is_output
        }
    assert case.mistakes(results) == []
    return {key: value.tobytes() for key, value in results.items()}


@pytest.mark.parametrize("name", SPREAD)
def test_results_are_the_same_to_the_byte_on_two_devices_and_on_all(name):
    alone = suite_results(name, "cuda:0")
    assert suite_results(name, TWO, spread=True) == alone
    assert suite_results(name, "cuda:all", spread=True) == alone


def test_each_device_takes_part_and_the_run_tells_of_it(check_metrics):
    with gs.Session(TWO, "srtf", place="first-fit") as session:
        mixing = Mixing(session, session.application("alice", device=0))
        for devices in (0, 1, True):
            mixing.submit(spread=devices)
        run = session.finish()
        mixing.check()
    assert [each.name for each in run.workload.applications] == ["alice", "alice@1"]
    assert set(run.launches()["device"]) == {0, 1}
    assert run.record.blocks == 3 * mixing.blocks
    check_metrics(run)


def test_a_session_waits_for_parts_that_come_to_a_device_that_was_idle(size):
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        mixing = Mixing(session, session.application("alice", device=1))
        for devices in (1, 0):
            mixing.submit(rounds=size(100_000, 200), spread=devices)
        run = session.finish()
        mixing.check()
    assert run.record.blocks == 2 * mixing.blocks


def test_parts_have_a_name_that_no_other_application_has():
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        alice, bob = (Mixing(session, session.application(name, device=0)) for name in ("alice", "bob"))
        session.application("alice@1", device=1)
        with raises_naming(gs.InvalidInput, "'alice@1'"):
            alice.submit(spread=range(2))
        bob.submit(spread=range(2)).result(60)
        with raises_naming(gs.InvalidInput, "'bob@1'"):
            session.application("bob@1")
        bob.check()


def test_random_moves_change_no_byte():
    source = random.Random(1)
    with gs.Session("cuda:all", "fifo", measure_alone=False) as session:
        devices = range(len(session.devices))
        mixing = Mixing(session, session.application("alice"), blocks=256)
        moves = 0
        while moves < MOVES:
            job = mixing.submit(spread=source.choice(devices))
            for _ in range(MOVES):  # for ever, it might never be anywhere for long enough
                if job._wait(source.random() / 2000):
                    break
                moves += job.move(source.sample(devices, source.randint(1, len(devices))))
            job.result(60)
        mixing.check()


def test_launches_of_an_application_keep_their_order_spread_or_not():
    with gs.Session(TWO, "srtf", measure_alone=False) as session:
        alice = session.application("alice")
        mixing = Mixing(session, alice)
        digests, expected = session.zeros(1, np.uint32), 0
        for spread in (False, True, [1], False, [0, 1], True, False):
            job = mixing.submit(spread=spread)
            args = [digests, mixing.values, 64]
            last = alice.submit(kernel("append"), grid=1, block=1, args=args)
            if spread == [1]:
                job.move(0)
            for value in mixed(mixing.first, mixing.rounds)[:64]:
                expected = (expected * 31 + int(value)) % 2**32
        last.result(60)
        mixing.check()
        assert digests.numpy()[0] == expected


def test_a_job_can_be_moved_before_its_turn_and_not_after_its_end():
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        mixing = Mixing(session, session.application("alice"))
        gate = Future()
        jobs = [mixing.submit(spread=0, after=each) for each in (gate, (), (), ())]
        assert jobs[-1].move(1)
        gate.set_result(None)
        for each in jobs:
            each.result(60)
        assert not jobs[0].move(1)
        assert not jobs[-1].move(True)
        mixing.check()


def test_jobs_of_others_run_beside_it():
    with gs.Session(TWO, "srtf", measure_alone=False) as session:
        spread = Mixing(session, session.application("alice", device=0), blocks=256)
        others = [Mixing(session, session.application(f"bob-{number}", device=number)) for number in (0, 1)]
        job = spread.submit(spread=True)
        for _ in range(3):
            for each in others:
                each.submit().result(60)
        job.result(60)
        for each in (spread, *others):
            each.check()


def test_it_is_a_future_and_others_wait_for_it():
    async def all_of(job):
        await job

    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        mixing = Mixing(session, session.application("alice", device=0))
        bob = session.application("bob", device=0)
        digest = session.zeros(1, np.uint32)
        job = mixing.submit(spread=True)
        bob.submit(kernel("append"), grid=1, block=1, args=[digest, mixing.values, 1], after=job).result(60)
        assert job.done()
        assert digest.numpy()[0] == mixed(mixing.first, mixing.rounds)[0]
        ended = Future()
        mixing.submit(spread=True).add_done_callback(ended.set_result)
        asyncio.run(all_of(mixing.submit(spread=1)))
        mixing.check()
        assert ended.result(60).exception() is None


def test_a_cancelled_application_ends_in_the_middle_and_others_go_on():
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        alice = session.application("alice")
        mixing = Mixing(session, alice, blocks=LONG_BLOCKS)
        jobs = [mixing.submit(rounds=LONG_ROUNDS, spread=True) for _ in range(2)]
        started(session, "alice")
        alice.cancel()
        for each in jobs:
            with pytest.raises(gs.Cancelled):
                each.result(60)
        other = Mixing(session, session.application("bob"))
        other.submit(spread=True).result(60)
        other.check()


def test_arrays_of_a_cancelled_launch_last_as_long_as_its_blocks_on_any_device():
    source = random.Random(3)
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        other = Mixing(session, session.application("bob", device=0))
        for number in range(30):
            alice = session.application(f"alice-{number}", device=0)
            job = Mixing(session, alice).submit(rounds=200, spread=True)  # nothing else has its arrays
            job._wait(source.random() / 100)
            alice.cancel()
            assert isinstance(job.exception(60), gs.Cancelled | None)
            other.submit().result(60)
        other.check()


def test_a_priority_holds_on_every_device():
    with gs.Session(TWO, "effisha-dynamic", measure_alone=False) as session:
        alice = session.application("alice", priority=1)
        Mixing(session, alice).submit(spread=True).result(60)
        alice.set_priority(3)
        assert {each.name: each.priority for each in session.status().applications} == {"alice": 3, "alice@1": 3}


def test_a_session_that_is_closed_in_the_middle_fails_its_jobs():
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        mixing = Mixing(session, session.application("alice"), blocks=LONG_BLOCKS)
        job = mixing.submit(rounds=LONG_ROUNDS, spread=True)
        started(session, "alice")
    with pytest.raises(gs.DeviceError):
        job.result(60)
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        other = Mixing(session, session.application("alice"))
        other.submit(spread=True).result(60)
        other.check()


@pytest.mark.parametrize("device", ["cuda:0", TWO])
def test_auto_changes_no_byte(device):
    with gs.Session(device, "fifo", measure_alone=False) as session:
        mixing = Mixing(session, session.application("alice"), blocks=256)
        jobs = [mixing.submit(spread="auto") for _ in range(10)]
        for _ in range(10):
            jobs.append(mixing.submit(spread="auto"))
            jobs[-1].result(60)
        mixing.check()
    assert isinstance(jobs[0], SpreadJob) == (device == TWO)
    assert not isinstance(jobs[1], SpreadJob)  # the time of the first is not known


def test_auto_is_ordinary_where_a_launch_cannot_be_spread_or_its_device_is_vacated():
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        alice, bob = session.application("alice", device=0), session.application("bob", device=1)
        for _ in range(2):
            job = alice.submit(kernel("counts_in_a_variable"), grid=4, block=32, spread="auto")
            assert not isinstance(job, SpreadJob)
            job.result(60)
        mixing = Mixing(session, bob)
        mixing.values.upload(mixing.first)  # its arrays have a device
        bob.submit(kernel("ones"), grid=1, block=1, args=[session.zeros(1)]).result(60)
        session.vacate(1)
        job = mixing.submit(spread="auto")
        assert not isinstance(job, SpreadJob)
        job.result(60)
        mixing.check()


def test_auto_leaves_out_devices_where_another_application_has_the_name(monkeypatch):
    monkeypatch.setattr(spread_choice, "LEAST_NS", 1)
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        mixing = Mixing(session, session.application("alice", device=0))
        session.application("alice@1")
        for _ in range(3):
            job = mixing.submit(spread="auto")
            job.result(60)
            assert job.devices == (0,)
        mixing.check()


@pytest.mark.parametrize("spread", [True, "auto"])
def test_what_is_no_kernel_is_refused_by_its_value(spread):
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        mixing = Mixing(session, session.application("alice", device=0))
        mixing.submit().result(60)
        with raises_naming(gs.InvalidInput, "kernel", "None"):
            mixing.application.submit(None, grid=1, block=1, spread=spread)


def test_one_part_that_its_policy_holds_leaves_all_to_the_other(odd_policies):
    with gs.Session(TWO, odd_policies.Holds("alice@1"), measure_alone=False) as session:
        mixing = Mixing(session, session.application("alice", device=0))
        for _ in range(3):
            mixing.submit(spread=True).result(60)
        mixing.check()
    with gs.Session(TWO, odd_policies.Holds("alice"), measure_alone=False) as session:
        mixing = Mixing(session, session.application("alice", device=0))
        mixing.submit(spread=True).result(60)
        mixing.check()


def refused(session, *named, args=None, name="mixed", options=None, **how):
    alice = session.application(f"alice-{random.random()}", device=0)
    mixing = Mixing(session, alice)
    args = [mixing.values, mixing.runs, 1] if args is None else args(session)
    with raises_naming(gs.InvalidInput, *named):
        alice.submit(kernel(name, **options or {}), grid=4, block=BLOCK, args=args, **how)
    mixing.submit().result(60)  # nothing has been left behind
    mixing.check()


def test_devices_that_it_cannot_have_are_refused():
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        refused(session, "twice", 1, spread=[1, 1])
        refused(session, 7, spread=7)
        refused(session, "one device", spread=[])
        refused(session, "x", spread="x")
        job = Mixing(session, session.application("bob"), LONG_BLOCKS).submit(rounds=LONG_ROUNDS, spread=0)
        with raises_naming(gs.InvalidInput, "twice", 0):
            job.move([0, 0])
        with raises_naming(gs.InvalidInput, 9):
            job.move(9)
    with gs.Session("cuda:0", "fifo", measure_alone=False) as session:
        alice = session.application("alice")
        args = [session.zeros(BLOCK, np.uint32), session.zeros(1, np.uint32), 1]
        with raises_naming(gs.InvalidInput, "one device"):
            alice.submit(kernel("mixed"), grid=1, block=BLOCK, args=args, spread=True)


def test_kernels_that_need_one_device_are_refused():
    def gate(session):
        return [session.zeros(1, np.int32), session.zeros(1, np.int32)]

    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        refused(session, "'waits'", "wait", name="waits", args=gate, spread=True)
        refused(
            session, "'counts_in_a_variable'", "'total'", name="counts_in_a_variable", args=lambda _: [], spread=True
        )
        refused(session, "'mixed'", "preemptible=False", options={"preemptible": False}, spread=True)


def test_memory_of_one_device_is_refused():
    source = '__device__ float table[64]; extern "C" __global__ void fill() { table[threadIdx.x] = 1.0f; }'

    class Tensor:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        alice = session.application("alice", device=0)
        variable = alice.variable(gs.Kernel(source, "fill"), "table", np.float32)
        tensor = Tensor(alice.zeros(64))
        for each in (variable, tensor):
            with raises_naming(gs.InvalidInput, "argument 0"):
                alice.submit(kernel("ones"), grid=4, block=1, args=[each], spread=True)


def test_simulated_devices_refuse_it():
    model = gs.KernelModel("model", threads=128, latency_ns=1000)
    with gs.Session("sim:h100*2", "fifo") as session, raises_naming(gs.InvalidInput, "spread", "simulated"):
        session.application("alice").submit(model, 4, spread=True)


NO_PEERS = """
with gs.Session("cuda:0,cuda:1", "fifo", measure_alone=False) as session:
    alice = session.application("alice", device=0)
    values = session.zeros(64)
    try:
        alice.submit(kernel("scale"), grid=2, block=32, args=[values, 2.0, 64], spread=True)
    except gs.InvalidInput as error:
        assert "cuda:1" in str(error) and "peer" in str(error), error
    else:
        raise SystemExit("no error")
    alice.submit(kernel("scale"), grid=2, block=32, args=[values, 2.0, 64]).result(30)
"""


@pytest.mark.skipif(not ON_STAND_IN, reason="GPUs that have no link")
def test_devices_without_peer_access_are_refused(in_a_process, prelude, monkeypatch):
    monkeypatch.setenv("GPUSHARE_STAND_IN_PEERS", "0")
    in_a_process(prelude + NO_PEERS)


FAULT = f"""
CODE = {CODE!r}
with gs.Session("cuda:0,cuda:1", "fifo", measure_alone=False) as session:
    alice, bob = session.application("alice", device=0), session.application("bob", device=0)
    values, after = session.zeros(256, np.int32), session.zeros(64)
    bob.submit(kernel("scale"), grid=2, block=32, args=[after, 2.0, 64]).result(30)
    job = alice.submit(gs.Kernel(CODE, "fault_in_last"), grid=256, block=1, args=[values, 100], spread=1)
    try:
        job.result(60)
    except gs.CudaError as error:
        assert "alice@1" in str(error), error
    else:
        raise SystemExit("no error")
    if ON_STAND_IN:  # a driver refuses the other GPUs, too
        bob.submit(kernel("scale"), grid=2, block=32, args=[after, 2.0, 64]).result(30)
"""


def test_a_fault_on_one_device_fails_the_job(in_a_process, prelude):
    in_a_process(prelude + FAULT)


def on_vacated(session, number):
    return [each for each in range(len(session.devices)) if each != number]


def test_jobs_leave_a_vacated_device_for_the_others_that_they_can_have():
    with gs.Session("cuda:all", "fifo", measure_alone=False) as session:
        others = on_vacated(session, 1)
        mixings = [Mixing(session, session.application(name, device=0)) for name in ("alice", "bob", "carol")]
        gate = Future()
        jobs = [each.submit(spread=spread, after=gate) for each, spread in zip(mixings, (True, 1, [0, 1]), strict=True)]
        assert session.vacate(1) == 0
        assert [each.devices for each in jobs] == [tuple(others), tuple(others), (0,)]
        gate.set_result(None)
        for each in jobs:
            each.result(60)
        run = session.finish()
        for each in mixings:
            each.check()
    assert 1 not in set(run.launches()["device"])


def test_a_device_is_empty_in_the_middle_of_a_launch():
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        mixing = Mixing(session, session.application("alice", device=0), blocks=LONG_BLOCKS)
        for _ in range(3):
            job = mixing.submit(rounds=LONG_ROUNDS, spread=True)
            started(session, "alice@1")
            assert session.vacate(1, timeout=60) == 0
            job.result(120)
            session.restore(1)
        mixing.check()


def test_a_launch_leaves_the_vacated_device_of_its_application():
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        mixing = Mixing(session, session.application("alice", device=1))
        gate = Future()
        spread, alone = mixing.submit(spread=True, after=gate), mixing.submit()
        assert session.vacate(1) == 2  # both have to wait for their turn there
        gate.set_result(None)
        assert session.vacate(1, timeout=60) == 0
        assert spread.devices == (0,)
        assert alone.done()
        assert mixing.submit(spread=True).devices == (0,)
        mixing.submit().result(60)  # with its arrays
        mixing.check()


def test_new_launches_avoid_a_vacated_device_and_do_not_name_it():
    with gs.Session("cuda:all", "fifo", measure_alone=False) as session:
        others = tuple(on_vacated(session, 1))
        mixing = Mixing(session, session.application("alice", device=0))
        gate = Future()
        job = mixing.submit(spread=0, after=gate)
        session.vacate(1)
        last = mixing.submit(spread=True)
        assert last.devices == others
        for act in (lambda: mixing.application.submit(kernel("ones"), grid=1, block=1, spread=1), lambda: job.move(1)):
            with raises_naming(gs.InvalidInput, "'alice'", "device 1", "vacated", "session.restore(1)"):
                act()
        job.move(True)
        assert job.devices == others
        session.restore(1)
        job.move(True)
        assert job.devices == tuple(range(len(session.devices)))
        gate.set_result(None)
        last.result(60)
        mixing.check()


def test_random_vacating_changes_no_byte():
    source = random.Random(2)
    with gs.Session("cuda:all", "fifo", measure_alone=False) as session:
        count = len(session.devices)
        mixings = [Mixing(session, session.application(name), blocks=256) for name in ("alice", "bob")]
        jobs = []
        for _ in range(40):
            jobs += [each.submit(spread=source.choice([True, False])) for each in mixings]
            number = source.randrange(count)
            session.vacate(number, timeout=source.choice([0, 60]))
            session.restore(number)
        for each in jobs:
            each.result(60)
        for each in mixings:
            each.check()


def test_an_invalid_device_is_refused_before_the_application_has_one():
    with gs.Session(TWO, "fifo", measure_alone=False) as session:
        alice = session.application("alice")
        args = [session.zeros(BLOCK, np.uint32), session.zeros(1, np.uint32), 1]
        with raises_naming(gs.InvalidInput, "'alice'", 7):
            alice.submit(kernel("mixed"), grid=1, block=BLOCK, args=args, spread=7)
        assert alice.device is None
        session.application("bob", device=1).submit(kernel("mixed"), grid=1, block=BLOCK, args=args).result(60)


@pytest.mark.parametrize("devices", [True, 0, 1])
def test_policies_that_hold_all_parts_raise_the_error_of_one_that_holds_a_launch(odd_policies, devices):
    with gs.Session(TWO, odd_policies.Starves(), measure_alone=False) as session:
        job = Mixing(session, session.application("alice", device=0)).submit(spread=devices)
        with raises_naming(gs.PolicyError, "Starves", "mixed of alice", "idle"):
            job.result(60)
