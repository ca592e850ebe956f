# SPDX-License-Identifier: Apache-2.0
"""Examples of ``python daemon`` in README and guide, against a real worker with a simulated device."""

import pathlib
import re

import numpy as np
import pytest

import gpushare as gs
from gpushare.daemon.supervisor.worker_process import COMMAND

ROOT = pathlib.Path(__file__).parents[3]


@pytest.mark.parametrize("page", ["README.md", "docs/guide/server.md"])
def test_examples_run(page, start_server, monkeypatch):
    examples = re.findall(r"```python daemon\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) > 0
    scale = gs.KernelModel("scale", threads=256, latency_ns=2_000)
    with start_server(worker=COMMAND, policy="even") as path:
        monkeypatch.setenv("GPUSHARE_SOCKET", str(path))
        with gs.connect() as session:
            names = {
                "gs": gs,
                "np": np,
                "scale": scale,
                "kernel": scale,
                "session": session,
                "application": session.application("example"),
                "values": np.ones(64, np.float32),
            }
            for example in examples:
                exec(compile(example, page, "exec"), dict(names))
