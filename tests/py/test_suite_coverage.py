# SPDX-License-Identifier: Apache-2.0
"""The suite computes every benchmark that the papers were evaluated with."""

import pytest

from gpushare.suite import KERNELS

# Names as in the papers' tables.
BENCHMARKS = {
    # Slate, Table II.
    "Slate": ["BS", "GS", "MM", "RG", "TR"],
    # CD-search, Table 1.
    "CD-search": [
        "DXTC", "TPACF", "BINO", "LEU", "CP", "MERGE", "PATHFINDER", "LAVAMD", "GAUSSIAN", "LBM", "DWT2D", "GESUMMV",
        "PVC", "SC",
    ],
    # SRTF, Table 2.
    "SRTF": ["AES-d", "AES-e", "ImageDenoising-nlm2", "JPEG-d", "JPEG-e", "RayTracing", "SAD", "SHA1"],
    # EffiSha, Table 1.
    "EffiSha": [
        "BFS", "FFT", "MD", "MD5Hash", "NeuralNet", "Reduction", "Scan", "Sort", "Spmv", "Stencil2D", "Triad",
    ],
    # CuMAS, Table 1.
    "CuMAS": [
        "b+tree", "backprop", "BlackScholes", "gaussian", "hotspot", "lavaMD", "lud", "nw", "particlefilter",
        "pathfinder", "srad_v2", "vectorAdd",
    ],
}  # fmt: skip


@pytest.mark.parametrize("paper", BENCHMARKS)
def test_every_benchmark_of_the_paper_is_there(paper):
    covered = {kernel.stands_for[paper] for kernel in KERNELS.values() if paper in kernel.stands_for}
    assert covered == set(BENCHMARKS[paper])


def test_no_other_paper_is_named():
    assert {paper for kernel in KERNELS.values() for paper in kernel.stands_for} == set(BENCHMARKS)
