# SPDX-License-Identifier: Apache-2.0
"""What an application's host does between operations: in files, on simulated devices, and refused on a GPU."""

import dataclasses

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.model.device_file import device_from_dict, device_to_dict

KERNEL = gs.KernelModel("k", threads=64, latency_ns=10_000)

FILE = """
name = "paced"

[[kernel]]
name = "k"
threads = 64
latency_ns = 10_000

[[application]]
name = "a"
operations = [
  { copy = "to_device", bytes = 4096, time_ns = 3000 },
  { launch = "k", blocks = 1, host_ns = 20_000, repeat = 2 },
  { launch = "k", blocks = 1, after_ns = 0, gap_ns = 1500 },
]
"""


@pytest.fixture
def bare_device():
    """No delays of its own."""
    return device_from_dict({**device_to_dict(gs.device("gtx480")), "delays": {}})


@pytest.fixture
def paced_file(tmp_path):
    path = tmp_path / "paced.toml"
    path.write_text(FILE)
    return path


def turnaround(operations, device):
    workload = gs.Workload("w", [gs.Application("a", operations)])
    return gs.run(workload, "fifo", device=device).applications().turnaround_ns[0]


def test_a_file_says_it(paced_file):
    copy, first, second, last = gs.Workload.from_toml(paced_file).applications[0].operations
    assert copy.time_ns == 3000
    assert first == second == gs.Launch(KERNEL, 1, pace=gs.HostPace(host_ns=20_000))
    assert last.pace == gs.HostPace(after_ns=0, gap_ns=1500)


def test_it_survives_being_written(paced_file):
    workload = gs.Workload.from_toml(paced_file)
    data = workload.to_dict()
    assert data["application"][0]["operations"][1:] == [
        {"launch": "k", "blocks": 1, "host_ns": 20_000, "repeat": 2},
        {"launch": "k", "blocks": 1, "after_ns": 0, "gap_ns": 1500},
    ]
    assert gs.Workload.from_dict(data) == workload


def test_launches_that_differ_in_it_alone_are_not_run_into_one():
    quick = gs.Launch(KERNEL, 1)
    slow = dataclasses.replace(quick, pace=gs.HostPace(after_ns=5))
    workload = gs.Workload("w", [gs.Application("a", [quick, slow])])
    assert gs.Workload.from_dict(workload.to_dict()) == workload


def test_the_host_takes_its_time(bare_device):
    launch = gs.Launch(KERNEL, 1)
    assert turnaround([launch, launch], bare_device) == 20_000
    assert turnaround([launch, dataclasses.replace(launch, pace=gs.HostPace(after_ns=500))], bare_device) == 20_500
    assert turnaround([launch, dataclasses.replace(launch, pace=gs.HostPace(host_ns=500))], bare_device) == 20_000
    assert turnaround([launch, dataclasses.replace(launch, pace=gs.HostPace(host_ns=12_000))], bare_device) == 22_000
    assert turnaround([launch, dataclasses.replace(launch, pace=gs.HostPace(gap_ns=70))], bare_device) == 20_070


def test_a_copy_takes_the_time_that_it_says(bare_device):
    assert turnaround([gs.Copy("to_host", 2**30, time_ns=1234)], bare_device) == 1234


def test_what_waits_for_its_host_leaves_the_gpu_to_others(bare_device):
    """Alone both take 10 x (10 + 10) us; their kernels fit into each other's pauses."""
    launch = gs.Launch(KERNEL, 15 * 8, pace=gs.HostPace(after_ns=10_000))
    workload = gs.Workload("w", [gs.Application(name, 10 * [launch]) for name in "ab"])
    run = gs.run(workload, "fifo", device=bare_device)
    assert list(run.applications().alone_ns) == [200_000, 200_000]
    assert list(run.applications().end_ns) == [200_000, 210_000]


@pytest.mark.parametrize(
    ("pace", "named"),
    [
        ({"host_ns": -1}, ("host_ns", "0..1e+15", -1)),
        ({"after_ns": "soon"}, ("after_ns", "soon")),
        ({"gap_ns": float("nan")}, ("gap_ns", "nan")),
    ],
)
def test_impossible_paces_are_refused(pace, named):
    with raises_naming(gs.InvalidInput, named):
        gs.HostPace(**pace)


def test_what_is_no_pace_is_refused():
    with raises_naming(gs.InvalidInput, "pace", "HostPace", 5):
        gs.Launch(KERNEL, 1, pace=5)
    with raises_naming(gs.InvalidInput, "time_ns"):
        gs.Copy("to_host", 1, time_ns=0)


def test_a_key_of_another_operation_is_refused(paced_file):
    paced_file.write_text(FILE.replace("host_ns = 20_000", "time_ns = 20_000"))
    with raises_naming(gs.InvalidInput, "a", 2):
        gs.Workload.from_toml(paced_file)


def test_a_gpu_keeps_no_pace():
    launch = dataclasses.replace(gs.Launch.of_suite("triad"), pace=gs.HostPace(after_ns=1))
    workload = gs.Workload("w", [gs.Application("a", [launch])])
    with raises_naming(gs.InvalidInput, "a"):
        workload.require_real()
