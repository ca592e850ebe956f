# SPDX-License-Identifier: Apache-2.0
"""`mix` against every residency vector and against SM splits, for pairs that nothing was chosen by."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import median

from benchmarks.gpu.report import Report

from gpushare.workload import Launch

from .fixed import FixedDivision, splits, vectors
from .place import Place, RealPlace, Together, looping

PAIRS = (
    "pathfinder+backprop_forward", "matrix_product+backprop_forward", "spmv_csr+backprop_forward",
    "nbody+nlm_denoise", "reduction+lud", "molecular_dynamics+page_view_count", "nbody+aes_decrypt", "tpacf+sha1",
    "gesummv+stencil_2d", "triad_vector+molecular_dynamics", "vector_add+neural_net", "stencil_2d+backprop_adjust",
)  # fmt: skip
"""Taken by lot from those that may share an SM and of which one at least is not of the twenty kernels of `companies`:
nothing of `mix` was chosen by them."""
POLICIES = ("mix", "mix:caution=no")
WITHIN = 0.97


def add_options(parser: argparse.ArgumentParser) -> None:
    """Of this part."""
    parser.add_argument("--sweep-pairs", default=",".join(PAIRS), help="first+second, with commas")
    parser.add_argument("--every-vector", action="store_true", help="also those to which a block could be added")
    parser.add_argument("--split-parts", type=int, default=6, help="SM splits are multiples of such a part of the GPU")
    parser.add_argument(
        "--sweep-policies", default=",".join(POLICIES), help="to be compared with the best of the sweep"
    )


def measure(place: Place | RealPlace, options: argparse.Namespace, report: Report) -> None:
    """One row per pair."""
    pairs = [tuple(pair.split("+")) for pair in options.sweep_pairs.split(",") if pair]
    place.load(Launch.of_suite(name, options.size) for pair in pairs for name in pair)
    policies = [name for name in options.sweep_policies.split(",") if name]
    rows: list[dict[str, object]] = []
    try:
        for pair in pairs:
            rows.append(_row(place, pair, policies, options))
            print(rows[-1], flush=True)
    finally:
        report.add("mix and the best of a sweep", rows, NOTE)
        report.add("In short", [_summary(policy, rows) for policy in policies if rows])


NOTE = (
    "STP: sum of the speeds while both are there, relative to those alone. The sweep: vectors of blocks per SM to "
    "which no block can be added (or all that fit), where the two may share an SM at all, and SM splits, each held "
    "throughout."
)


def _row(
    place: Place | RealPlace, pair: tuple[str, ...], policies: Sequence[str], options: argparse.Namespace
) -> dict[str, object]:
    workload = looping(place, pair, options.length_ms, options.size)
    kernels = [place.kernel(application.operations[0]) for application in workload.applications]
    shared = [FixedDivision(pair, each) for each in vectors(place.description, kernels, options.every_vector)]
    split = [FixedDivision(pair, each) for each in splits(place.description, kernels, options.split_parts)]
    ways = [*shared, *split, *policies]
    runs = place.run([(workload, way) for way in ways], options.repeats)
    stp = {_name(way): median(Together.of(run).stp for run in each) for way, each in zip(ways, runs, strict=True)}
    best = max((way.name for way in [*shared, *split]), key=stp.__getitem__)
    row: dict[str, object] = {"pair": " + ".join(pair), "vectors": len(shared)}
    for words, kind in (("vector", shared), ("split", split)):
        best_of_kind = max((way.name for way in kind), key=stp.__getitem__, default="")
        row |= {f"best {words}": best_of_kind, f"STP of best {words}": stp.get(best_of_kind, "")}
    row |= {policy: stp[policy] for policy in policies}
    return row | {_over_best(policy): stp[policy] / stp[best] for policy in policies}


def _name(way: FixedDivision | str) -> str:
    return way if isinstance(way, str) else way.name


def _over_best(policy: str) -> str:
    return f"{policy} / best of all"


def _summary(policy: str, rows: Sequence[dict[str, object]]) -> dict[str, object]:
    shares = [float(row[_over_best(policy)]) for row in rows]
    within = sum(share >= WITHIN for share in shares)
    return {"policy": policy, "pairs": len(rows), "/ best of all, median": median(shares), "least": min(shares),
            "within 3 %": within}  # fmt: skip
