# SPDX-License-Identifier: Apache-2.0
"""A session of gpushare: two applications under SRTF."""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import gpushare as gs

SOURCE = """
__global__ void scale(float* x, float by) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float value = x[i];
  for (int step = 0; step < 500; ++step) value = value * by + 0.1f;
  x[i] = value;
}
"""


def main(rounds: int) -> None:
    """A long and a short job each, then their results."""
    scale = gs.Kernel(SOURCE, "scale")
    seconds = []
    with gs.Session("cuda:0", policy="srtf") as session:
        alice, bob = session.application("alice"), session.application("bob")
        x, y = session.array(np.ones(1 << 24, np.float32)), session.array(np.ones(1 << 16, np.float32))
        for _ in range(rounds):
            start = time.perf_counter()
            long = alice.submit(scale, grid=1 << 16, block=256, args=[x, 0.5])
            bob.submit(scale, grid=1 << 8, block=256, args=[y, 0.5]).result()
            long.result()
            seconds.append(time.perf_counter() - start)
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(int(sys.argv[1]))
