# SPDX-License-Identifier: Apache-2.0
"""Calls of NVIDIA's libraries through PyTorch, of Triton, and of a graph; prints one JSON line of results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import torch
import torch.nn.functional as functional

try:
    import triton
    import triton.language as tl

    @triton.jit
    def add(x, y, z, count, SIZE: tl.constexpr):  # noqa: N803 - so constants of Triton are written
        """Sums of two arrays."""
        at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
        tl.store(z + at, tl.load(x + at, at < count) + tl.load(y + at, at < count), at < count)
except ImportError:
    triton = None


def calls() -> dict[str, Callable[[], torch.Tensor]]:
    """The calls by their libraries."""
    a, b = torch.randn(1024, 1024, device="cuda"), torch.randn(1024, 1024, device="cuda")
    image, filters = torch.randn(8, 64, 56, 56, device="cuda"), torch.randn(64, 64, 3, 3, device="cuda")
    heads = torch.randn(4, 8, 512, 64, device="cuda", dtype=torch.bfloat16)
    found = {
        "cublas": lambda: a @ b,
        "cublaslt": lambda: functional.gelu(functional.linear(a.bfloat16(), b.bfloat16(), a.bfloat16()[0])),
        "cudnn": lambda: functional.conv2d(image, filters, padding=1),
        "attention": lambda: functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True),
        "cufft": lambda: torch.fft.rfft(a).real,
        "cusolver": lambda: torch.linalg.inv(a[:64, :64]),
        "cub": lambda: a.flatten().sort()[0],
        "scan": lambda: a.flatten().cumsum(0),
        "graph": lambda: graph_of(a),
    }
    if triton is not None:
        found["triton"] = lambda: added(a, b)
    return found


def added(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A sum by Triton."""
    total = torch.empty_like(a)
    add[(a.numel() // 1024,)](a, b, total, a.numel(), SIZE=1024)
    return total


def graph_of(a: torch.Tensor) -> torch.Tensor:
    """A graph that is replayed three times."""
    stream = torch.cuda.Stream()
    total = torch.zeros_like(a)
    with torch.cuda.stream(stream):
        total.add_(a)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total.add_(a)
        total.mul_(0.5)
    for _ in range(3):
        graph.replay()
    return total


def main() -> None:
    """Runs all calls."""
    torch.manual_seed(0)
    results = {}
    for name, call in calls().items():
        value = call().float().cpu().numpy().tobytes()
        results[name] = hashlib.sha256(value).hexdigest()[:12]
    print(json.dumps({"program": "calls", "results": results}), flush=True)


if __name__ == "__main__":
    main()
