# SPDX-License-Identifier: Apache-2.0
"""Speckle reducing anisotropic diffusion of an image, the two launches of a step.

Source: Y. Yu, S. T. Acton, Speckle reducing anisotropic diffusion, IEEE Transactions on Image Processing 2002, as SRAD
(version 2) of S. Che et al., Rodinia, IISWC 2009, divides it. Both sides round every fp32 operation on its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

BLOCK = (16, 16, 1)
SHAPE = {"small": (90, 125), "large": (6_144, 6_144)}
PATTERN = 1_024  # the side of the repeated pattern of a large image
ROWS_AT_ONCE = 16
RATE = np.float32(0.5)
ONE = np.float32(1)


@dataclass(frozen=True)
class Diffusion:
    """Results of srad_1: the coefficients, and the differences to the neighbours."""

    coefficients: np.ndarray
    north: np.ndarray
    south: np.ndarray
    west: np.ndarray
    east: np.ndarray


def diffusion(wide: np.ndarray, speckle: np.float32) -> Diffusion:
    """The reference of srad_1 for an image with a margin of one pixel."""
    own = wide[1:-1, 1:-1]
    north, south = wide[:-2, 1:-1] - own, wide[2:, 1:-1] - own
    west, east = wide[1:-1, :-2] - own, wide[1:-1, 2:] - own
    steepness = (north * north + south * south + west * west + east * east) / (own * own)
    curvature = (north + south + west + east) / own
    lessening = ONE + np.float32(0.25) * curvature
    variation = np.float32(0.5) * steepness - np.float32(0.0625) * (curvature * curvature)
    variation /= lessening * lessening
    excess = (variation - speckle) / (speckle * (ONE + speckle))
    return Diffusion(np.clip(ONE / (ONE + excess), np.float32(0), ONE), north, south, west, east)


def diffused(image: np.ndarray, found: Diffusion) -> np.ndarray:
    """The reference of srad_2."""
    wide = np.pad(found.coefficients, ((0, 1), (0, 1)), mode="edge")
    own, below, right = wide[:-1, :-1], wide[1:, :-1], wide[:-1, 1:]
    divergence = own * found.north + below * found.south + own * found.west + right * found.east
    return image + np.float32(0.25) * RATE * divergence


def _diffusion_in_strips(image: np.ndarray, speckle: np.float32) -> dict[str, np.ndarray]:
    wide = np.pad(image, 1, mode="edge")
    results = {name: np.empty_like(image) for name in Diffusion.__dataclass_fields__}
    for first in range(0, len(image), ROWS_AT_ONCE):
        strip = diffusion(wide[first : first + ROWS_AT_ONCE + 2], speckle)
        for name, result in results.items():
            result[first : first + ROWS_AT_ONCE] = getattr(strip, name)
    return results


def speckled(random: np.random.Generator, rows: int, columns: int) -> tuple[np.ndarray, np.float32]:
    """The exponential of an image with speckle, which is SRAD's input, and the measure of its speckle."""
    y, x = np.ogrid[:rows, :columns]
    bright = np.where((y // 40 + x // 56) % 2 == 0, 0.7, 0.3)
    image = np.exp(bright * random.gamma(20, 1 / 20, bright.shape)).astype(np.float32)
    patch = image[:32, :32].astype(np.float64)
    return image, np.float32(patch.var() / patch.mean() ** 2)


def _repeated(pattern: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    return np.tile(pattern, (shape[0] // pattern.shape[0], shape[1] // pattern.shape[1]))


def _case(
    shape: tuple[int, int],
    arguments: list[Argument],
    parameter: Argument,
    reference: Callable[[], dict[str, np.ndarray]],
) -> Case:
    rows, columns = shape
    extents = [Argument("rows", np.int32(rows)), Argument("columns", np.int32(columns))]
    return Case(grid_over((columns, rows), BLOCK[:2]), BLOCK, [*arguments, parameter, *extents], reference)


def _build_coefficients(size: Size, random: np.random.Generator) -> Case:
    shape = SHAPE[size]
    pattern, speckle = speckled(random, min(shape[0], PATTERN), min(shape[1], PATTERN))
    image = _repeated(pattern, shape)
    outputs = [output(name, shape, np.float32) for name in Diffusion.__dataclass_fields__]
    arguments = [*outputs, Argument("image", image)]
    return _case(shape, arguments, Argument("speckle", speckle), lambda: _diffusion_in_strips(image, speckle))


def _build_update(size: Size, random: np.random.Generator) -> Case:
    shape = SHAPE[size]
    pattern, speckle = speckled(random, min(shape[0], PATTERN), min(shape[1], PATTERN))
    image = _repeated(pattern, shape)
    parts = {name: _repeated(part, shape) for name, part in _diffusion_in_strips(pattern, speckle).items()}
    arguments = [
        Argument("image", image, is_output=True, is_updated=True),
        *(Argument(name, part) for name, part in parts.items()),
    ]
    return _case(shape, arguments, Argument("rate", RATE), lambda: {"image": diffused(image, Diffusion(**parts))})


COEFFICIENTS = SuiteKernel(
    "srad_1",
    "Diffusion coefficients of an image: a tile in shared memory, five arrays written",
    _build_coefficients,
    {"CuMAS": "srad_v2"},
)
UPDATE = SuiteKernel(
    "srad_2", "Diffusion of an image: a tile in shared memory, updated in place", _build_update, is_layerable=False
)
