# SPDX-License-Identifier: Apache-2.0
"""Training steps with PyTorch, else with CuPy, else a loop with Numba; exit code 77 if none is installed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

NOT_THERE = 77


def torch_step() -> Callable[[], None]:
    """A multilayer perceptron on batches from pageable memory; reads the loss after every step."""
    import torch

    device = torch.device("cuda")
    model = torch.nn.Sequential(*[layer for _ in range(4) for layer in (torch.nn.Linear(2048, 2048), torch.nn.ReLU())])
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(4096, 2048)

    def step() -> None:
        x = batch.to(device)
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()

    return step


def cupy_step() -> Callable[[], None]:
    """Element by element, sums, and a copy back."""
    import cupy
    import numpy as np

    host = np.random.default_rng(1).random((2048, 2048), np.float32)
    weights = cupy.asarray(host)

    def step() -> None:
        x = cupy.asarray(host)
        for _ in range(10):
            x = cupy.tanh(x * weights + 0.1)
        float(x.sum().get())

    return step


def numba_step() -> Callable[[], None]:
    """One kernel, ten times, between copies."""
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, by):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = x[i] * by + 1.0

    host = np.random.default_rng(1).random(1 << 23, np.float32)

    def step() -> None:
        x = cuda.to_device(host)
        for _ in range(10):
            kernel[(host.size + 255) // 256, 256](x, np.float32(0.5))
        x.copy_to_host()

    return step


def main(rounds: int) -> None:
    """Runs this number of steps."""
    for name, make in (("torch", torch_step), ("cupy", cupy_step), ("numba", numba_step)):
        try:
            step = make()
        except ImportError:
            continue
        print(f"training with {name}", file=sys.stderr)
        seconds = []
        for _ in range(rounds):
            start = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - start)
        print(json.dumps(seconds))
        return
    sys.exit(NOT_THERE)


if __name__ == "__main__":
    main(int(sys.argv[1]))
