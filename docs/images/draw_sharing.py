# SPDX-License-Identifier: Apache-2.0
"""Draws two processes on one GPU: ``python docs/images/draw_sharing.py``.

It serves a simulated H100 in the time of the wall clock, lets two processes work there, first under FIFO and then under
SRTF, takes a trace, and draws it as ``gpushare trace -o`` does. Another run looks a little different.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gpushare as gs
from gpushare.plots.axes import detached_axes
from gpushare.results.server_trace import ServerTrace

FOLDER = Path(__file__).parent
SECONDS = 0.5
"""Under each policy."""
CLIENT = """
import sys, time
import gpushare as gs

name, waves, queued, pause_s = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
model = gs.KernelModel(f"kernel of {name}", threads=1024, latency_ns=4_000_000)  # two blocks fit an SM
with gs.connect() as session:
    application, jobs = session.application(name), []
    while True:
        jobs.append(application.submit(model, grid=waves * 264, block=1024))
        if len(jobs) > queued:
            jobs.pop(0).result()
            time.sleep(pause_s)
"""
CLIENTS = [("alice", 20, 1, 0.0), ("bob", 1, 0, 0.03)]
"""Name, waves of 4 ms per job, jobs that wait behind the present one, and seconds between jobs."""


def two_processes() -> bytes:
    """The trace."""
    with tempfile.TemporaryDirectory(prefix="gpushare") as folder:
        os.environ["GPUSHARE_SOCKET"] = f"{folder}/socket"
        command = [sys.executable, "-m", "gpushare", "serve", "--device", "sim:h100", "--policy", "fifo"]
        server = subprocess.Popen([*command, "--log-level", "ERROR"])
        while not os.path.exists(f"{folder}/socket"):
            time.sleep(0.05)
        clients = [subprocess.Popen([sys.executable, "-c", CLIENT, *map(str, each)]) for each in CLIENTS]
        with gs.connect() as session:
            while sum(each["ended_jobs"] > 0 for each in session.status()["applications"]) < len(CLIENTS):
                time.sleep(0.05)
            time.sleep(SECONDS)
            session.set_policy("srtf")
            time.sleep(SECONDS)
            content = session.trace(2 * SECONDS)
        for process in (*clients, server):
            process.terminate()
            process.wait()
    return content


def main() -> None:
    """Beside this file."""
    ax = ServerTrace.of(two_processes()).plot(detached_axes(9.5, 2.6))
    ax.figure.savefig(FOLDER / "two-processes.png", dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    main()
