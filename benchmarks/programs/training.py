# SPDX-License-Identifier: Apache-2.0
"""Trains a GPT with random tokens, and prints one JSON line: steps, seconds, and a hash of its weights.

``small`` is bound by launches, ``large`` keeps the GPU busy for more than 90 % of the time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from pathlib import Path

import torch
import torch.nn.functional as functional
from benchmarks.programs.together_start import begin
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


def main() -> None:
    """Trains for some seconds, or some steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--steps", type=int, help="Number of steps, instead of seconds.")
    parser.add_argument("--deterministic", action="store_true", help="Also print the hash of the weights.")
    parser.add_argument("--start", type=Path, help="Folder in which programs wait for one another.")
    parser.add_argument("--name", default="training")
    chosen = parser.parse_args()
    torch.manual_seed(0)
    if chosen.deterministic:
        torch.use_deterministic_algorithms(True)
    width, heads, layers, tokens, count = SIZES[chosen.size]
    model = nn.Sequential(
        nn.Embedding(VOCABULARY, width), *[Block(width, heads) for _ in range(layers)], nn.Linear(width, VOCABULARY)
    ).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=not chosen.deterministic)
    ids = torch.randint(0, VOCABULARY, (count, tokens), device="cuda")

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = functional.cross_entropy(model(ids).view(-1, VOCABULARY), ids.view(-1))
        loss.backward()
        optimizer.step()

    if chosen.steps is None:
        for _ in range(5):
            step()
    torch.cuda.synchronize()
    begin(chosen.start, chosen.name)
    began, done = time.perf_counter(), 0
    while done < chosen.steps if chosen.steps else time.perf_counter() < began + chosen.seconds:
        step()
        done += 1
        if done % 4 == 0:  # as training loops that print their loss periodically
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    took = time.perf_counter() - began
    result = {"program": chosen.name, "steps": done, "seconds": took, "steps_per_s": done / took}
    if chosen.deterministic:
        weights = b"".join(each.detach().float().cpu().numpy().tobytes() for each in model.parameters())
        result["weights"] = hashlib.sha256(weights).hexdigest()[:16]
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
