# SPDX-License-Identifier: Apache-2.0
"""`mix` against every residency vector and against SM splits, for pairs that were not used in its design."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.gpu.report import Report

from gpushare.model.workload import Launch, Workload

from .fixed import FixedDivision, splits, vectors
from .place import Place, RealPlace, Together, looping
from .search_time import Search

PAIRS = (
    "pathfinder+backprop_forward", "matrix_product+backprop_forward", "spmv_csr+backprop_forward",
    "nbody+nlm_denoise", "reduction+lud", "molecular_dynamics+page_view_count", "nbody+aes_decrypt", "tpacf+sha1",
    "gesummv+stencil_2d", "triad_vector+molecular_dynamics", "vector_add+neural_net", "stencil_2d+backprop_adjust",
)  # fmt: skip
"""Drawn from the pairs that can share an SM and have at least one kernel beyond the twenty of `sets`, on which
`mix` was tuned."""
POLICIES = ("mix", "mix:equal_start=no")
WITHIN = 0.97


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this part's options."""
    parser.add_argument("--sweep-pairs", default=",".join(PAIRS), help="first+second, with commas")
    parser.add_argument("--every-vector", action="store_true", help="also vectors that are not maximal")
    parser.add_argument("--settled", type=float, default=0.5, help="share of a run after which searches count as over")
    parser.add_argument("--search-times", action="store_true", help="one more run each, with its trace (much memory)")
    parser.add_argument("--split-parts", type=int, default=6, help="SM splits are multiples of such a part of the GPU")
    parser.add_argument(
        "--sweep-policies", default=",".join(POLICIES), help="policies to compare with the best of the sweep"
    )


def measure(place: Place | RealPlace, options: argparse.Namespace, report: Report) -> None:
    """Adds one row per pair."""
    pairs = [tuple(pair.split("+")) for pair in options.sweep_pairs.split(",") if pair]
    place.load(Launch.of_suite(name, options.size) for pair in pairs for name in pair)
    policies = [name for name in options.sweep_policies.split(",") if name]
    rows: list[dict[str, object]] = []
    settled: list[dict[str, object]] = []
    searches: list[dict[str, object]] = []
    ways: list[dict[str, object]] = []
    try:
        for pair in pairs:
            name = " + ".join(pair)
            workload = looping(place, {name: Launch.of_suite(name, options.size) for name in pair}, options.length_ms)
            found, found_late = _measured(place, workload, pair, policies, options)
            ways += found.rows(name)
            rows.append(found.summary(name))
            settled.append(found_late.summary(name))
            if options.search_times:
                searches += _searches(place, workload, name, policies)
            print(rows[-1], flush=True)
    finally:
        report.add("mix and the best of a sweep", rows, NOTE)
        report.add("In short", [_summary(policy, rows) for policy in policies if rows])
        report.add(f"In short, without the first {options.settled:.0%} of every run",
                   [_summary(policy, settled) for policy in policies if settled])  # fmt: skip
        if searches:
            report.add("Searches", searches, SEARCHES)
        report.keep("Every way of every pair, every repeat", ways)


NOTE = (
    "STP: sum of the speeds while both run, relative to those alone. The sweep: vectors of blocks per SM to "
    "which no block can be added (or all that fit), where the two may share an SM at all, and SM splits, each held "
    "throughout. The best is chosen by every other repeat and has the median of the others, so that it does not gain "
    "from the run by which it was chosen."
)

SEARCHES = (
    "One more run each, with its trace: how many allocations of the SMs were in force for a millisecond and more, when "
    "the last one was for the first time, and when for good."
)


@dataclass(frozen=True)
class _Found:
    """STP of every repeat, by way."""

    vectors: dict[str, list[float]]
    splits: dict[str, list[float]]
    policies: dict[str, list[float]]

    def rows(self, pair: str) -> list[dict[str, object]]:
        """All rows."""
        ways = self.vectors | self.splits | self.policies
        return [{"pair": pair, "way": way, "STP": stp} for way, stp in ways.items()]

    def summary(self, pair: str) -> dict[str, object]:
        """The best of each kind, and the policies relative to them."""
        row: dict[str, object] = {"pair": pair, "vectors": len(self.vectors)}
        for words, kind in (("vector", self.vectors), ("split", self.splits)):
            name, stp = best_of(kind)
            row |= {f"best {words}": name, f"STP of best {words}": stp or ""}
        best = best_of(self.vectors | self.splits)[1]
        for policy, repeats in self.policies.items():
            row |= {policy: median(repeats), _over_best(policy): median(repeats) / best}
        return row


def best_of(kind: Mapping[str, Sequence[float]]) -> tuple[str, float]:
    """Chosen by every other repeat, evaluated by the others, if there are others."""
    if not kind:
        return "", 0.0
    name = max(kind, key=lambda way: median(kind[way][::2]))
    return name, median(kind[name][1::2] or kind[name])


def _measured(
    place: Place | RealPlace,
    workload: Workload,
    pair: tuple[str, ...],
    policies: Sequence[str],
    options: argparse.Namespace,
) -> tuple[_Found, _Found]:
    """Results over all the time, and after the searches."""
    kernels = [place.kernel(application.operations[0]) for application in workload.applications]
    shared = [FixedDivision(pair, each) for each in vectors(place.description, kernels, options.every_vector)]
    split = [FixedDivision(pair, each) for each in splits(place.description, kernels, options.split_parts)]
    runs = place.run([(workload, way) for way in [*shared, *split, *policies]], options.repeats)

    def found(after: float) -> _Found:
        stp = iter([[Together.of(run, after).stp for run in each] for each in runs])
        return _Found(
            {way.name: next(stp) for way in shared},
            {way.name: next(stp) for way in split},
            {policy: next(stp) for policy in policies},
        )

    return found(0), found(options.settled)


def _searches(
    place: Place | RealPlace, workload: Workload, pair: str, policies: Sequence[str]
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for policy, (run,) in zip(
        policies, place.run([(workload, each) for each in policies], 1, record=True), strict=True
    ):
        search = Search.of(run)
        if search is None:
            continue
        rows.append(
            {
                "pair": pair,
                "policy": policy,
                "divisions": search.divisions,
                "found after, ms": search.found_ns / 1e6,
                "over after, ms": search.over_ns / 1e6,
            }
        )
    return rows


def _over_best(policy: str) -> str:
    return f"{policy} / best of all"


def _summary(policy: str, rows: Sequence[dict[str, object]]) -> dict[str, object]:
    shares = [float(row[_over_best(policy)]) for row in rows]
    within = sum(share >= WITHIN for share in shares)
    return {"policy": policy, "pairs": len(rows), "/ best of all, median": median(shares), "least": min(shares),
            "within 3 %": within}  # fmt: skip
