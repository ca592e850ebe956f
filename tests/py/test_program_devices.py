# SPDX-License-Identifier: Apache-2.0
"""``gpushare run`` on a host with several GPUs: each program gets one of them before it starts."""

import json
import os
import subprocess
import sys

import pytest
from intercepted import value_after
from test_program_run import ENDLESS, PATIENCE_S, Place, place, until  # noqa: F401 - `place` is a fixture

import gpushare as gs
from gpushare.connect import watching

SHOW = "import os; print(os.environ.get('CUDA_VISIBLE_DEVICES', 'all'))"
DEVICES = ["programs:0", "programs:1"]


@pytest.fixture
def uuids(place):  # noqa: F811
    """Those of the two GPUs; the server schedules programs on both."""
    place.environment["GPUSHARE_STAND_IN_DEVICES"] = "2"
    listed = subprocess.run(
        [sys.executable, "-c", "import json; from gpushare import _core; print(json.dumps(_core.cuda_device_uuids()))"],
        env=place.environment,
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return json.loads(listed.stdout)


def shown(place, **environment):  # noqa: F811
    """What a program is told, and how it ended."""
    ran = place.run(sys.executable, "-c", SHOW, **environment)
    return ran.returncode, ran.stdout.strip(), ran.stderr


def on_device(place, device):  # noqa: F811
    with watching(place.socket, device) as session:
        return [each["name"].partition("@")[0] for each in session.status()["applications"]]


def states(place, device):  # noqa: F811
    with watching(place.socket, device) as session:
        return [each.state for each in session.status().applications]


def test_programs_are_on_different_gpus_and_each_is_scheduled_there(place, uuids):  # noqa: F811
    place.serve("fifo")
    assert len(set(uuids)) == 2
    assert all(each.startswith("GPU-") and len(each) == 40 for each in uuids)
    first, second = place.start("--name", "first"), place.start("--name", "second")
    assert [on_device(place, each) for each in DEVICES] == [["first"], ["second"]]
    first.send(f"launch kernel {ENDLESS}")
    until(lambda: states(place, DEVICES[0]) == ["running"])
    second.ask("launch kernel 2000")  # on one device fifo would hold it
    assert second.ask("sync") == "ok"
    assert second.ask("value") == f"value {value_after(2000)}"
    second.end()
    until(lambda: on_device(place, DEVICES[1]) == [])
    assert shown(place)[:2] == (0, uuids[1])


def test_a_program_is_told_its_gpu(place, uuids):  # noqa: F811
    place.serve()
    code, told, _ = shown(place)
    assert (code, told) == (0, uuids[0])


def test_a_choice_of_the_user_is_kept(place, uuids):  # noqa: F811
    place.serve()
    for visible, told in (("1", uuids[1]), (uuids[1], uuids[1]), ("0,1", uuids[0]), ("", ""), ("-1", "-1")):
        assert shown(place, CUDA_VISIBLE_DEVICES=visible)[:2] == (0, told)
    assert shown(place, NVIDIA_VISIBLE_DEVICES=uuids[1])[:2] == (0, uuids[1])
    assert shown(place, NVIDIA_VISIBLE_DEVICES=uuids[1], CUDA_VISIBLE_DEVICES="0")[:2] == (0, uuids[1])
    code, _, said = shown(place, CUDA_VISIBLE_DEVICES="7")
    assert code == 125
    assert "CUDA_VISIBLE_DEVICES=7" in said
    assert all(each in said for each in uuids)


def test_a_program_may_keep_all_gpus(place, uuids):  # noqa: F811
    place.serve()
    everywhere = place.start("--name", "everywhere", "--all-gpus")
    assert [on_device(place, each) for each in DEVICES] == [["everywhere"], ["everywhere"]]
    everywhere.end()
    ran = place.run(sys.executable, "-c", SHOW, options=["--all-gpus"])
    assert ran.stdout.strip() == os.environ.get("CUDA_VISIBLE_DEVICES", "all")


def test_a_host_with_one_gpu_changes_nothing(place):  # noqa: F811
    place.serve()
    assert shown(place)[:2] == (0, os.environ.get("CUDA_VISIBLE_DEVICES", "all"))
    with gs.connect(place.socket, device="programs") as session:
        assert session.device == "programs"


def test_a_server_that_the_command_starts_has_all_gpus(place, uuids):  # noqa: F811
    assert isinstance(place, Place)
    assert shown(place)[:2] == (0, uuids[0])


def test_a_program_joins_the_next_server_on_its_gpu(place, uuids):  # noqa: F811
    server = place.serve()
    other, program = place.start("--name", "other"), place.start("--name", "program")
    assert on_device(place, DEVICES[1]) == ["program"]
    other.end()
    server.kill()
    server.wait()
    place.serve()
    until(lambda: on_device(place, DEVICES[1]) == ["program"])
    program.end()
