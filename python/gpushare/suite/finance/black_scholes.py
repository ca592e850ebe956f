# SPDX-License-Identifier: Apache-2.0
"""Prices of European call and put options in closed form.

Source: F. Black, M. Scholes, The pricing of options and corporate liabilities, 1973; the normal distribution by
M. Abramowitz, I. Stegun, Handbook of Mathematical Functions, 26.2.17 (error below 7.5e-8).
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
COUNT = {"small": 1_000, "large": 40_000_003}
RATE, VOLATILITY = np.float32(0.02), np.float32(0.30)
TOLERANCE = 1e-4
"""Prices go up to 100, where fp32 numbers are 7.6e-6 apart; expf, logf and the quotient each err by about as much."""


def normal_cdf(d: np.ndarray) -> np.ndarray:
    """The kernel's polynomial, in fp64."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(d))
    polynomial = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = np.exp(-0.5 * d * d) / np.sqrt(2.0 * np.pi) * polynomial
    return np.where(d > 0.0, 1.0 - tail, tail)


def prices(spots: np.ndarray, strikes: np.ndarray, years: np.ndarray) -> dict[str, np.ndarray]:
    """The reference, in fp64."""
    spot, strike, time = (values.astype(np.float64) for values in (spots, strikes, years))
    rate, volatility = float(RATE), float(VOLATILITY)
    deviation = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / deviation
    cdf1, cdf2 = normal_cdf(d1), normal_cdf(d1 - deviation)
    discounted = strike * np.exp(-rate * time)
    calls, puts = spot * cdf1 - discounted * cdf2, discounted * (1.0 - cdf2) - spot * (1.0 - cdf1)
    return {"calls": calls.astype(np.float32), "puts": puts.astype(np.float32)}


def _build(size: Size, random: np.random.Generator) -> Case:
    count = COUNT[size]
    bounds = {"spots": (5, 30), "strikes": (1, 100), "years": (0.25, 10)}
    market = {name: random.uniform(*bound, count).astype(np.float32) for name, bound in bounds.items()}
    return Case(
        grid=grid_over((count,), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            output("calls", count, np.float32),
            output("puts", count, np.float32),
            *(Argument(name, values) for name, values in market.items()),
            Argument("rate", RATE),
            Argument("volatility", VOLATILITY),
            Argument("count", np.int32(count)),
        ],
        reference=lambda: prices(**market),
        tolerance=TOLERANCE,
    )


KERNEL = SuiteKernel(
    "black_scholes",
    "Black-Scholes option prices: memory and special functions, short blocks",
    _build,
    {"Slate": "BS", "CuMAS": "BlackScholes"},
)
