# SPDX-License-Identifier: Apache-2.0
"""The tests of tests/py/gpu where there is no GPU: src/cuda drives tools/stand_in as it drives a real one.

A file of them is a test here, in a process of its own, as the driver is opened once in a process.
"""

import os
import pathlib
import subprocess
import sys

import pytest
import stand_in_gpu

import gpushare

HERE = pathlib.Path(__file__).parent
FILES = sorted(path.name for path in (HERE / "gpu").glob("test_*.py"))
ONLY_ON_A_GPU = {"test_documented_examples.py", "test_front_ends.py", "test_record.py", "test_validate.py"}
TAKE_MINUTES = {"test_suite_kernels.py"}
DEVICES = {"test_runs_on_several_gpus.py": "2", "test_second_device.py": "2", "test_spread.py": "4"}
ALL = "GPUSHARE_STAND_IN_ALL"
"""Set to 1 for those that take minutes, too."""
LONGEST_S = 1500


@pytest.fixture
def environment(tmp_path, tmp_path_factory):
    stand_in_gpu.require_library()
    folders = [str(pathlib.Path(gpushare.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, folders)),
        "GPUSHARE_STAND_IN": "1",
        "GPUSHARE_REQUIRE_GPU": "1",
        "GPUSHARE_CACHE_DIR": str(tmp_path_factory.getbasetemp() / "kernels"),
    }


@pytest.mark.timeout(LONGEST_S + 60)
@pytest.mark.parametrize("file", [name for name in FILES if name not in ONLY_ON_A_GPU])
def test_file(file, environment, tmp_path):
    if file in TAKE_MINUTES and os.environ.get(ALL) != "1":
        pytest.skip(f"takes minutes: {ALL}=1 runs it")
    environment = environment | {"GPUSHARE_STAND_IN_DEVICES": DEVICES.get(file, "1")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--maxfail=5"]
    command += ["--timeout=300", f"--basetemp={tmp_path / 'temp'}", str(HERE / "gpu" / file)]
    run = subprocess.run(
        command,
        cwd=HERE.parents[1],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    assert " passed" in run.stdout
