# SPDX-License-Identifier: Apache-2.0
"""Serves requests with a model of Llama's shape and random weights, and prints percentiles as one JSON line.

A request has a prompt and a number of tokens to generate. Requests arrive independently of earlier ones, from a trace
(a line
each: time, prompt tokens, generated tokens) or at random; one is served at a time. Times are from arrival.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import time
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as functional
from benchmarks.programs.together_start import begin
from torch import nn

WIDTH, HEADS, LAYERS, VOCABULARY = 1024, 16, 8, 16384
LONGEST = 1024
UNIT = 128
PERCENTILES = (50, 90, 99)


class Request(NamedTuple):
    """Arrival in seconds, and the numbers of tokens of the prompt and of the answer."""

    arrival_s: float
    prompt: int
    wanted: int


class Layer(nn.Module):
    """Attention over earlier tokens, and a gated perceptron."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)])
        self.inner, self.outer = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 8 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)
        shape = (1, HEADS, LONGEST, WIDTH // HEADS)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, x: torch.Tensor, places: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Input of shape (1, tokens, width) at these places; ``mask`` selects the visible places."""
        tokens = x.shape[1]
        parts = self.inner(self.norms[0](x)).view(1, tokens, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, places, parts[1])
        self.values.index_copy_(2, places, parts[2])
        seen = functional.scaled_dot_product_attention(parts[0], self.keys, self.values, attn_mask=mask)
        x = x + self.outer(seen.transpose(1, 2).reshape(1, tokens, WIDTH))
        gate, value = self.up(self.norms[1](x)).chunk(2, dim=-1)
        return x + self.down(functional.silu(gate) * value)


class Model(nn.Module):
    """Predicts the next token."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.register_buffer("everywhere", torch.arange(LONGEST))

    def forward(self, ids: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """The most likely token after the last of ``ids``, of shape (1, 1)."""
        mask = self.everywhere <= places[:, None]
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, places, mask)
        return self.head(x[:, -1:]).argmax(-1)


class Decoder:
    """Generates one token after the other, as launches or as a graph."""

    def __init__(self, model: Model, *, as_graph: bool) -> None:
        self._model = model
        self._graph = None
        self._ids = torch.zeros((1, 1), dtype=torch.long, device="cuda")
        self._place = torch.zeros(1, dtype=torch.long, device="cuda")
        if as_graph:
            for _ in range(3):
                model(self._ids, self._place)
            torch.cuda.synchronize()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._next = model(self._ids, self._place)

    def after(self, ids: torch.Tensor, place: int) -> torch.Tensor:
        """The token after this one, which is at this place."""
        self._ids.copy_(ids)
        self._place.fill_(place)
        if self._graph is None:
            return self._model(self._ids, self._place)
        self._graph.replay()
        return self._next


def traced(path: Path, count: int, rate: float) -> list[Request]:
    """The trace's first requests, scaled in time to ``rate`` per second, and cut to the model's limits."""
    found = []
    with path.open() as file:
        for row in csv.reader(file):
            if len(found) == count:
                break
            try:
                time_s = datetime.fromisoformat(row[0][:26]).timestamp()
                found.append(Request(time_s, int(row[1]), int(row[2])))
            except ValueError:  # the header
                continue
    first, last = found[0].arrival_s, found[-1].arrival_s
    scale = len(found) / rate / (last - first)
    return [Request((each.arrival_s - first) * scale, *sizes_of(each.prompt, each.wanted)) for each in found]


def at_random(count: int, rate: float) -> list[Request]:
    """A Poisson process."""
    draw, now_s, found = random.Random(1), 0.0, []
    for _ in range(count):
        now_s += draw.expovariate(rate)
        found.append(Request(now_s, *sizes_of(draw.randint(32, 512), draw.randint(2, 16))))
    return found


def sizes_of(prompt: int, wanted: int) -> tuple[int, int]:
    """The model's limits, with prompts padded to whole units, as servers do: libraries are slow at a new length."""
    return min(-(-max(prompt, 1) // UNIT) * UNIT, 512), min(max(wanted, 1), 16)


def percentiles(values: list[float]) -> dict[str, float]:
    """In milliseconds."""
    values = sorted(values)
    return {f"p{each}_ms": 1e3 * values[min(len(values) * each // 100, len(values) - 1)] for each in PERCENTILES}


def main() -> None:
    """Serves all requests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--rate", type=float, default=20.0, help="Requests a second.")
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--graph", action="store_true", help="Decode with a CUDA graph.")
    parser.add_argument("--start", type=Path)
    parser.add_argument("--name", default="serving")
    chosen = parser.parse_args()
    torch.manual_seed(0)
    model = Model().bfloat16().cuda().eval()
    requests = (
        at_random(chosen.requests, chosen.rate)
        if chosen.trace is None
        else traced(chosen.trace, chosen.requests, chosen.rate)
    )
    first_s: list[float] = []
    token_s: list[float] = []
    with torch.no_grad():
        decoder = Decoder(model, as_graph=chosen.graph)
        prompts = torch.randint(0, VOCABULARY, (1, LONGEST), device="cuda")
        places = torch.arange(LONGEST, device="cuda")

        def serve(request: Request, began: float) -> None:
            token = model(prompts[:, : request.prompt], places[: request.prompt])
            torch.cuda.synchronize()
            last = time.perf_counter()
            first_s.append(last - began - request.arrival_s)
            for place in range(request.prompt, request.prompt + request.wanted - 1):
                token = decoder.after(token, place)
                token.item()
                token_s.append(time.perf_counter() - last)
                last = time.perf_counter()

        for prompt in (*range(UNIT, 512 + 1, UNIT), UNIT):
            serve(Request(0.0, prompt, 4), time.perf_counter())
        first_s.clear()
        token_s.clear()
        begin(chosen.start, chosen.name)
        began = time.perf_counter()
        for request in requests:
            time.sleep(max(began + request.arrival_s - time.perf_counter(), 0))
            serve(request, began)
    took = time.perf_counter() - began
    print(
        json.dumps({
            "program": chosen.name,
            "requests": len(requests),
            "seconds": took,
            "first_token": percentiles(first_s),
            "token": percentiles(token_s),
        }),
        flush=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
