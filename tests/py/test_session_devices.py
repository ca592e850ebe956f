# SPDX-License-Identifier: Apache-2.0
"""Sessions on several devices: simulated ones, and that each application is on one of them."""

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
from live_sessions import started
from messages import raises_naming

import gpushare as gs
from gpushare.model.device_text import device_text
from gpushare.model.devices import changed_device, simulated_device

PATIENCE_S = 60
DEVICES = "sim:gtx480*2"
SMS = 15
MEMORY = 1_000_000


def kernel(name="kernel", block_ms=1.0, **costs):
    return gs.KernelModel(name, threads=192, latency_ns=block_ms * 1e6, **costs)


def submit(application, blocks=SMS, *, args=(), **costs):
    return application.submit(kernel(**costs), grid=blocks, block=192, args=args)


@pytest.fixture
def session():
    with gs.Session(DEVICES, "srtf", place="least-loaded") as session:
        yield session


@pytest.fixture
def small(tmp_path):
    """Two devices with a memory of 1 MB."""
    file = tmp_path / "small.toml"
    file.write_text(device_text(changed_device(simulated_device("gtx480"), name="small", memory_bytes=MEMORY)))
    return f"{file}*2"


def test_an_application_gets_a_device_with_its_first_launch_and_stays_there(session):
    applications = [session.application(f"app-{number}") for number in range(4)]
    assert [each.device for each in applications] == 4 * [None]
    for _ in range(2):
        for each in applications:
            submit(each).result(PATIENCE_S)
        assert [each.device for each in applications] == [0, 1, 0, 1]
    assert len(session.devices) == 2
    with raises_naming(gs.InvalidInput, 2, "devices"):
        _ = session.device


def test_a_run_is_of_all_devices(session, tmp_path):
    applications = [session.application(name, priority=number) for number, name in enumerate("abc")]
    jobs = [submit(each, 20 + number) for _ in range(2) for number, each in enumerate(applications)]
    assert [job.result(PATIENCE_S) for job in jobs] == 6 * [None]
    run = session.finish()
    assert (run.device_name, run.place) == ("gtx480*2", "least-loaded")
    device = {each.name: each.device for each in applications}
    for table in (run.launches(), run.blocks(), run.placements()):
        assert (table["device"] == table["application"].map(device)).all()
    blocks = run.blocks().groupby("application")["blocks"].sum()
    assert blocks.to_dict() == {"a": 40, "b": 42, "c": 44}
    assert run.blocks()["sm"].max() < SMS
    assert len(run.record.sm_busy) == 2 * SMS
    assert {each.name: each.priority for each in run.workload.applications} == {"a": 0, "b": 1, "c": 2}
    assert (run.applications()["ntt"] > 0).all()
    assert run.metrics()["stp"] > 1
    assert [set(each.blocks()["application"].tolist()) for each in run.traces] != [set(), set()]
    assert run.to_perfetto(tmp_path / "run.pftrace").stat().st_size > 0
    assert run.plot.timeline() is not None


def test_launches_on_different_devices_run_at_the_same_time(session):
    applications = [session.application(name) for name in "ab"]
    jobs = [submit(each, 90, block_ms=500.0) for each in applications]
    for job in jobs:
        job.result(PATIENCE_S)
    first, second = session.finish().launches().itertuples()
    assert first.device != second.device
    assert max(first.arrival_ns, second.arrival_ns) < min(first.end_ns, second.end_ns)


def test_a_status_says_where_applications_are(session):
    for name in "ab":
        submit(session.application(name), 10_000)
        started(session, name)
    status = session.status()
    assert {each.name: each.device for each in status.applications} == {"a": 0, "b": 1}
    assert status.now_ns > 0


def test_the_history_is_of_all_devices():
    with gs.Session(DEVICES, "fifo", place="least-loaded", keeps_record=False) as session:
        for name in "ab":
            submit(session.application(name)).result(PATIENCE_S)
        past = session.history(60)
    operations = past.operations()
    assert operations["application"] == ["a", "b"]
    assert all(end <= past.now_ns for end in operations["end_ns"])
    assert {*past.quotas()["application"], *past.holds()["application"]} == {"a", "b"}


def test_a_policy_changes_on_all_devices_or_on_none(session):
    jobs = [submit(session.application(name, priority=7000), 10_000) for name in "ab"]
    with pytest.raises(gs.PolicyError):
        session.set_policy("effisha-dynamic")
    assert session.policy == "srtf"
    session.set_policy("even")
    assert session.policy == "even"
    assert not any(job.done() for job in jobs)


def test_a_policy_in_python_is_on_each_device_by_itself():
    class Counting(gs.Policy):
        def __init__(self):
            self.seen = set()

        def decide(self, state):
            self.seen |= {launch.application for launch in state.running}
            assert len(self.seen) == 1
            return gs.Plan({launch: state.full_quota(launch) for launch in state.running})

    with gs.Session(DEVICES, Counting(), place="least-loaded") as session:
        for name in "ab":
            submit(session.application(name)).result(PATIENCE_S)
        session.set_policy(Counting())
        assert session.finish().policy == "Counting, then Counting"


def test_a_policy_cannot_call_its_session():
    refusals = []

    class Calling(gs.Policy):
        def decide(self, state):
            try:
                session.status()
            except gs.InvalidInput as error:
                refusals.append(error)
            return gs.Plan({launch: state.full_quota(launch) for launch in state.running})

    with gs.Session(DEVICES, Calling(), place="least-loaded") as session:
        for name in "ab":
            submit(session.application(name)).result(PATIENCE_S)
    assert len(refusals) >= 2


def test_priorities_cancellation_and_futures_are_those_of_the_applications_device(session):
    alice, bob = (session.application(name) for name in ("alice", "bob"))
    endless, job = submit(alice, 1_000_000), submit(bob)
    ended = threading.Event()
    job.add_done_callback(lambda _: ended.set())
    assert ended.wait(PATIENCE_S)
    session.set_policy("priority" if "priority" in [each.name for each in gs.policies()] else "effisha-dynamic")
    alice.set_priority(3)
    bob.set_priority(4)
    assert {each.name: each.priority for each in session.status().applications} == {"alice": 3, "bob": 4}
    alice.cancel()
    with pytest.raises(gs.Cancelled):
        endless.result(PATIENCE_S)
    submit(bob).result(PATIENCE_S)


def test_jobs_can_be_awaited():
    async def main():
        async with gs.Session(DEVICES, "fifo", place="least-loaded") as session:
            await asyncio.gather(*(submit(session.application(name)) for name in "ab"))
            return [each.name for each in session.status().applications]

    assert sorted(asyncio.run(main())) == ["a", "b"]


def test_jobs_wait_for_jobs_of_other_devices(session):
    alice, bob = (session.application(name) for name in ("alice", "bob"))
    first = submit(alice, 100, block_ms=5.0)
    second = bob.submit(kernel(), grid=1, block=192, after=first)
    second.result(PATIENCE_S)
    assert first.done()
    run = session.finish()
    assert [each.device for each in (alice, bob)] == [0, 1]
    ends = run.launches().set_index("application")
    assert ends.loc["bob", "end_ns"] > ends.loc["alice", "end_ns"]


def test_closing_ends_what_runs_on_all_devices():
    with gs.Session(DEVICES, "fifo", place="least-loaded") as session:
        jobs = [submit(session.application(name), 1_000_000) for name in "ab"]
    for job in jobs:
        with pytest.raises(gs.DeviceError):
            job.result(PATIENCE_S)


def test_predicted_puts_together_what_needs_different_things():
    with gs.Session("sim:h100*2", "even", place="predicted", keeps_record=False) as session:
        applications = [session.application(name) for name in "abcd"]
        for each, name in zip(applications, ("triad", "matrix_product", "triad", "matrix_product"), strict=True):
            each.submit(gs.Launch.of_suite(name)).result(PATIENCE_S)
        devices = [each.device for each in applications]
    assert devices[0] != devices[2]
    assert devices[1] != devices[3]


def test_predicted_knows_applications_that_their_arrays_have_placed():
    with gs.Session("sim:h100*2", "even", place="predicted", keeps_record=False) as session:
        applications = [session.application(name) for name in "abcd"]
        for each in applications[:2]:
            each.zeros(10)
        for each, name in zip(applications, ("triad", "matrix_product", "triad", "matrix_product"), strict=True):
            each.submit(gs.Launch.of_suite(name)).result(PATIENCE_S)
        devices = [each.device for each in applications]
    assert devices[0] != devices[2]
    assert devices[1] != devices[3]


def test_an_array_goes_to_the_device_of_the_application_that_uses_it_first(session):
    alice, bob = (session.application(name) for name in ("alice", "bob"))
    values = np.arange(1000, dtype=np.float32)
    array, zeros = session.array(values), session.zeros((10, 10))
    assert np.array_equal(array.numpy(), values)
    assert not zeros.numpy().any()
    array.upload(values + 1)
    submit(alice, args=[array, zeros, 2]).result(PATIENCE_S)
    assert np.array_equal(array.numpy(), values + 1)
    submit(bob, args=[bob.array(values)]).result(PATIENCE_S)
    assert (alice.device, bob.device) == (0, 1)
    with raises_naming(gs.InvalidInput, "'bob'", 0, 1, "array.numpy()"):
        submit(bob, args=[array])
    submit(bob, args=[bob.array(array.numpy())]).result(PATIENCE_S)


def test_an_application_follows_the_arrays_that_it_is_given(session):
    alice, bob, carol = (session.application(name) for name in ("alice", "bob", "carol"))
    shared, other = alice.zeros(10), bob.zeros(10)
    submit(carol, args=[other]).result(PATIENCE_S)
    assert (alice.device, bob.device, carol.device) == (0, 1, 1)
    with raises_naming(gs.InvalidInput, "'dave'", 0, 1):
        submit(session.application("dave"), args=[shared, other])


def test_a_placed_application_does_not_wait_for_the_placement_of_another(session, monkeypatch):
    alice, bob = (session.application(name) for name in ("alice", "bob"))
    submit(alice).result(PATIENCE_S)
    first_launches, is_placing, go_on = session._devices.first_launches, threading.Event(), threading.Event()

    def slow(*arguments):
        is_placing.set()
        assert go_on.wait(PATIENCE_S)
        return first_launches(*arguments)

    monkeypatch.setattr(session._devices, "first_launches", slow)
    with ThreadPoolExecutor(2) as pool:
        try:
            late = pool.submit(submit, bob)
            assert is_placing.wait(PATIENCE_S)
            pool.submit(submit, alice).result(PATIENCE_S / 2).result(PATIENCE_S)
            assert bob.device is None
        finally:
            go_on.set()
        late.result(PATIENCE_S).result(PATIENCE_S)


def test_a_device_can_be_asked_for(session):
    pinned = session.application("pinned", device=1)
    assert pinned.device == 1
    submit(pinned).result(PATIENCE_S)
    assert session.status().applications[0].device == 1
    elsewhere, nowhere = session.application("elsewhere", device=0).zeros(3), session.zeros(3)
    with raises_naming(gs.InvalidInput, "'late'", 0, 1):
        submit(session.application("late", device=1), args=[nowhere, elsewhere])
    submit(session.application("other", device=0), args=[nowhere]).result(PATIENCE_S)
    with raises_naming(gs.InvalidInput, "device", 2):
        session.application("none", device=2)


def test_applications_are_placed_within_memory(small):
    with gs.Session(small, "fifo", place="first-fit") as session:
        big, other, little = (session.application(*each) for each in (("big",), ("other",), ("little",)))
        big.zeros(600_000, np.uint8)
        kept = [each.zeros(count, np.uint8) for each, count in ((big, 600_000), (other, 600_000), (little, 300_000))]
        assert [each.device for each in (big, other, little)] == [0, 1, 0]
        with raises_naming(gs.InvalidInput, "'late'", 500_000):
            session.application("late", memory_bytes=500_000).zeros(10)
        assert len(kept) == 3


def test_what_no_device_has_memory_for_is_refused_before_anything_runs(small):
    with gs.Session(small, "fifo") as session:
        with raises_naming(gs.InvalidInput, "'big'", MEMORY + 1, MEMORY):
            session.application("big", memory_bytes=MEMORY + 1)
        with raises_naming(gs.InvalidInput, "'large'", MEMORY + 1):
            session.application("large").zeros(MEMORY + 1, np.uint8)


def test_an_application_goes_where_its_kernel_can_run():
    wide = gs.KernelModel("wide", threads=1024, registers_per_thread=60, latency_ns=1e6)
    with gs.Session("sim:gtx480,k40m", "fifo", place="first-fit") as session:
        application = session.application("wide")
        application.submit(wide, grid=4, block=1024).result(PATIENCE_S)
        assert application.device == 1
        impossible = gs.KernelModel("impossible", threads=1024, registers_per_thread=255, latency_ns=1e6)
        with raises_naming(gs.InvalidInput, "impossible"):
            session.application("none").submit(impossible, grid=4, block=1024)


@pytest.mark.parametrize(
    ("device", "named"),
    [
        ("cuda:0,cuda:0", ["cuda:0"]),
        ("cuda:0*2", ["cuda:0"]),
        ("cuda,cuda:0", ["cuda"]),
        ("cuda:0,sim:h100", ["cuda:0,sim:h100"]),
        ("sim:h100*0", ["h100"]),
        ("sim:h100,sim:h1000", ["sim:h1000"]),
    ],
)
def test_wrong_devices_are_refused(device, named):
    with raises_naming(gs.InvalidInput, *named):
        gs.Session(device, "fifo")


def test_an_unknown_placement_is_refused_and_those_there_are_named():
    with raises_naming(gs.InvalidInput, "best", "first-fit", "least-loaded", "predicted"):
        gs.Session(DEVICES, "fifo", place="best")


def test_all_gpus_of_a_machine_without_any_are_refused(monkeypatch):
    monkeypatch.setattr("gpushare.backends.choice._core.cuda_device_count", lambda: 0)
    with raises_naming(gs.InvalidInput, "cuda:all"):
        gs.Session("cuda:all", "fifo")


def test_an_ordering_is_on_each_device():
    with gs.Session(DEVICES, "fifo", ordering="cumas:objective=turnaround", place="least-loaded") as session:
        for name in "ab":
            submit(session.application(name)).result(PATIENCE_S)
        assert session.finish().policy == "cumas:objective=turnaround+fifo"


def test_nothing_new_is_placed_on_a_vacated_device():
    with gs.Session(DEVICES, "fifo", place="first-fit") as session:
        early = session.application("early")
        submit(early).result(PATIENCE_S)
        pinned = session.application("pinned", device=0)
        assert session.vacate(0, timeout=PATIENCE_S) == 0
        for name in "ab":
            submit(session.application(name)).result(PATIENCE_S)
        submit(early).result(PATIENCE_S)  # it stays where its arrays are
        for act in (lambda: submit(pinned), lambda: session.application("late", device=0)):
            with raises_naming(gs.InvalidInput, "device 0", "vacated", "session.restore(0)"):
                act()
        session.restore(0)
        submit(session.application("c")).result(PATIENCE_S)
        submit(pinned).result(PATIENCE_S)
        run = session.finish()
    placed = run.launches().groupby("application")["device"].unique()
    assert {name: list(devices) for name, devices in placed.items()} == {
        "early": [0],
        "a": [1],
        "b": [1],
        "c": [0],
        "pinned": [0],
    }


def test_predictions_for_a_vacated_device_do_not_count():
    with gs.Session("sim:h100*3", "even", place="predicted", keeps_record=False) as session:
        session.vacate(1)
        applications = [session.application(name) for name in "abcd"]
        for each, name in zip(applications, ("triad", "matrix_product", "triad", "matrix_product"), strict=True):
            each.submit(gs.Launch.of_suite(name)).result(PATIENCE_S)
        assert {each.device for each in applications} == {0, 2}


def test_jobs_that_are_left_on_a_vacated_device_are_counted_and_waited_for(session):
    alice, bob = (session.application(name) for name in ("alice", "bob"))
    gate = Future()
    jobs = [alice.submit(kernel(), grid=1, block=192, after=gate), submit(alice), submit(bob)]
    assert session.vacate(0) == 2
    assert session.vacate(0, timeout=0.01) == 2
    gate.set_result(None)
    assert session.vacate(0, timeout=PATIENCE_S) == 0
    assert [each.done() for each in jobs[:2]] == [True, True]


def test_the_last_device_and_unknown_ones_are_not_vacated(session):
    with raises_naming(gs.InvalidInput, "device", 2, "0..1"):
        session.vacate(2)
    with raises_naming(gs.InvalidInput, "device", "'x'"):
        session.restore("x")
    with raises_naming(gs.InvalidInput, "timeout", -1):
        session.vacate(1, timeout=-1)
    session.vacate(1)
    with raises_naming(gs.InvalidInput, "device 0", "last", "session.restore(1)"):
        session.vacate(0)
    session.restore(1)
    session.vacate(0)
    with gs.Session("sim:gtx480", "fifo") as other, raises_naming(gs.InvalidInput, "one device"):
        other.vacate(0)
