# SPDX-License-Identifier: Apache-2.0
"""The server's own MPS, with a control that is none."""

import os
import signal
import time
from pathlib import Path

import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.supervisor import mps
from gpushare.daemon.supervisor.mps import Mps

FAKE = Path(__file__).parents[1] / "fake_mps"
PATIENCE_S = 60


def until(holds):
    ends_s = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < ends_s, "it does not come to that"
        time.sleep(0.02)
    return found


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


def test_it_is_there_until_the_server_ends(tmp_path):
    made = Mps(tmp_path / "socket")
    pid = pid_of(made)
    os.kill(pid, 0)
    made.close()
    until(lambda: pid_of(made) is None)


def test_one_that_ends_is_started_again(tmp_path):
    made = Mps(tmp_path / "socket")
    first = pid_of(made)
    os.kill(first, signal.SIGKILL)
    assert until(lambda: (pid := pid_of(made)) != first and pid)
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
