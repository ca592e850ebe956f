# SPDX-License-Identifier: Apache-2.0
"""Kernels of which there is only machine code: whole launches under every policy, and through the server."""

import numpy as np
import pytest
from cubins import cubin_of
from messages import raises_naming

import gpushare as gs
from gpushare.backends.cuda.device import cuda_device

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

DEVICE = "cuda:0"
PATIENCE_S = 60
COUNT = 2000
TYPES = ["float*", "float", "int"]


@pytest.fixture(scope="module")
def scale(kernels):
    arch = cuda_device(DEVICE).core.architecture
    return gs.Kernel(cubin_of(kernels.source, "scale", arch), "scale", parameters=TYPES)


def check_scaled(session, scale, kernels):
    """Beside a kernel that can be preempted."""
    values = session.array(np.arange(COUNT, dtype=np.float32))
    application, other = session.application("opaque"), session.application("other")
    check = kernels.scaled(session, other)
    for factor in (3.0, 0.5):
        job = application.submit(scale, grid=-(-COUNT // 256), block=256, args=[values, factor, COUNT])
    job.result(PATIENCE_S)
    check()
    assert np.array_equal(values.numpy(), np.arange(COUNT, dtype=np.float32) * np.float32(1.5))


@pytest.mark.parametrize("policy", [entry.name for entry in gs.policies() if not entry.is_oracle])
def test_whole_launches_under_every_policy(scale, kernels, policy):
    with gs.Session(DEVICE, policy, measure_alone=False) as session:
        check_scaled(session, scale, kernels)
        assert sorted(session.finish().launches()["kernel"]) == ["scale", "scale", "scale"]


@pytest.mark.parametrize("policy", [entry.name for entry in gs.policies() if entry.is_oracle])
def test_oracles_measure_them_alone(scale, kernels, policy):
    def launches(kernel):
        return [gs.Launch(kernel, grid=8, block=256, args=[gs.Zeros(COUNT, np.float32), 2.0, COUNT])] * 2

    applications = [gs.Application(name, launches(each)) for name, each in (("o", scale), ("p", kernels.scale))]
    run = gs.run(gs.Workload("both", applications), policy, device=DEVICE)
    assert len(run.launches()) == 4


def test_through_the_server(scale, kernels, served):
    with served() as socket, gs.connect(socket) as session:
        check_scaled(session, scale, kernels)
        wrong = session.zeros(8, np.int32)
        with raises_naming(gs.InvalidInput, 1, "float32", "int32"):
            session.application("wrong").submit(scale, grid=1, block=8, args=[wrong, 2.0, 8])
        with pytest.raises(gs.InvalidInput):
            session.load(gs.Kernel(b"\x7fELF nothing else", "scale"))


def test_code_for_another_gpu_is_refused(kernels):
    with gs.Session(DEVICE) as session:
        other = "sm_75" if not cuda_device(DEVICE).core.architecture.startswith("sm_7") else "sm_90"
        with raises_naming(gs.InvalidInput, other):
            session.load(gs.Kernel(cubin_of(kernels.source, "scale", other), "scale"))
