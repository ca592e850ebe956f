# SPDX-License-Identifier: Apache-2.0
"""References of the matrix and transform kernels against definitions, and what their small cases reach."""

import numpy as np
import pytest

from gpushare.suite import KERNELS
from gpushare.suite.linear_algebra import fft, gesummv, lud
from gpushare.suite.whole_numbers import LARGEST


def values_of(case):
    return {argument.name: argument.value for argument in case.arguments}


def test_spectra_are_those_of_the_definition():
    signals = values_of(KERNELS["fft"].case())["signals"][:2].astype(np.float64)
    numbers = np.arange(fft.SIGNAL_LENGTH)
    waves = np.exp(-2j * np.pi * np.multiply.outer(numbers, numbers) / fft.SIGNAL_LENGTH)
    spectra = (signals[..., 0] + 1j * signals[..., 1]) @ waves
    found = fft.spectra_of(signals)
    assert np.abs(found[..., 0] - spectra.real).max() < 1e-9
    assert np.abs(found[..., 1] - spectra.imag).max() < 1e-9


@pytest.mark.parametrize("size", ["small", "large"])
def test_products_of_gesummv_are_exact_in_fp32(size):
    rows, columns = gesummv.SHAPE[size]
    # The sums are whole, and their weights whole quarters.
    assert 4 * (gesummv.ALPHA + gesummv.BETA) * columns * LARGEST**2 < 2**24
    assert rows % gesummv.THREADS > 0


def test_steps_of_lud_decompose_a_matrix():
    random = np.random.default_rng(0)
    size = 4 * lud.TILE
    original = random.uniform(-1, 1, (size, size)) + size * np.eye(size)
    matrix = original.copy()
    for finished in range(0, size, lud.TILE):
        done, left = slice(finished, finished + lud.TILE), slice(finished + lud.TILE, None)
        decompose_tile(matrix[done, done])
        lower, upper = parts(matrix[done, done])
        matrix[done, left] = np.linalg.solve(lower, matrix[done, left])
        matrix[left, done] = np.linalg.solve(upper.T, matrix[left, done].T).T
        matrix = lud.updated(matrix, finished)
    lower, upper = parts(matrix)
    assert np.abs(lower @ upper - original).max() < 1e-10


def decompose_tile(tile):
    for k in range(len(tile)):
        tile[k + 1 :, k] /= tile[k, k]
        tile[k + 1 :, k + 1 :] -= np.outer(tile[k + 1 :, k], tile[k, k + 1 :])


def parts(matrix):
    return np.tril(matrix, -1) + np.eye(len(matrix)), np.triu(matrix)


def test_a_step_of_lud_leaves_finished_rows_and_columns_alone():
    case = KERNELS["lud"].case()
    values = values_of(case)
    left = int(values["finished"]) + lud.TILE
    is_changed = case.expected["matrix"] != values["matrix"]
    assert not is_changed[:left].any()
    assert not is_changed[:, :left].any()
    assert is_changed[left:, left:].mean() > 0.9
