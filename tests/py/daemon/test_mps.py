# SPDX-License-Identifier: Apache-2.0
"""The server's own MPS, with a control that is none."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.supervisor import mps
from gpushare.daemon.supervisor.mps import Mps

FAKE = Path(__file__).parents[1] / "fake_mps"


def pid_of(made):
    file = Path(made.environment["CUDA_MPS_PIPE_DIRECTORY"]) / "nvidia-cuda-mps-control.pid"
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


@pytest.fixture(autouse=True)
def control(monkeypatch):
    monkeypatch.setenv("PATH", f"{FAKE}:{os.environ['PATH']}")
    monkeypatch.setattr(mps, "LOOK_S", 0.05)


def test_it_is_there_until_the_server_ends(tmp_path, eventually):
    made = Mps(tmp_path / "socket")
    pid = pid_of(made)
    os.kill(pid, 0)
    made.close()
    eventually(lambda: pid_of(made) is None)


def test_one_that_ends_is_started_again(tmp_path, eventually):
    made = Mps(tmp_path / "socket")
    first = pid_of(made)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: pid_of(made) not in (None, first))
    made.close()


def test_the_next_server_takes_over_what_a_killed_one_left(tmp_path):
    left = Mps(tmp_path / "socket")
    next_one = Mps(tmp_path / "socket")
    assert pid_of(next_one) == pid_of(left)
    for each in (left, next_one):
        each.close()


def test_an_mps_that_does_not_start_has_its_reason_told(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_MPS_FAILS", "1")
    with raises_naming(gs.InvalidInput, "exclusive mode"):
        Mps(tmp_path / "socket")


def test_without_mps_on_the_machine_it_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises_naming(gs.InvalidInput, "nvidia-cuda-mps-control"):
        Mps(tmp_path / "socket")


def test_one_that_is_being_started_again_does_not_outlive_the_server(tmp_path, monkeypatch, eventually):
    made = Mps(tmp_path / "socket")
    first = made._process
    monkeypatch.setenv("FAKE_MPS_STARTS_S", "1")
    first.kill()
    eventually(lambda: made._process is not first)
    second = made._process
    made.close()
    second.wait(60)
    assert not made._keeper.is_alive()


def test_a_second_close_does_not_end_the_mps_of_the_next_server(tmp_path, eventually):
    made = Mps(tmp_path / "socket")
    made.close()
    eventually(lambda: pid_of(made) is None)
    next_one = Mps(tmp_path / "socket")
    process = next_one._process
    made.close()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    next_one.close()


def test_a_process_that_has_the_number_of_an_ended_mps_is_not_killed(tmp_path, monkeypatch):
    folder = tmp_path / "socket.mps" / "pipe"
    folder.mkdir(parents=True)
    monkeypatch.setenv("FAKE_MPS_FAILS", "1")
    with subprocess.Popen(["sleep", "60"]) as other:
        (folder / "nvidia-cuda-mps-server.pid").write_text(str(other.pid))
        with raises_naming(gs.InvalidInput, "exclusive mode"):
            Mps(tmp_path / "socket")
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.5)
        other.kill()
