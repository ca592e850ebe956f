# SPDX-License-Identifier: Apache-2.0
"""Feed-forward layer of sigmoid neurons for a batch of samples.

Source: "NeuralNet" in level 1 of SHOC (A. Danalis et al., The scalable heterogeneous computing benchmark suite, GPGPU
2010), which learns to read the digits of Y. LeCun et al., Gradient-based learning applied to document recognition,
1998: 60,000 pictures of 784 pixels, 30 hidden neurons.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

BLOCK = (32, 8, 1)
SAMPLES = {"small": 101, "large": 60_000}
INPUTS = {"small": 60, "large": 784}
NEURONS = 30
SCALE = np.float32(1 / 256)
"""Range of whole weights, so that few sums are beyond the slope of the sigmoid."""
TOLERANCE = 5e-7
"""Activations are up to 1 and the sums exact; expf, the addition and the quotient err by some 1e-7 each."""


def activations_of(weights: np.ndarray, biases: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """The reference; the sums are exact in fp32, too."""
    sums = (inputs @ weights + biases).astype(np.float64)
    return (1 / (1 + np.exp(-sums))).astype(np.float32)


def _build(size: Size, random: np.random.Generator) -> Case:
    samples, input_count = SAMPLES[size], INPUTS[size]
    weights = whole_numbers(random, (input_count, NEURONS)) * SCALE
    biases, inputs = whole_numbers(random, NEURONS) * SCALE, whole_numbers(random, (samples, input_count))
    return Case(
        grid=grid_over((samples,), BLOCK[1:2]),
        block=BLOCK,
        arguments=[
            output("activations", (samples, NEURONS), np.float32),
            Argument("weights", weights),
            Argument("biases", biases),
            Argument("inputs", inputs),
            Argument("samples", np.int32(samples)),
            Argument("input_count", np.int32(input_count)),
            Argument("neurons", np.int32(NEURONS)),
        ],
        reference=lambda: {"activations": activations_of(weights, biases, inputs)},
        tolerance=TOLERANCE,
    )


KERNEL = SuiteKernel(
    "neural_net",
    "Sigmoid neurons for a batch of samples: a warp per sample, reads of the same address",
    _build,
    {"EffiSha": "NeuralNet"},
)
