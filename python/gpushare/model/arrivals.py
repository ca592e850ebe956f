# SPDX-License-Identifier: Apache-2.0
"""When the requests of an application come: random processes, closed loops, and recorded traces."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, pairwise
from pathlib import Path

from gpushare._core import InvalidInput
from gpushare.checks import number, require, whole
from gpushare.model.host_pace import AT_ONCE, LONGEST_NS, HostPace
from gpushare.model.operation import Operation
from gpushare.model.request_trace import Tokens, read_requests

RATES_PER_S = (1e-6, 1e9)
STAYS_S = (1e-9, 1e9)
THINK_TIMES_NS = (0, LONGEST_NS / 100)
SPEEDS = (1e-6, 1e6)
MOST_REQUESTS = 1_000_000
LARGEST_SEED = 2**63 - 1
LEAST_IN_A_CYCLE = 0.01
"""Requests in a calm time and a burst, in the mean; with fewer, changes of the rate would take longer than requests."""


@dataclass(frozen=True)
class Arrivals:
    """The arrivals of an application's requests, of which each is the same operations or follows from a trace.

    They become the paces of operations (:class:`HostPace`), so requests of one application queue in its stream. Equal
    arguments give equal arrivals. Simulated devices only; on a GPU, applications can arrive at :attr:`times_ns`.

    Attributes:
        paces: of the first operation of each request.
        tokens: of each request of a trace; empty for other arrivals.

    >>> import gpushare as gs
    >>> model = gs.KernelModel("infer", threads=256, latency_ns=20_000)
    >>> arrivals = gs.Arrivals.poisson(rate_per_s=5000, requests=100, seed=1)
    >>> service = gs.Application("service", arrivals.of([gs.Launch(model, 500)]))
    >>> batch = gs.Application("batch", [gs.Launch(model, 100_000)])
    >>> run = gs.run(gs.Workload("beside a batch", [service, batch]), "mpmax", device="h100")
    >>> launches = run.launches().query("application == 'service'")
    >>> len(launches), bool((launches["end_ns"] - launches["issued_ns"]).quantile(0.99) > 50_000)
    (100, True)
    """

    paces: tuple[HostPace, ...]
    tokens: tuple[Tokens, ...] = ()

    @staticmethod
    def poisson(rate_per_s: float, requests: int, seed: int = 0) -> Arrivals:
        """A Poisson process: independent times between requests, exponentially distributed.

        Args:
            rate_per_s: mean number of requests in a second.
            requests: number of requests.
            seed: of the times.
        """
        rate = number("arrivals: rate_per_s", rate_per_s, *RATES_PER_S)
        count, source = whole("arrivals: requests", requests, 1, MOST_REQUESTS), _random(seed)
        times_s = accumulate(_exponential(source) / rate for _ in range(count))
        return Arrivals(_paces_at([round(time_s * 1e9) for time_s in times_s]))

    @staticmethod
    def bursts(
        rate_per_s: float, burst_rate_per_s: float, requests: int, *, calm_s: float, burst_s: float, seed: int = 0
    ) -> Arrivals:
        """A Poisson process whose rate changes between two values: a Markov-modulated Poisson process.

        Source: W. Fischer and K. Meier-Hellstern, The Markov-modulated Poisson process (MMPP) cookbook, 1993, with two
        states. It begins calm.

        Args:
            rate_per_s: mean number of requests in a second while it is calm.
            burst_rate_per_s: the same during a burst.
            requests: number of requests.
            calm_s: mean time between bursts, in seconds; exponentially distributed.
            burst_s: mean duration of a burst, likewise.
            seed: of the times.
        """
        rates = (
            number("arrivals: rate_per_s", rate_per_s, *RATES_PER_S),
            number("arrivals: burst_rate_per_s", burst_rate_per_s, *RATES_PER_S),
        )
        stays = (
            number("arrivals: calm_s", calm_s, *STAYS_S),
            number("arrivals: burst_s", burst_s, *STAYS_S),
        )
        per_two_stays = sum(rate * stay for rate, stay in zip(rates, stays, strict=True))
        require(
            per_two_stays >= LEAST_IN_A_CYCLE,
            f"arrivals: calm_s and burst_s hold {per_two_stays:g} requests in the mean, expected at least "
            f"{LEAST_IN_A_CYCLE}: bursts that short are a Poisson process with the mean rate",
        )
        count = whole("arrivals: requests", requests, 1, MOST_REQUESTS)
        times_s = islice(_modulated(rates, stays, _random(seed)), count)
        return Arrivals(_paces_at([round(time_s * 1e9) for time_s in times_s]))

    @staticmethod
    def closed_loop(think_ns: float, requests: int, seed: int = 0) -> Arrivals:
        """One client that sends a request, waits for its end, thinks, and sends the next.

        Args:
            think_ns: mean time between the end of a request and the next, and before the first, in nanoseconds;
                exponentially distributed.
            requests: number of requests.
            seed: of the times.
        """
        mean = number("arrivals: think_ns", think_ns, *THINK_TIMES_NS)
        count, source = whole("arrivals: requests", requests, 1, MOST_REQUESTS), _random(seed)
        return Arrivals(tuple(HostPace(after_ns=round(mean * _exponential(source))) for _ in range(count)))

    @staticmethod
    def trace(source: str | Path, *, speed: float = 1.0, requests: int | None = None) -> Arrivals:
        """The arrivals in a file in the format of Azure's traces of LLM inference, with the first request at time 0.

        Such a file is CSV with the columns TIMESTAMP, ContextTokens and GeneratedTokens. The Azure Public Dataset has
        some (github.com/Azure/AzurePublicDataset).

        Args:
            source: path of the file.
            speed: how many times as fast requests come as they did.
            requests: the number of requests to take, from the first on; None: all.

        Raises:
            InvalidInput: the file cannot be read, or is not such a file; the message names line and column.
        """
        require(isinstance(source, str | Path), f"arrivals: source must be the path of a file, got {source!r}")
        factor = number("arrivals: speed", speed, *SPEEDS)
        most = None if requests is None else whole("arrivals: requests", requests, 1, MOST_REQUESTS)
        times_ns, tokens = read_requests(Path(source), most, MOST_REQUESTS)
        return Arrivals(_paces_at([round((time_ns - times_ns[0]) / factor) for time_ns in times_ns]), tuple(tokens))

    @property
    def times_ns(self) -> list[int]:
        """When the requests come, in nanoseconds after the application.

        Raises:
            InvalidInput: this is a closed loop, where that depends on when requests end.
        """
        if any(pace.after_ns is not None for pace in self.paces):
            raise InvalidInput("arrivals: a closed loop has no times of its own: they depend on when requests end")
        return [round(time_ns) for time_ns in accumulate(pace.host_ns for pace in self.paces)]

    def of(self, request: Sequence[Operation] | Callable[[Tokens], Sequence[Operation]]) -> list[Operation]:
        """The operations of all requests.

        Args:
            request: the operations of one, which have no pace; for a trace also a function that makes them of the
                request's :class:`Tokens`.

        Raises:
            InvalidInput: a request has no operations, or one with a pace; or the arrivals are of no trace.
        """
        if not callable(request):
            return [each for pace in self.paces for each in _paced(request, pace)]
        require(len(self.tokens) > 0, "arrivals: only a trace has tokens, of which a function can make requests")
        made = (_paced(request(tokens), pace) for tokens, pace in zip(self.tokens, self.paces, strict=True))
        return [each for operations in made for each in operations]


def _paced(request: Iterable[Operation], pace: HostPace) -> Sequence[Operation]:
    try:
        first, *rest = request
    except (TypeError, ValueError):
        raise InvalidInput(f"arrivals: a request is a list of launches and copies, got {request!r}") from None
    for each in (first, *rest):
        require(isinstance(each, Operation), f"arrivals: a request is of launches and copies, got {each!r}")
        require(each.pace == AT_ONCE, "arrivals: an operation of a request has a pace, which the arrivals give")
    return (replace(first, pace=pace), *rest)


def _paces_at(times_ns: Sequence[int]) -> tuple[HostPace, ...]:
    return tuple(HostPace(host_ns=later - earlier) for earlier, later in pairwise([0, *times_ns]))


def _modulated(
    rates_per_s: tuple[float, float], stays_s: tuple[float, float], source: random.Random
) -> Iterator[float]:
    """Times of arrivals in seconds. Since both processes have no memory, the earlier event decides."""
    now_s, state = 0.0, 0
    while True:
        until_arrival_s = _exponential(source) / rates_per_s[state]
        until_change_s = _exponential(source) * stays_s[state]
        if until_change_s < until_arrival_s:
            now_s, state = now_s + until_change_s, 1 - state
        else:
            now_s += until_arrival_s
            yield now_s


def _exponential(source: random.Random) -> float:
    """With mean 1. Only ``random`` of the standard library is the same in every version."""
    return -math.log1p(-source.random())


def _random(seed: int) -> random.Random:
    return random.Random(whole("arrivals: seed", seed, 0, LARGEST_SEED))
