# SPDX-License-Identifier: Apache-2.0
"""Quasirandom numbers of three dimensions, from direction numbers.

Source: I. M. Sobol, On the distribution of points in a cube and the approximate evaluation of integrals, 1967, with the
direction numbers of P. Bratley, B. L. Fox, Algorithm 659, 1988; "quasirandomGenerator" of the CUDA samples computes
Niederreiter's sequence in the same way from another table.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

BLOCK = (128, 3, 1)
BLOCKS = {"small": 10, "large": 1_056}
COUNT = {"small": 5_000, "large": 32_000_001}
BITS = 31
POLYNOMIALS = ((), (1,), (1, 1))
"""Coefficients after the leading one of 1, x + 1 and x^2 + x + 1."""
FIRST_FACTORS = ((1,), (1,), (1, 3))
POSITIONS_AT_ONCE = 1 << 16


def direction_numbers() -> np.ndarray:
    """A row per dimension: the fractions v_1, v_2, ... with 31 bits.

    >>> [[f"{number >> 27:04b}" for number in row[:4]] for row in direction_numbers()]
    [['1000', '0100', '0010', '0001'], ['1000', '1100', '1010', '1111'], ['1000', '1100', '0110', '1001']]
    """
    return np.array([_directions(*terms) for terms in zip(POLYNOMIALS, FIRST_FACTORS, strict=True)], np.uint32)


def _directions(polynomial: tuple[int, ...], first_factors: tuple[int, ...]) -> list[int]:
    degree = len(polynomial)
    numbers = [factor << (BITS - 1 - i) for i, factor in enumerate(first_factors)]
    for i in range(len(numbers), BITS):
        # Without a polynomial, v_i = 2^-i: the sequence of J. G. van der Corput.
        number = numbers[i - degree] ^ (numbers[i - degree] >> degree) if degree else 1 << (BITS - 1 - i)
        for back, coefficient in enumerate(polynomial[:-1], 1):
            number ^= coefficient * numbers[i - back]
        numbers.append(number)
    return numbers


def numbers_of(first: int, count: int) -> np.ndarray:
    """The reference: a row per dimension."""
    directions = direction_numbers()
    numbers = np.empty((len(directions), count), np.float32)
    for start in range(0, count, POSITIONS_AT_ONCE):
        positions = np.arange(first + start, first + min(start + POSITIONS_AT_ONCE, count), dtype=np.uint32)
        for row, of_dimension in zip(numbers, directions, strict=True):
            found = _combined(positions, of_dimension) + np.uint32(1)
            row[start : start + POSITIONS_AT_ONCE] = found * np.float32(2.0**-BITS)
    return numbers


def _combined(positions: np.ndarray, directions: np.ndarray) -> np.ndarray:
    found = np.zeros_like(positions)
    for bit, direction in enumerate(directions[: int(positions[-1]).bit_length()]):
        found ^= (positions >> np.uint32(bit) & np.uint32(1)) * direction
    return found


def _build(size: Size, random: np.random.Generator) -> Case:
    count = COUNT[size]
    first = random.integers(1 << 20, 1 << 30, dtype=np.uint32)
    return Case(
        grid=(BLOCKS[size], 1, 1),
        block=BLOCK,
        arguments=[
            output("numbers", (BLOCK[1], count), np.float32),
            Argument("directions", direction_numbers()),
            Argument("first", first),
            Argument("count", np.int32(count)),
        ],
        reference=lambda: {"numbers": numbers_of(int(first), count)},
    )


KERNEL = SuiteKernel(
    "quasirandom",
    "Quasirandom numbers from direction numbers: integer arithmetic, loops over the grid",
    _build,
    {"Slate": "RG"},
)
