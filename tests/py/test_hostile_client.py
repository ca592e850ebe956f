# SPDX-License-Identifier: Apache-2.0
"""benchmarks/hostile_client.py, short: a client that does its worst beside an honest one of another user."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from benchmarks.hostile_client import simulated

import gpushare as gs

ROOT = pathlib.Path(__file__).parents[2]
SHARE = 0.5
ATTACKS = {"connections": "clients_per_user", "memory": "memory_bytes_per_user", "kernels": "kernels_per_user"}
OTHERS = {"priorities": "highest_priority", "nonsense": "refused"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "rows.json"
    folders = [str(pathlib.Path(gs.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
    command = [sys.executable, "-m", "benchmarks.hostile_client", "--seconds", "4", "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    return {row["beside"]: row for row in json.loads(path.read_text())}


def test_the_honest_client_keeps_what_its_share_promises(rows):
    """Of SM time, and so of what its kernel gets done: how fast this machine is has no part in it."""
    assert rows["alone"]["part"] == pytest.approx(1)
    for neighbour in ("equal", "hostile"):
        assert rows[neighbour]["part"] > 0.9 * SHARE
        assert rows[neighbour]["launches_per_s"] > 0


def test_latency_is_within_a_tenth_of_that_beside_an_equal_client_where_processors_take_no_time():
    equal, hostile = simulated("equal"), simulated("hostile")
    assert hostile["p99_ms"] < 1.1 * equal["p99_ms"]
    assert equal["p99_ms"] < 1.1 * simulated("alone")["p99_ms"] / SHARE


def test_the_hostile_client_is_told_which_limits_it_met(rows):
    told = rows["hostile"]["told"]
    assert told.keys() == (ATTACKS | OTHERS).keys()
    for name, setting in (ATTACKS | OTHERS).items():
        assert setting in told[name]["words"]
        assert told[name]["times"] > 0
