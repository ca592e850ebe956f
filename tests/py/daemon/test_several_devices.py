# SPDX-License-Identifier: Apache-2.0
"""A server with several devices: where clients are placed, and that status, changes and traces are of all devices."""

import contextlib
import json
import os
import signal
import time

import pytest
from click.testing import CliRunner
from messages import assert_names, raises_naming

import gpushare as gs
from gpushare.cli import main
from gpushare.connect import watching
from gpushare.daemon import served_devices
from gpushare.daemon.served_devices import among_gpus, in_group, visible_gpus
from gpushare.daemon.served_devices import served_devices as named
from gpushare.daemon.supervisor.placing import chosen_worker, require_served_placement
from gpushare.daemon.supervisor.worker_process import COMMAND, Load

DEVICES = ["sim:h100:0", "sim:h100:1"]
PATIENCE_S = 60
LONG = gs.KernelModel("long", threads=128, latency_ns=1_000_000_000)
SHORT = gs.KernelModel("short", threads=128, latency_ns=20_000)
GB = 10**9
UUIDS = ["GPU-aaaa0000-1", "GPU-bbbb0000-2", "GPU-cccc0000-3"]


@pytest.fixture
def server(serve):
    return serve(devices=DEVICES, worker=COMMAND)


@pytest.fixture
def clients(server, folder):
    """Connects, and closes all at the end."""
    with contextlib.ExitStack() as closing:

        def connect(device=None, **options):
            return closing.enter_context(gs.connect(folder / "socket", device=device, **options))

        yield connect


@pytest.fixture
def call(folder):
    def call(*line, code=0):
        result = CliRunner().invoke(main, [*map(str, line), "--socket", str(folder / "socket")])
        assert result.exit_code == code, result.output
        return result

    return call


def await_that(holds):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def submit(session, name, kernel=SHORT, **terms):
    application = session.application(name, **terms)
    return application.submit(kernel, grid=8, block=128)


def test_clients_are_placed_where_the_fewest_are(server, clients):
    sessions = [clients() for _ in range(4)]
    assert sorted(each.device for each in sessions) == [*DEVICES[:1] * 2, *DEVICES[1:] * 2]
    for number, each in enumerate(sessions):
        submit(each, f"app-{number}").result(PATIENCE_S)
        assert each.devices == (each.device,)
        assert each.devices_of_server == DEVICES
    left = [each for each in sessions if each.device == DEVICES[1]]
    for each in left:
        each.close()
    await_that(lambda: server.workers[DEVICES[1]].load.clients == 0)
    assert [clients().device for _ in range(2)] == 2 * DEVICES[1:]


def test_a_client_may_name_its_device(clients):
    assert [clients(name).device for name in (DEVICES[1], DEVICES[1])] == 2 * DEVICES[1:]
    assert clients("sim:h100").device == DEVICES[0]
    with raises_naming(gs.InvalidInput, "sim:k20", DEVICES[0]):
        clients("sim:k20")


def test_those_that_only_watch_are_no_load(server, clients, folder):
    with watching(folder / "socket", DEVICES[0]) as first, watching(folder / "socket", None) as second:
        assert first.status()["device"] == second.status()["device"] == DEVICES[0]
        assert clients().device == DEVICES[0]
        await_that(lambda: server.workers[DEVICES[0]].load.clients == 1)


def test_a_client_that_needs_more_than_any_device_has_is_refused(clients):
    with raises_naming(gs.InvalidInput, 10**15, 80 * GB):
        clients(memory_bytes=10**15)


def test_first_fit_fills_a_device_before_the_next(serve, folder):
    server = serve(devices=DEVICES, place="first-fit", memory_bytes=1000, worker=COMMAND)
    with contextlib.ExitStack() as closing:
        sessions = [closing.enter_context(gs.connect(folder / "socket")) for _ in range(2)]
        assert [each.device for each in sessions] == 2 * DEVICES[:1]
        kept = sessions[0].zeros(700, "uint8")
        await_that(lambda: server.workers[DEVICES[0]].load.free_bytes == 300)
        assert closing.enter_context(gs.connect(folder / "socket", memory_bytes=400)).device == DEVICES[1]
        assert closing.enter_context(gs.connect(folder / "socket", memory_bytes=300)).device == DEVICES[0]
        assert kept.nbytes == 700


class Worker:
    def __init__(self, device, clients, free_bytes=10, is_usable=True, total_bytes=10):
        self.device, self.is_usable = device, is_usable
        self.load = Load(clients, total_bytes, free_bytes)


@pytest.mark.parametrize(
    ("place", "workers", "memory_bytes", "chosen"),
    [
        ("least-loaded", [Worker("a", 2), Worker("b", 1)], 0, "b"),
        ("least-loaded", [Worker("a", 1), Worker("b", 1)], 0, "a"),
        ("least-loaded", [Worker("a", 2), Worker("b", 1, free_bytes=4)], 5, "a"),
        ("least-loaded", [Worker("a", 2), Worker("b", 0, is_usable=False)], 0, "a"),
        ("least-loaded", [Worker("a", 2, free_bytes=0), Worker("b", 1, free_bytes=0)], 5, "b"),
        ("least-loaded", [Worker("a", 2, total_bytes=100), Worker("b", 1)], 50, "a"),
        ("first-fit", [Worker("a", 5), Worker("b", 0)], 10, "a"),
        ("first-fit", [Worker("a", 5, free_bytes=0), Worker("b", 0)], 0, "b"),
        ("first-fit", [Worker("a", 5, is_usable=False)], 0, "a"),
    ],
)
def test_the_choice_of_a_worker(place, workers, memory_bytes, chosen):
    assert chosen_worker(place, workers, memory_bytes).device == chosen


def test_clients_of_a_lost_worker_continue_on_another_one(server, clients):
    session = clients()
    array = session.zeros(4, durable=True)
    submit(session, "before").result(PATIENCE_S)
    os.kill(server.workers[session.device].pid, signal.SIGKILL)
    submit(session, "after").result(PATIENCE_S)
    assert not array.numpy().any()
    await_that(lambda: sum(each.load.clients for each in server.workers.values()) == 1)


def test_status_and_top_are_of_all_devices(clients, call):
    for name in ("alice", "bob"):
        submit(clients(), name, LONG)
    shown = call("status").stdout
    assert_names(shown, "alice@", "bob@", *DEVICES)
    assert_names(call("top", "--once").stdout, "alice@", "bob@")
    documents = json.loads(call("status", "--json").stdout)["devices"]
    assert [each["device"] for each in documents] == DEVICES
    assert [len(each["applications"]) for each in documents] == [1, 1]
    one = json.loads(call("status", "--json", "--device", DEVICES[1]).stdout)
    assert one["device"] == DEVICES[1]


def test_a_policy_is_changed_on_all_devices_or_on_none(clients, call):
    sessions = [clients(), clients()]
    call("set-policy", "fifo")
    assert [each.policy for each in sessions] == ["fifo", "fifo"]
    submit(sessions[1], "low", LONG, priority=-1)
    call("set-policy", "effisha-dynamic:queue=1", code=2)
    assert [each.policy for each in sessions] == ["fifo", "fifo"]


def test_a_priority_is_changed_where_the_application_is(clients, call):
    sessions = {each.device: each for each in (clients(), clients())}
    for device, each in sessions.items():
        submit(each, f"on-{device[-1]}", LONG)
        submit(each, "both", LONG)
    assert_names(call("set-priority", "on-1", "-3").stdout + call("set-priority", "on-0", "-2").stderr, "on-0", -2)
    by_name = {each.name: each.priority for session in sessions.values() for each in session.status().applications}
    assert (by_name["on-1@1"], by_name["on-0@1"]) == (-3, -2)
    assert_names(call("set-priority", "both", "-1", code=2).stderr, "both", *DEVICES, "--device")
    assert_names(call("set-priority", "nobody", "-1", code=2).stderr, "nobody")


def test_a_trace_has_all_devices(clients, call, folder):
    for name in ("alice", "bob"):
        session = clients()
        submit(session, name).result(PATIENCE_S)
    call("trace", "--last", "30", "-o", folder / "all.pftrace")
    trace = gs.ServerTrace.of(folder / "all.pftrace")
    assert sorted(trace.applications) == [f"alice@1 on {DEVICES[0]}", f"bob@1 on {DEVICES[1]}"]
    assert set(trace.running()["name"]) == {"short"}
    assert trace.device == ", ".join(DEVICES)
    call("trace", "--last", "30", "-o", folder / "one.pftrace", "--device", DEVICES[1])
    assert gs.ServerTrace.of(folder / "one.pftrace").applications == ["bob@1"]
    call("trace", "--last", "30", "-o", folder / "all.svg")


def test_devices_and_their_names():
    assert named(["sim:h100*2", "sim:k20"]) == ["sim:h100:0", "sim:h100:1", "sim:k20"]
    assert named(["cuda:0,cuda:1"]) == ["cuda:0", "cuda:1"]
    assert in_group("sim:h100", ["sim:h100:0", "sim:h100:1", "sim:k20"]) == ["sim:h100:0", "sim:h100:1"]
    assert in_group("cuda:0", ["cuda:0", "cuda:1"]) == ["cuda:0"]


@pytest.mark.parametrize(
    ("devices", "wrong"),
    [
        (["cuda:0,cuda:0"], ["cuda:0"]),
        (["cuda:0", "cuda"], ["cuda"]),
        (["cuda:0*2"], ["cuda:0"]),
        (["sim:h100", "sim:h100"], ["sim:h100"]),
        (["cuda:0", "sim:h100"], ["cuda:0", "sim:h100"]),
        (["sim:h100*0"], ["sim:h100*0"]),
        (["programs:3"], ["programs:3", "programs:2"]),
        (["sim:h100", "programs:x"], ["programs:x", "programs:2"]),
        (["programs", "programs:0"], ["programs:0"]),
    ],
)
def test_wrong_devices_are_refused(three_gpus, devices, wrong):
    with raises_naming(gs.InvalidInput, *wrong):
        named(devices)


def test_all_gpus_of_a_machine_without_any_are_refused(monkeypatch):
    monkeypatch.setattr(served_devices, "visible_gpus", lambda **_: [])
    with raises_naming(gs.InvalidInput, "cuda:all"):
        named(["cuda:all"])


def test_a_placement_that_a_server_has_not_is_refused(call):
    for place in ("best", "predicted"):
        with raises_naming(gs.InvalidInput, place, "least-loaded", "first-fit"):
            require_served_placement(place)
        assert_names(call("serve", "--device", "sim:h100", "--place", place, code=2).stderr, place, "first-fit")


@pytest.fixture
def three_gpus(monkeypatch):
    monkeypatch.setattr(served_devices, "visible_gpus", lambda **_: UUIDS)
    monkeypatch.setattr(served_devices, "_has_one_gpu", lambda: False)


def test_a_driver_that_hangs_has_no_gpus(monkeypatch):
    monkeypatch.setattr(served_devices, "LIST_TIMEOUT_S", 0.0)
    assert visible_gpus.__wrapped__() == []


def test_programs_have_a_device_for_each_gpu(three_gpus):
    names = ["programs:0", "programs:1", "programs:2"]
    assert named(["programs"]) == names
    assert named(["cuda:all,programs"]) == ["cuda:0", "cuda:1", "cuda:2", *names]
    assert named(["programs:1"]) == ["programs:1"]
    assert among_gpus(None, names) == among_gpus("", names) == names
    assert among_gpus("1", names) == ["programs:1"]
    assert among_gpus("2, 0", names) == ["programs:0", "programs:2"]
    assert among_gpus("GPU-bbbb", names) == ["programs:1"]
    with raises_naming(gs.InvalidInput, "CUDA_VISIBLE_DEVICES", 7, *UUIDS):
        among_gpus("7", names)


def test_numbers_of_a_program_in_a_container_count_the_gpus_of_the_container(three_gpus):
    names = ["programs:0", "programs:1", "programs:2"]
    of_container = f"{UUIDS[2]},{UUIDS[1]}"  # CUDA numbers them in its own order, whatever the order of the list
    assert among_gpus(None, names, of_container) == ["programs:1", "programs:2"]
    assert among_gpus("0", names, of_container) == ["programs:1"]
    assert among_gpus("1", names, of_container) == ["programs:2"]
    assert among_gpus(UUIDS[2], names, of_container) == ["programs:2"]
    for hidden in ("2", UUIDS[0]):
        with raises_naming(gs.InvalidInput, f"CUDA_VISIBLE_DEVICES={hidden}", f"NVIDIA_VISIBLE_DEVICES={of_container}"):
            among_gpus(hidden, names, of_container)
