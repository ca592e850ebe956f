# SPDX-License-Identifier: Apache-2.0
"""Jobs that wait for streams and events of other libraries."""

import importlib.util

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

PATIENCE_S = 30
COPY = gs.Kernel("__global__ void copy(const int* x, int* y) { y[threadIdx.x] = x[threadIdx.x]; }", "copy")
COUNT = 256
CYCLES = 400_000_000
"""Some 0.2 s."""


class Stream:
    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return (0, self.handle)


class Event:
    def __init__(self, handle):
        self.cuda_event = handle


@pytest.fixture
def copied(session):
    """Submits a copy of an array that waits for something; the job, and the array that it fills."""

    def submit(source, after):
        target = session.zeros(COUNT, np.int32)
        job = session.application("copies").submit(COPY, grid=1, block=COUNT, args=[source, target], after=after)
        return job, target

    return submit


legacy = pytest.mark.real_gpu("the stand-in has no legacy default stream")


@pytest.mark.parametrize("default", [pytest.param(0, marks=legacy), pytest.param(1, marks=legacy), 2])
def test_waits_for_an_idle_stream(session, copied, default):
    job, target = copied(session.array(np.arange(COUNT, dtype=np.int32)), Stream(default))
    job.result(PATIENCE_S)
    assert (target.numpy() == np.arange(COUNT)).all()


def test_an_event_that_was_not_recorded_is_refused(session, copied):
    with raises_naming(gs.InvalidInput, "after", "recorded"):
        copied(session.zeros(COUNT, np.int32), Event(0))


@pytest.fixture
def torch():
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    import torch

    return torch


@pytest.mark.real_gpu("PyTorch needs a GPU")
@pytest.mark.parametrize("kind", ["stream", "event"])
@pytest.mark.filterwarnings("ignore")
def test_waits_for_what_pytorch_has_under_way(torch, copied, kind):
    values = torch.zeros(COUNT, dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(CYCLES)
        values.fill_(7)
        event = stream.record_event()
    job, target = copied(values, stream if kind == "stream" else event)
    assert not job.done()
    job.result(PATIENCE_S)
    assert (target.numpy() == 7).all()


@pytest.mark.real_gpu("PyTorch needs a GPU")
@pytest.mark.filterwarnings("ignore")
def test_a_session_can_be_closed_while_a_job_waits_for_a_stream(torch):
    with gs.Session("cuda:0", "fifo") as session:
        torch.cuda._sleep(CYCLES)
        x, y = session.zeros(COUNT, np.int32), session.zeros(COUNT, np.int32)
        application = session.application("copies")
        job = application.submit(COPY, grid=1, block=COUNT, args=[x, y], after=torch.cuda.current_stream())
    assert isinstance(job.exception(PATIENCE_S), gs.DeviceError)
    torch.cuda.synchronize()
