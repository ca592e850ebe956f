# SPDX-License-Identifier: Apache-2.0
"""benchmarks/several_gpus.py on two simulated devices, small: a real server, and a session on both."""

import json
import os
import pathlib
import subprocess
import sys

from benchmarks.several_gpus import DIVISIONS

import gpushare as gs

ROOT = pathlib.Path(__file__).parents[2]


def test_its_figures_are_whole(tmp_path):
    file = tmp_path / "figures.json"
    line = ["--device", "sim:h100*2", "--size", "small", "--sets", "2", "--repeats", "1", "--length-ms", "5"]
    folders = [str(pathlib.Path(gs.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.several_gpus", *line, "--json", str(file)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    assert sorted(found["server"]["devices"]) == ["sim:h100:0", "sim:h100:0", "sim:h100:1", "sim:h100:1"]
    assert len(found["sets"]) == 2
    for each in found["sets"]:
        assert set(each["stp"]) == {"".join(map(str, division)) for division in DIVISIONS}
        assert all(value > 0 for value in each["stp"].values())
        for way, chosen in each["chosen"].items():
            assert 0 < each[way] <= 1
            assert abs(each[way] - each["stp"][chosen] / max(each["stp"].values())) < 0.01
    assert len(set(DIVISIONS)) == 8
