# SPDX-License-Identifier: Apache-2.0
"""Programs on several GPUs (``gpushare run --all-gpus``): they run on all of them at the same moments, or on none."""

import json
import os
import signal
import subprocess

import pytest
from intercepted import value_after
from test_program_devices import DEVICES, on_device, uuids  # noqa: F401 - `uuids` is a fixture
from test_program_run import ENDLESS, GPUSHARE, PATIENCE_S, place, until  # noqa: F401 - `place` is a fixture

from gpushare.connect import watching
from gpushare.programs.coverage import descendants

BUSY = f"launch kernel {ENDLESS} 2000"  # each takes the GPU longer than the host


def states(place, name):  # noqa: F811
    """The program's state on each GPU."""
    found = []
    for device in DEVICES:
        with watching(place.socket, device) as session:
            own = [each for each in session.status().applications if each.name.partition("@")[0] == name]
            found += [each.state for each in own]
    return found


def started(place, gpu, *options):  # noqa: F811
    """A program that may use this GPU alone."""
    place.environment["CUDA_VISIBLE_DEVICES"] = str(gpu)
    try:
        return place.start(*options)
    finally:
        del place.environment["CUDA_VISIBLE_DEVICES"]


def test_a_gang_waits_on_all_gpus_while_a_more_urgent_program_has_work_on_one(place, uuids):  # noqa: F811
    place.serve("effisha-static")
    gang = place.start("--name", "gang", "--all-gpus", "--report-file", str(place.report))
    assert [on_device(place, each) for each in DEVICES] == [["gang"], ["gang"]]
    gang.send(BUSY)
    until(lambda: states(place, "gang") == ["running", "running"])
    beside, urgent = started(place, 0, "--name", "beside"), started(place, 1, "--name", "urgent", "--priority", "9")
    urgent.send(BUSY)
    until(lambda: states(place, "gang")[1] == "waiting")
    assert beside.ask("launch kernel 2000").startswith("took")  # the gang does not hold it meanwhile
    until(lambda: states(place, "gang") == ["waiting", "waiting"])
    urgent.process.terminate()
    until(lambda: states(place, "gang") == ["running", "running"])
    gang.process.terminate()
    gang.process.wait(PATIENCE_S)
    assert json.loads(place.report.read_text())["held_s"] > 0


def test_the_programs_of_all_gpus_wait_while_a_more_urgent_gang_has_work(place, uuids):  # noqa: F811
    place.serve("effisha-static")
    others = [started(place, gpu, "--name", f"on-{gpu}") for gpu in (0, 1)]
    gang = place.start("--name", "gang", "--priority", "9", "--all-gpus")
    for each in others:
        each.send(BUSY)
    until(lambda: states(place, "on-0") == states(place, "on-1") == ["running"])
    gang.send(BUSY)
    until(
        lambda: states(place, "on-0") == states(place, "on-1") == ["waiting"]
    )  # whose policy would let one of them run
    until(lambda: states(place, "gang") == ["running", "running"])
    gang.process.terminate()
    until(lambda: states(place, "on-0") == states(place, "on-1") == ["running"])


@pytest.mark.parametrize("policy", ["round-robin", "auto", "fair"])
def test_gangs_and_programs_get_on_under_every_kind_of_policy(place, uuids, policy):  # noqa: F811
    place.serve(policy)
    programs = [place.start("--name", f"gang-{number}", "--all-gpus") for number in range(2)]
    programs += [started(place, gpu, "--name", f"on-{gpu}") for gpu in (0, 1)]
    for _ in range(3):
        for program in programs:
            program.send("launch kernel 500")
        for program in programs:
            assert program.read().startswith("took")
    assert {each.ask("value") for each in programs} == {f"value {value_after(1500)}"}


def test_a_priority_is_set_on_all_gpus_of_a_gang(place, uuids):  # noqa: F811
    place.serve("effisha-static")
    gang = place.start("--name", "gang", "--all-gpus")
    gang.send(BUSY)
    until(lambda: "running" in states(place, "gang"))
    others = [started(place, gpu, "--name", "twice") for gpu in (0, 1)]
    subprocess.run([*GPUSHARE, "set-priority", "gang", "7", "--socket", str(place.socket)], check=True)
    for device in DEVICES:
        with watching(place.socket, device) as session:
            assert [each.priority for each in session.status().applications if each.name.startswith("gang")] == [7]
    refused = subprocess.run(
        [*GPUSHARE, "set-priority", "twice", "7", "--socket", str(place.socket)], capture_output=True, text=True
    )
    assert refused.returncode != 0
    assert "--device" in refused.stderr
    for each in others:
        each.end()


def test_a_gang_joins_the_next_server_on_all_its_gpus(place, uuids):  # noqa: F811
    server = place.serve()
    gang = place.start("--name", "gang", "--all-gpus")
    gang.send("launch kernel 20000")
    server.kill()
    server.wait()
    assert gang.read().startswith("took")
    place.serve()
    until(lambda: [on_device(place, each) for each in DEVICES] == [["gang"], ["gang"]])
    assert gang.ask("launch kernel 500").startswith("took")


def test_a_gang_goes_on_when_the_scheduler_of_one_of_its_gpus_dies(place, uuids):  # noqa: F811
    server = place.serve("effisha-static")
    urgent, gang = started(place, 0, "--name", "urgent", "--priority", "9"), place.start("--name", "gang", "--all-gpus")
    urgent.send(BUSY)
    until(lambda: states(place, "urgent") == ["running"])
    gang.send("launch kernel 500")
    until(lambda: states(place, "gang")[0] == "waiting")
    first_worker = min(descendants(server.pid)[1:])
    os.kill(first_worker, signal.SIGKILL)
    urgent.process.terminate()  # which would join the next one, and hold the gang again
    assert gang.read().startswith("took")
    until(lambda: [on_device(place, each) for each in DEVICES] == [["gang"], ["gang"]])


def test_an_ordering_is_for_programs_on_one_gpu(place, uuids):  # noqa: F811
    place.serve(ordering="'cumas'")
    refused = place.run("true", options=["--all-gpus"])
    assert refused.returncode == 125
    assert "'cumas'" in refused.stderr
    assert place.run("true").returncode == 0
