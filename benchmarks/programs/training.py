# SPDX-License-Identifier: Apache-2.0
"""Trains a GPT with random tokens, and prints one JSON line: steps, seconds, and a hash of its weights.

``small`` is bound by launches, ``large`` keeps the GPU busy for more than 90 % of the time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from typing import Any

import torch
import torch.nn.functional as functional
from torch import nn

SIZES = {"small": (256, 4, 4, 128, 4), "large": (1024, 16, 12, 1024, 8)}
"""Width, heads, layers, tokens, sequences."""
VOCABULARY = 8192


class Block(nn.Module):
    """Attention and a perceptron."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.inner, self.outer = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Input of shape (sequences, tokens, width)."""
        count, tokens, width = x.shape
        parts = self.inner(self.norms[0](x)).view(count, tokens, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.outer(seen.transpose(1, 2).reshape(count, tokens, width))
        return x + self.down(functional.gelu(self.up(self.norms[1](x))))


class Training:
    """A model that learns to repeat one batch.

    Args:
        size: key of :data:`SIZES`.
        deterministic: whether equal numbers of steps give equal weights.
        every: steps between two waits for the GPU.
    """

    def __init__(self, size: str, *, deterministic: bool, every: int) -> None:
        torch.manual_seed(0)
        torch.use_deterministic_algorithms(deterministic)
        width, heads, layers, tokens, count = SIZES[size]
        self._model = nn.Sequential(
            nn.Embedding(VOCABULARY, width), *[Block(width, heads) for _ in range(layers)], nn.Linear(width, VOCABULARY)
        ).cuda()
        self._optimizer = torch.optim.AdamW(self._model.parameters(), 1e-4, fused=not deterministic)
        self._ids = torch.randint(0, VOCABULARY, (count, tokens), device="cuda")
        self._every = every

    def run(self, steps: float, seconds: float = float("inf")) -> dict[str, Any]:
        """Makes these steps, or fewer in these seconds. ``moments`` are the ends of waits, on the monotonic clock."""
        torch.cuda.synchronize()
        began, done, moments = time.monotonic(), 0, []
        while done < steps and time.monotonic() < began + seconds:
            self._step()
            done += 1
            if done % self._every == 0:  # as training loops that print their loss periodically
                torch.cuda.synchronize()
                moments.append(time.monotonic())
        torch.cuda.synchronize()
        took = time.monotonic() - began
        return {"steps": done, "seconds": took, "steps_per_s": done / took, "moments": moments}

    def weights(self) -> str:
        """A hash of the weights."""
        found = b"".join(each.detach().float().cpu().numpy().tobytes() for each in self._model.parameters())
        return hashlib.sha256(found).hexdigest()[:16]

    def _step(self) -> None:
        self._optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = functional.cross_entropy(self._model(self._ids).view(-1, VOCABULARY), self._ids.view(-1))
        loss.backward()
        self._optimizer.step()


def answer_requests(training: Training) -> None:
    """Trains for each line of the input, such as "steps 60" or "seconds 2.5", and prints a line; ignores more words."""
    print(json.dumps({"pid": os.getpid()}), flush=True)
    for line in sys.stdin:
        unit, count, *_ = line.split()
        result = training.run(float(count)) if unit == "steps" else training.run(float("inf"), float(count))
        if torch.are_deterministic_algorithms_enabled():
            result["weights"] = training.weights()
        print(json.dumps(result), flush=True)


def main() -> None:
    """Trains for some seconds, or some steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--steps", type=int, help="Number of steps, instead of seconds.")
    parser.add_argument("--every", type=int, default=4, help="Steps between two waits for the GPU.")
    parser.add_argument("--deterministic", action="store_true", help="Also print the hash of the weights.")
    parser.add_argument("--requests", action="store_true", help="Train when a line of the input requests it.")
    chosen = parser.parse_args()
    if chosen.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what PyTorch demands of a deterministic program
    training = Training(chosen.size, deterministic=chosen.deterministic, every=chosen.every)
    if chosen.steps is None:
        training.run(5)
    if chosen.requests:
        answer_requests(training)
        return
    result = training.run(float("inf"), chosen.seconds) if chosen.steps is None else training.run(chosen.steps)
    del result["moments"]
    if chosen.deterministic:
        result["weights"] = training.weights()
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
