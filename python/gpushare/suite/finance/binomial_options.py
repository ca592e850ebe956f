# SPDX-License-Identifier: Apache-2.0
"""Prices of European call options by backward induction in a binomial tree.

Source: J. C. Cox, S. A. Ross, M. Rubinstein, Option pricing: a simplified approach, 1979; one block per option with
values in shared memory as in V. Podlozhnyuk, Binomial option pricing model, 2007 ("binomialOptions" of the CUDA
samples).
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
OPTIONS = {"small": 10, "large": 1_584}
STEPS = {"small": 300, "large": 2_048}
RATE, VOLATILITY = 0.02, 0.30
TOLERANCE = 1e-4
"""Prices go up to 100. The values at expiry come from expf: its argument (within 30) is rounded to 1e-6, and it
errs by 2e-7; from there on both sides round alike, and the price is a mean of those values."""
OPTIONS_AT_ONCE = 16  # fits a core's cache


def terms_of(years: np.ndarray, steps: int) -> dict[str, np.ndarray]:
    """Constants of an option's step: the logarithm of a move up, and the discounted probabilities of both moves."""
    step = years / steps
    log_move = VOLATILITY * np.sqrt(step)
    up, down, growth = np.exp(log_move), np.exp(-log_move), np.exp(RATE * step)
    probability = (growth - down) / (up - down)
    terms = {"log_moves": log_move, "up_weights": probability / growth, "down_weights": (1 - probability) / growth}
    return {name: values.astype(np.float32) for name, values in terms.items()}


def prices_of(spots: np.ndarray, strikes: np.ndarray, terms: dict[str, np.ndarray], steps: int) -> np.ndarray:
    """The reference: options next to each other, node after node."""
    pieces = np.array_split(np.arange(len(spots)), -(-len(spots) // OPTIONS_AT_ONCE))
    return np.concatenate([_piece(spots[i], strikes[i], {k: v[i] for k, v in terms.items()}, steps) for i in pieces])


def _piece(spots: np.ndarray, strikes: np.ndarray, terms: dict[str, np.ndarray], steps: int) -> np.ndarray:
    moves = np.arange(-steps, steps + 1, 2)[:, np.newaxis]
    at_expiry = spots * np.exp(terms["log_moves"].astype(np.float64) * moves) - strikes
    values = np.maximum(at_expiry, 0).astype(np.float32)
    risen, fallen = np.empty_like(values), np.empty_like(values)
    for last in range(steps, 0, -1):
        np.multiply(values[1 : last + 1], terms["up_weights"], out=risen[:last])
        np.multiply(values[:last], terms["down_weights"], out=fallen[:last])
        np.add(risen[:last], fallen[:last], out=values[:last])
    return values[0].copy()


def _build(size: Size, random: np.random.Generator) -> Case:
    count, steps = OPTIONS[size], STEPS[size]
    spots = random.uniform(5, 100, count).astype(np.float32)
    strikes = random.uniform(1, 100, count).astype(np.float32)
    terms = terms_of(random.uniform(0.25, 2, count), steps)
    return Case(
        grid=(count, 1, 1),
        block=(THREADS, 1, 1),
        arguments=[
            output("prices", count, np.float32),
            Argument("spots", spots),
            Argument("strikes", strikes),
            *(Argument(name, values) for name, values in terms.items()),
            Argument("steps", np.int32(steps)),
        ],
        reference=lambda: {"prices": prices_of(spots, strikes, terms, steps)},
        tolerance=TOLERANCE,
    )


KERNEL = SuiteKernel(
    "binomial_options",
    "Option prices by binomial trees: shared memory, a barrier per step, blocks of half a millisecond",
    _build,
    {"CD-search": "BINO"},
)
