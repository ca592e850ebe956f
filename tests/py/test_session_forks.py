# SPDX-License-Identifier: Apache-2.0
"""Processes that are forked while a session is open, as by a loader of data."""

import subprocess
import sys

PARENT_AND_CHILD = """
import os
import gpushare as gs

with gs.Session("sim:h100", policy="fifo", speed=1e6) as session:
    application = session.application("alice")
    kernel = gs.KernelModel("kernel", threads=256, latency_ns=20_000)
    before = application.submit(kernel, grid=100, block=256)
    child = os.fork()
    if child == 0:
        for refused in (before.result, lambda: application.submit(kernel, grid=100, block=256), session.finish):
            try:
                refused()
            except gs.InvalidInput as error:
                print(error, flush=True)
        with gs.Session("sim:h100", policy="fifo", speed=1e6) as own:
            own.application("bob").submit(kernel, grid=100, block=256).result()
            print(len(own.finish().launches()), flush=True)
    else:
        assert os.waitpid(child, 0)[1] == 0
        application.submit(kernel, grid=100, block=256).result()
        print(len(session.finish().launches()))
"""


def test_a_session_stays_with_the_process_that_opened_it():
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PARENT_AND_CHILD]  # of threads and forks
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    *refusals, in_child, in_parent = run.stdout.splitlines()
    assert len(refusals) == 3
    assert all("belongs to the process that this one was forked from" in each for each in refusals)
    assert (in_child, in_parent) == ("1", "2")
