# SPDX-License-Identifier: Apache-2.0
"""`mix` against every residency vector and against SM splits, for pairs that nothing was chosen by."""

from __future__ import annotations

import argparse
import statistics

from benchmarks.gpu.report import Report

from gpushare.workload import Launch

from .fixed import FixedDivision, splits, vectors
from .place import Place, RealPlace, Together, looping

PAIRS = (
    "hotspot+binomial_options", "lbm+lava_md", "molecular_dynamics+srad_1", "srad_2+nlm_denoise", "bfs+streamcluster",
    "dct_8x8+sha1", "leukocyte+gesummv", "vector_add+quasirandom", "backprop_forward+b_plus_tree",
    "scan_lookback+philox_random", "reduction+neural_net", "stencil_3d+pathfinder",
)  # fmt: skip
"""Nothing of `mix` was chosen by them."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Of this part."""
    parser.add_argument("--sweep-pairs", default=",".join(PAIRS), help="first+second, with commas")
    parser.add_argument("--every-vector", action="store_true", help="also those to which a block could be added")
    parser.add_argument("--split-parts", type=int, default=6, help="SM splits are multiples of such a part of the GPU")


def measure(place: Place | RealPlace, options: argparse.Namespace, report: Report) -> None:
    """One row per pair."""
    pairs = [tuple(pair.split("+")) for pair in options.sweep_pairs.split(",") if pair]
    place.load(Launch.of_suite(name, options.size) for pair in pairs for name in pair)
    rows = []
    try:
        for pair in pairs:
            rows.append(_row(place, pair, options))
            print(rows[-1], flush=True)
    finally:
        report.add("mix and the best of a sweep", rows, NOTE)
        if rows:
            shares = [row["mix / best vector"] for row in rows]
            report.add(
                "In short",
                [
                    {
                        "pairs": len(rows),
                        "mix / best vector, median": statistics.median(shares),
                        "least": min(shares),
                        "mix / best of all, least": min(row["mix / best of all"] for row in rows),
                    }
                ],
            )


NOTE = (
    "STP: sum of the speeds while both are there, relative to those alone. The sweep: vectors of blocks per SM to "
    "which no block can be added (or all that fit), and SM splits, each held throughout."
)


def _row(place: Place | RealPlace, pair: tuple[str, ...], options: argparse.Namespace) -> dict[str, object]:
    workload = looping(place, pair, options.length_ms, options.size)
    kernels = [place.kernel(application.operations[0]) for application in workload.applications]
    found = {}
    found_groups = {
        "vector": vectors(place.description, kernels, options.every_vector),
        "split": splits(place.description, kernels, options.split_parts),
    }
    for kind, groups in found_groups.items():
        ways = [FixedDivision(pair, each) for each in groups]
        runs = place.run([(workload, way) for way in ways], options.repeats)
        stp = {
            way.name: statistics.median(Together.of(run).stp for run in each)
            for way, each in zip(ways, runs, strict=True)
        }
        best = max(stp, key=stp.__getitem__)
        found[kind] = (best, stp[best], len(ways))
    (mixed,) = place.run([(workload, "mix")], options.repeats)
    stp = statistics.median(Together.of(run).stp for run in mixed)
    best_of_all = max(found["vector"][1], found["split"][1])
    return {
        "pair": " + ".join(pair),
        "vectors": found["vector"][2],
        "best vector": found["vector"][0],
        "its STP": found["vector"][1],
        "best split": found["split"][0],
        "STP of it": found["split"][1],
        "mix": stp,
        "mix / best vector": stp / found["vector"][1],
        "mix / best of all": stp / best_of_all,
    }
