# SPDX-License-Identifier: Apache-2.0
"""Makes clients to be killed, quickly: a process that has imported everything, and forks one for every line it reads.

Run as a program, with the server's socket. A line is a seed; it says ``began PID``, and the client itself
``works PID`` once it has submitted jobs.
"""

import contextlib
import os
import random
import signal
import sys

import numpy as np

import gpushare as gs
import gpushare.daemon.client.session


def victim(path, seed):
    """Does all there is to do, until it is killed."""
    chance = random.Random(seed)
    kernels = [gs.Kernel("__global__ void k() {}", name) for name in ("add", "slow_add", "add_to")]
    said = False
    with gs.connect(path) as session:
        application = session.application("victim")
        while True:
            with contextlib.suppress(gs.WorkerLostError):
                size = chance.choice([10, 200_000])
                arrays = [session.array(np.ones(size)) for _ in range(2)]
                kernel = chance.choice(kernels)
                args = {"add": [arrays[0], 1], "slow_add": [arrays[0], 1, 0.02], "add_to": arrays}[kernel.name]
                jobs = [application.submit(kernel, grid=1, block=1, args=args) for _ in range(chance.randrange(1, 5))]
                if not said:
                    os.write(1, f"works {os.getpid()}\n".encode())
                    said = True
                if chance.random() < 0.5:
                    jobs[-1].result(30)
                    arrays[0].numpy()


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                victim(sys.argv[1], int(line))
            finally:
                os._exit(1)
        os.write(1, f"began {child}\n".encode())
