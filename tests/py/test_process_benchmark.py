# SPDX-License-Identifier: Apache-2.0
"""benchmarks/gpu/processes.py on a simulated device: real processes and a real server, small."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import gpushare as gs

ROOT = pathlib.Path(__file__).parents[2]
TIMEOUT_S = 240


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    path = tmp_path_factory.mktemp("benchmark") / "figures.json"
    options = ["--counts", "2,3", "--repeats", "2", "--window-ms", "300", "--size", "small", "--policies", "auto,srtf"]
    line = ["processes", "--device", "sim:h100", "--kernels", "triad,nbody", *options, "--json", str(path)]
    folders = [str(pathlib.Path(gs.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
    environment["TMPDIR"] = "/tmp"  # the path of its server's socket has to be short
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu", *line],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text())["tables"]


def test_a_table_per_number_of_processes(tables):
    assert [each["title"] for each in tables] == [
        "2 processes: triad, reduction now and then",
        "3 processes: triad, nbody, reduction now and then",
    ]
    for table in tables:
        assert [row["way"] for row in table["rows"]] == ["server, auto", "server, srtf"]


def test_the_figures_can_be(tables):
    for row in tables[0]["rows"] + tables[1]["rows"]:
        assert row["STP"]["count"] == 2
        assert row["STP"]["median"] > 0
        assert row["ANTT"]["median"] * row["STP"]["median"] >= 1  # by the inequality of the means
        assert 0 < row["short p50, us"]["median"] <= row["short p99, us"]["median"]
        assert row["short launches"] > 0
