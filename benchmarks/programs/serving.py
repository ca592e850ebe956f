# SPDX-License-Identifier: Apache-2.0
"""Serves requests with a model of Llama's shape and random weights, and prints their latencies as one JSON line.

A request has a prompt and a number of tokens to generate. Requests arrive independently of earlier ones, from a trace
(a line each: time, prompt tokens, generated tokens) or at random; one is served at a time. Times are from arrival.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import random
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as functional
from torch import nn

WIDTH, HEADS, LAYERS, VOCABULARY = 1024, 16, 8, 16384
LONGEST = 1024
UNIT = 128


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


def traced(path: Path, seconds: float, rate: float, number: int) -> list[Request]:
    """The trace's next requests, scaled in time to ``rate`` per second, and cut to the model's limits."""
    count, found = round(seconds * rate), []
    with path.open() as file:
        for row in csv.reader(file):
            try:
                time_s = datetime.fromisoformat(row[0][:26]).timestamp()
                found.append(Request(time_s, int(row[1]), int(row[2])))
            except ValueError:  # the header
                continue
            if len(found) == count * (number + 1):
                break
    found = found[count * number :]
    if len(found) < max(count, 2):
        raise SystemExit(f"{path} has too few requests: {count * (number + 1)} are needed, and 2 at least")
    first, last = found[0].arrival_s, found[-1].arrival_s
    scale = seconds / (last - first)
    return [Request((each.arrival_s - first) * scale, *sizes_of(each.prompt, each.wanted)) for each in found]


def at_random(seconds: float, rate: float, number: int) -> list[Request]:
    """A Poisson process, another one for each number."""
    draw, now_s, found = random.Random(number), 0.0, []
    while (now_s := now_s + draw.expovariate(rate)) < seconds:
        found.append(Request(now_s, *sizes_of(draw.randint(32, 512), draw.randint(2, 16))))
    return found


def sizes_of(prompt: int, wanted: int) -> tuple[int, int]:
    """The model's limits, with prompts padded to whole units, as servers do: libraries are slow at a new length."""
    return min(-(-max(prompt, 1) // UNIT) * UNIT, 512), min(max(wanted, 1), 16)


class Server:
    """A model that serves one request after the other.

    Args:
        as_graph: whether it decodes with a CUDA graph.
    """

    def __init__(self, *, as_graph: bool) -> None:
        torch.manual_seed(0)
        self._model = Model().bfloat16().cuda().eval()
        self._decoder = Decoder(self._model, as_graph=as_graph)
        self._prompts = torch.randint(0, VOCABULARY, (1, LONGEST), device="cuda")
        self._places = torch.arange(LONGEST, device="cuda")
        self.run([Request(0.0, prompt, 4) for prompt in (*range(UNIT, 512 + 1, UNIT), UNIT)])

    def run(self, requests: list[Request]) -> dict[str, Any]:
        """Serves these requests: seconds to the first token, of each later token, and to the last one."""
        first_s: list[float] = []
        token_s: list[float] = []
        request_s: list[float] = []
        began = time.perf_counter()
        for request in requests:
            arrived = began + request.arrival_s
            time.sleep(max(arrived - time.perf_counter(), 0))
            moments = [each - arrived for each in self._serve(request)]
            first_s.append(moments[0])
            token_s += [after - before for before, after in itertools.pairwise(moments)]
            request_s.append(moments[-1])
        values = {"first_s": first_s, "token_s": token_s, "request_s": request_s}
        return {name: [round(each, 6) for each in found] for name, found in values.items()}

    def _serve(self, request: Request) -> list[float]:
        """The moments of its tokens."""
        token = self._model(self._prompts[:, : request.prompt], self._places[: request.prompt])
        torch.cuda.synchronize()
        moments = [time.perf_counter()]
        for place in range(request.prompt, request.prompt + request.wanted - 1):
            token = self._decoder.after(token, place)
            token.item()
            moments.append(time.perf_counter())
        return moments


def main() -> None:
    """Serves for some seconds, or as often as the input says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=20.0, help="Requests a second.")
    parser.add_argument("--trace", type=Path, help="Arrivals; else a Poisson process.")
    parser.add_argument("--graph", action="store_true", help="Decode with a CUDA graph.")
    parser.add_argument("--requests", action="store_true", help="Serve when a line of the input such as 'seconds 5 1' "
                        "requests it: for so long, with the arrivals of this number.")  # fmt: skip
    chosen = parser.parse_args()

    def arrivals(seconds: float, number: int) -> list[Request]:
        if chosen.trace is None:
            return at_random(seconds, chosen.rate, number)
        return traced(chosen.trace, seconds, chosen.rate, number)

    with torch.no_grad():
        server = Server(as_graph=chosen.graph)
        if not chosen.requests:
            print(json.dumps(server.run(arrivals(chosen.seconds, 1))), flush=True)
            return
        print(json.dumps({"ready": True}), flush=True)
        for line in sys.stdin:
            _, seconds, number = line.split()
            print(json.dumps(server.run(arrivals(float(seconds), int(number)))), flush=True)


if __name__ == "__main__":
    main()
