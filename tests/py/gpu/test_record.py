# SPDX-License-Identifier: Apache-2.0
"""gpushare record on a real GPU: gpushare itself is the program."""

import sys

import pytest

import gpushare as gs
from gpushare.recorded.capture import LIBRARY, capture
from gpushare.recorded.conversion import converted
from gpushare.recorded.recorded_device import recorded_device
from gpushare.recorded.recording import read_recording
from gpushare.recorded.replay import replayed_alone

pytestmark = pytest.mark.gpu


def test_a_program_is_recorded_and_replayed(tmp_path):
    if not LIBRARY.is_file():
        pytest.skip("gpushare was built without CUPTI's headers")
    command = [sys.executable, "-m", "gpushare", "schedule", "suite_pair", "--policy", "hardware-serial"]
    assert capture([*command, "--device", "cuda:0"], tmp_path / "t.trace") == 0
    recording = read_recording(tmp_path / "t.trace")
    assert list(recording.remarks()) == []
    made = converted(recording, "t")
    names = {launch.kernel.name for _, launch in made.workload.applications[0].launches()}
    assert {"triad", "matrix_product"} <= names
    assert made.workload.applications[0].memory_bytes > 0
    record = recording.device_record()
    assert (record.sms, record.warps_per_sm) == (gs.device("cuda:0").sms, gs.device("cuda:0").per_sm.warps)
    (replayed,) = replayed_alone(made.workload, recorded_device(record)).values()
    assert replayed > 0
