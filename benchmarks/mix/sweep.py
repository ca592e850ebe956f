# SPDX-License-Identifier: Apache-2.0
"""`mix` against every residency vector and against SM splits, for pairs that nothing was chosen by."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    ways: list[dict[str, object]] = []
    try:
        for pair in pairs:
            found = _measured(place, pair, policies, options)
            ways += found.rows(" + ".join(pair))
            rows.append(found.summary(" + ".join(pair)))
            print(rows[-1], flush=True)
    finally:
        report.add("mix and the best of a sweep", rows, NOTE)
        report.add("In short", [_summary(policy, rows) for policy in policies if rows])
        report.keep("Every way of every pair, every repeat", ways)


NOTE = (
    "STP: sum of the speeds while both are there, relative to those alone. The sweep: vectors of blocks per SM to "
    "which no block can be added (or all that fit), where the two may share an SM at all, and SM splits, each held "
    "throughout. The best is chosen by every other repeat and has the median of the others: whoever is chosen for a "
    "lucky run is not valued by it."
)


@dataclass(frozen=True)
class _Found:
    """STP of every repeat, by way."""

    vectors: dict[str, list[float]]
    splits: dict[str, list[float]]
    policies: dict[str, list[float]]

    def rows(self, pair: str) -> list[dict[str, object]]:
        """All there is."""
        ways = self.vectors | self.splits | self.policies
        return [{"pair": pair, "way": way, "STP": stp} for way, stp in ways.items()]

    def summary(self, pair: str) -> dict[str, object]:
        """The best of each kind, and how near to them the policies are."""
        row: dict[str, object] = {"pair": pair, "vectors": len(self.vectors)}
        for words, kind in (("vector", self.vectors), ("split", self.splits)):
            name, stp = best_of(kind)
            row |= {f"best {words}": name, f"STP of best {words}": stp or ""}
        best = best_of(self.vectors | self.splits)[1]
        for policy, repeats in self.policies.items():
            row |= {policy: median(repeats), _over_best(policy): median(repeats) / best}
        return row


def best_of(kind: Mapping[str, Sequence[float]]) -> tuple[str, float]:
    """Chosen by every other repeat, valued by the others, where there are others."""
    if not kind:
        return "", 0.0
    name = max(kind, key=lambda way: median(kind[way][::2]))
    return name, median(kind[name][1::2] or kind[name])


def _measured(
    place: Place | RealPlace, pair: tuple[str, ...], policies: Sequence[str], options: argparse.Namespace
) -> _Found:
    workload = looping(place, pair, options.length_ms, options.size)
    kernels = [place.kernel(application.operations[0]) for application in workload.applications]
    shared = [FixedDivision(pair, each) for each in vectors(place.description, kernels, options.every_vector)]
    split = [FixedDivision(pair, each) for each in splits(place.description, kernels, options.split_parts)]
    runs = place.run([(workload, way) for way in [*shared, *split, *policies]], options.repeats)
    stp = iter([[Together.of(run).stp for run in each] for each in runs])
    return _Found(
        {way.name: next(stp) for way in shared},
        {way.name: next(stp) for way in split},
        {policy: next(stp) for policy in policies},
    )


def _over_best(policy: str) -> str:
    return f"{policy} / best of all"


def _summary(policy: str, rows: Sequence[dict[str, object]]) -> dict[str, object]:
    shares = [float(row[_over_best(policy)]) for row in rows]
    within = sum(share >= WITHIN for share in shares)
    return {"policy": policy, "pairs": len(rows), "/ best of all, median": median(shares), "least": min(shares),
            "within 3 %": within}  # fmt: skip
