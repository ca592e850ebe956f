# SPDX-License-Identifier: Apache-2.0
"""What a session says of policies that it cannot have, and of those that misbehave."""

import pytest

import gpushare as gs

PATIENCE_S = 30
DEVICE = "sim:gtx480"


def submit(application, block_ms=1.0):
    return application.submit(gs.KernelModel("k", threads=192, latency_ns=block_ms * 1e6), grid=15, block=192)


@pytest.mark.parametrize("policy", ["sjf", "ljf", "srtf-zero-sampling", "arrival+sjf"])
def test_oracles_are_refused(policy):
    with pytest.raises(gs.InvalidInput, match=r"has to be told what launches take alone.*take srtf"):
        gs.Session(DEVICE, policy)
    with gs.Session(DEVICE, "fifo") as session:
        with pytest.raises(gs.InvalidInput, match="has to be told what launches take alone"):
            session.set_policy(policy)
        submit(session.application("a")).result(PATIENCE_S)
