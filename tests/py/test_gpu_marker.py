# SPDX-License-Identifier: Apache-2.0
"""A test that needs a GPU is skipped without one, and fails where a GPU is promised."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import gpushare

HERE = pathlib.Path(__file__).parent
NEEDS_A_GPU = "import pytest\n\n@pytest.mark.gpu\ndef test_needs_a_gpu():\n    pass\n"


@pytest.mark.parametrize(("required", "outcome", "code"), [("0", "1 skipped", 0), ("1", "1 error", 1)])
def test_without_a_gpu(tmp_path, required, outcome, code):
    shutil.copy(HERE / "conftest.py", tmp_path)
    (tmp_path / "test_gpu.py").write_text(NEEDS_A_GPU)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = gpu: needs a CUDA device\n")
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "GPUSHARE_REQUIRE_GPU": required}
    environment["PYTHONPATH"] = str(pathlib.Path(gpushare.__file__).parents[1])
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tmp_path)]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert outcome in run.stdout
    assert run.returncode == code
