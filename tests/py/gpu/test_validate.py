# SPDX-License-Identifier: Apache-2.0
"""A tiny validation on a real GPU: all is recorded, and can be compared where the GPU has a simulated device."""

import json

import pytest
from click.testing import CliRunner

from gpushare.backends.cuda.device import cuda_device
from gpushare.cli import main
from gpushare.profile.lookup import SIMULATED
from gpushare.validation.recording import Recording

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.xdist_group("gpu"),
    pytest.mark.timeout(300),
    pytest.mark.real_gpu("what is compared are times"),
]

TINY = ["--kernels", "md5,transpose", "--policies", "fifo,even", "--splits", "66", "--repeats", "1"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("validate") / "recorded.json"
    result = CliRunner().invoke(main, ["validate", "--record-only", "--save", str(path), *TINY])
    assert result.exit_code == 0, result.output
    return path


def test_everything_is_recorded(recorded):
    recording = Recording.load(recorded)
    assert recording.failures == ()
    assert recording.kernels == ["md5", "transpose"]
    assert recording.ways == ["fifo", "even", "split:66"]
    assert recording.sms == cuda_device("cuda:0").description.sms
    for runs in recording.pairs:
        assert len(runs.operations_ns) == sum(runs.launches)
        assert all(time > 0 for times in runs.turnaround_ns for time in times)
    by_sms = [each.median_ns for each in recording.solo if each.kernel == "md5" and not each.residency]
    assert by_sms[0] > 20 * by_sms[-1]


def test_it_can_be_compared(recorded):
    if cuda_device("cuda:0").description.name not in SIMULATED.values():
        pytest.skip("no simulated device stands for this GPU")
    result = CliRunner().invoke(main, ["validate", "--from", str(recorded), "--json"])
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)["figures"]
    assert figures["solo time against SMs"]["median"] < 0.25
    assert figures["STP"]["median"] < 0.25
