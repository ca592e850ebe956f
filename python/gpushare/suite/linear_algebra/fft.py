# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms of many signals of 512 complex numbers.

Source: J. W. Cooley, J. W. Tukey, An algorithm for the machine calculation of complex Fourier series, 1965; in radix 8
with 64 threads per signal as V. Volkov, B. Kazian, Fitting FFT onto the G80 architecture, 2008, and "FFT" of A. Danalis
et al., The scalable heterogeneous computing (SHOC) benchmark suite, GPGPU 2010.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 64
SIGNAL_LENGTH = 512
SIGNALS = {"small": 20, "large": 131_072}
TOLERANCE = 1e-4
"""Spectra are around 18 and up to 90. Every number is the result of nine levels of additions and of two twiddle
factors that err by up to 5e-7, which makes some 1e-5."""
SIGNALS_AT_ONCE = 4_096


def spectra_of(signals: np.ndarray) -> np.ndarray:
    """The reference, in fp64."""
    spectra = np.empty_like(signals)
    for first in range(0, len(signals), SIGNALS_AT_ONCE):
        piece = signals[first : first + SIGNALS_AT_ONCE].astype(np.float64)
        transformed = np.fft.fft(piece[..., 0] + 1j * piece[..., 1])
        spectra[first : first + SIGNALS_AT_ONCE, :, 0] = transformed.real
        spectra[first : first + SIGNALS_AT_ONCE, :, 1] = transformed.imag
    return spectra


def _build(size: Size, random: np.random.Generator) -> Case:
    shape = (SIGNALS[size], SIGNAL_LENGTH, 2)
    signals = random.random(shape, np.float32)
    signals *= 2
    signals -= 1
    return Case(
        grid=(SIGNALS[size], 1, 1),
        block=(THREADS, 1, 1),
        arguments=[
            output("spectra", shape, np.float32),
            Argument("signals", signals),
        ],
        reference=lambda: {"spectra": spectra_of(signals)},
        tolerance=TOLERANCE,
    )


KERNEL = SuiteKernel(
    "fft",
    "Fourier transforms of 512 points in radix 8: blocks of 64 threads, exchange through shared memory",
    _build,
    {"EffiSha": "FFT"},
)
