# SPDX-License-Identifier: Apache-2.0
"""A layer in the training of a neural network: the weighted sums forward, and the change of the weights.

Source: D. E. Rumelhart, G. E. Hinton, R. J. Williams, Learning representations by back-propagating errors, 1986; blocks
as in "backprop" of S. Che et al., Rodinia: a benchmark suite for heterogeneous computing, IISWC 2009. Here the layer
after the first is wide, too.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

TILE = 16
SHAPE = {"small": (112, 80), "large": (524_288, 256)}
"""Inputs and outputs of the layer."""
RATE, MOMENTUM = np.float32(0.25), np.float32(0.5)
"""Powers of two, so that changes of whole weights are exact."""


def partial_sums_of(inputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The reference: the sums over every 16 inputs."""
    tiles = weights.reshape(-1, TILE, weights.shape[1])
    return np.matmul(inputs.reshape(-1, 1, TILE), tiles)[:, 0]


def adjusted(weights: np.ndarray, changes: np.ndarray, inputs: np.ndarray, errors: np.ndarray) -> dict[str, np.ndarray]:
    """The reference."""
    new_changes = np.multiply.outer(inputs, RATE * errors)
    new_changes += MOMENTUM * changes
    return {"weights": weights + new_changes, "changes": new_changes}


def _grid(inputs: int, outputs: int) -> tuple[int, int, int]:
    return outputs // TILE, inputs // TILE, 1


def _build_forward(size: Size, random: np.random.Generator) -> Case:
    input_count, output_count = SHAPE[size]
    inputs, weights = whole_numbers(random, input_count), whole_numbers(random, SHAPE[size])
    return Case(
        grid=_grid(*SHAPE[size]),
        block=(TILE, TILE, 1),
        arguments=[
            output("partial_sums", (input_count // TILE, output_count), np.float32),
            Argument("inputs", inputs),
            Argument("weights", weights),
            Argument("outputs", np.int32(output_count)),
        ],
        reference=lambda: {"partial_sums": partial_sums_of(inputs, weights)},
    )


def _build_adjust(size: Size, random: np.random.Generator) -> Case:
    input_count, output_count = SHAPE[size]
    weights, changes = whole_numbers(random, SHAPE[size]), whole_numbers(random, SHAPE[size])
    inputs, errors = whole_numbers(random, input_count), whole_numbers(random, output_count)
    return Case(
        grid=_grid(*SHAPE[size]),
        block=(TILE, TILE, 1),
        arguments=[
            Argument("weights", weights, is_output=True, is_updated=True),
            Argument("changes", changes, is_output=True, is_updated=True),
            Argument("inputs", inputs),
            Argument("errors", errors),
            Argument("outputs", np.int32(output_count)),
        ],
        reference=lambda: adjusted(weights, changes, inputs, errors),
    )


FORWARD = SuiteKernel(
    "backprop_forward",
    "Weighted sums of a neural layer: 16 x 16 tiles, a tree reduction with barriers",
    _build_forward,
    {"CuMAS": "backprop"},
)

ADJUST = SuiteKernel(
    "backprop_adjust",
    "New weights of a neural layer, with momentum: streams two arrays in place",
    _build_adjust,
    {"CuMAS": "backprop"},
    is_layerable=False,
)
