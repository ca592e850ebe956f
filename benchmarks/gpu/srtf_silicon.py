# SPDX-License-Identifier: Apache-2.0
"""SRTF's evaluation on a real GPU: its Tables 5 and 6 over all ordered pairs of the suite, and its predictors."""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from gpushare import _core
from gpushare._core import PolicyError
from gpushare.backends.cuda.loaded_workload import CudaWorkload
from gpushare.backends.cuda.run import CudaRunner
from gpushare.model.workload import Launch, Workload
from gpushare.policy import policy_name
from gpushare.results.predictor_accuracy import MODELS as MODELS_OVER_TIME
from gpushare.results.predictor_accuracy import Accuracy, accuracies, row_accuracies, row_shares, share_within
from gpushare.results.run import Run

from .report import Report
from .spread import Spread, geomean
from .suite_on_gpu import add_kernels_option, alone, chosen_kernels, repeated, runner_with

REPEATS = 1
POLICIES = ("hardware-streams", "hardware-priority", "fifo", "mpmax", "srtf", "srtf-adaptive")
BASELINES = ("hardware-streams", "hardware-priority")
ARRIVALS = {"staggered (Table 5)": 0.0, "at 25% (Table 6)": 0.25, "at 50% (Table 6)": 0.5}
"""Arrival of the second application, relative to the first one's time alone."""
STAGGER_NS = 5_000
ROW = 5
"""Launches in a row, for predictors with memory."""
METRICS = {"stp": "STP", "antt": "ANTT", "strictf": "StrictF"}
MODELS = ("regression", "staircase", "slice_unaware", "simple_slicing", "drain_rate")
WORST = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this benchmark's options."""
    add_kernels_option(parser)
    parser.add_argument("--seconds", type=float, default=30.0, help="limit for the pairs; no new one begins after it")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--seed", type=int, default=0, help="seed of the order of the pairs")
    parser.add_argument("--layers", type=int, default=1, help="layers of every launch")


@dataclass
class Measured:
    """Results of the pairs so far, by arrival and policy: one dict of medians per pair."""

    metrics: dict[tuple[str, str], dict[str, dict[str, float]]] = field(default_factory=lambda: defaultdict(dict))
    predictions: dict[str, list[dict[str, np.ndarray]]] = field(default_factory=lambda: defaultdict(list))
    over_time: dict[str, dict[str, Accuracy]] = field(default_factory=dict)
    rows: list[dict[str, list[Accuracy]]] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)


def measure(options: argparse.Namespace, report: Report) -> None:
    """Measures pairs in random order until the time is over, each under all policies."""
    launches = {name: Launch.of_suite(name, options.size, layers=options.layers) for name in chosen_kernels(options)}
    runner = runner_with(options.device, list(launches.values()), timeout_s=10.0)
    measured = Measured()
    times_alone(runner, launches, measured, report)
    pairs = list(permutations(launches, 2))
    random.Random(options.seed).shuffle(pairs)
    policies = [policy for policy in options.policies.split(",") if policy]
    end = time.monotonic() + options.seconds
    done = 0
    try:
        for pair in pairs:
            if time.monotonic() > end:
                break
            _measure_pair(runner, {name: launches[name] for name in pair}, policies, options.repeats, measured)
            done += 1
    finally:  # measurements from before a failure are reported
        words = f"{done} of {len(pairs)} ordered pairs, {options.repeats} repeats each"
        _report_pairs(report, measured, policies, words)
        _report_predictions(report, measured)


def times_alone(runner: CudaRunner, launches: dict[str, Launch], measured: Measured, report: Report) -> None:
    """Every kernel alone under fifo, with a trace for the predictors."""
    rows = []
    for name, launch in launches.items():
        prepared = runner.prepare(alone(name, launch))
        runner.warm_up(prepared)
        run = runner.run(prepared, "fifo", 0, record=True)
        _check_predictions(run, prepared, "alone", measured)
        measured.over_time[name] = _predictions_over_time(run, prepared)
        row = runner.prepare(alone(name, launch, ROW))
        measured.rows.append(_row_predictions(runner.run(row, "fifo", 0, record=True), row))
        (alone_ns,) = run.alone_ns.values()
        rows.append({"kernel": name, "original alone us": alone_ns / 1e3, "NTT under fifo": run.ntt()[0]})
    report.add("Each kernel alone", rows, "Original: on a stream, median of 5. NTT: turnaround under fifo / original.")


def _measure_pair(
    runner: CudaRunner, pair: dict[str, Launch], policies: list[str], repeats: int, measured: Measured
) -> None:
    first, second = pair
    first_ns = runner._alone(alone(first, pair[first]), first).turnaround_ns
    for arrival, part in ARRIVALS.items():
        later = repeated(second, pair[second], arrival_ns=max(STAGGER_NS, round(part * first_ns)))
        workload = Workload(f"{first}+{second}", (repeated(first, pair[first]), later))
        prepared = runner.prepare(workload)
        found: dict[str, list[dict[str, float]]] = defaultdict(list)
        for repeat in range(repeats):
            for policy in policies:
                checks = policy == "mpmax" and part == 0 and repeat == 0
                run = _run(runner, prepared, policy, repeat, checks, measured)
                if run is None:
                    continue
                found[policy].append({name: run.metrics()[name] for name in METRICS})
                if checks:
                    _check_predictions(run, prepared, "pairs under mpmax", measured)
        for policy, values in found.items():
            medians = {name: float(np.median([each[name] for each in values])) for name in METRICS}
            measured.metrics[arrival, policy][workload.name] = medians


def _run(
    runner: CudaRunner, prepared: CudaWorkload, policy: str, repeat: int, record: bool, measured: Measured
) -> Run | None:
    try:
        return runner.run(prepared, policy, repeat, record=record)
    except (PolicyError, TimeoutError) as error:
        measured.failures[f"{policy_name(policy)}: {prepared.workload.name}: {error}"] += 1
        return None


def _check_predictions(run: Run, prepared: CudaWorkload, group: str, measured: Measured) -> None:
    checks = _core.check_predictions(run.trace, run.device, prepared.core)
    actual = np.asarray(checks["actual_ns"], float)
    keep = actual > 0
    ratios = {model: np.asarray(checks[f"{model}_ns"], float)[keep] / actual[keep] for model in MODELS}
    measured.predictions[group].append(ratios)


def _predictions_over_time(run: Run, prepared: CudaWorkload) -> dict[str, Accuracy]:
    predictions = _core.predictions_over_time(run.trace, run.device, prepared.core)
    (arrival,), (end,) = run.trace.launch_arrivals()["time_ns"], run.trace.launch_ends()["time_ns"]
    return accuracies(predictions, int(run.trace.blocks()["blocks"].sum()), int(end - arrival))


def _row_predictions(run: Run, prepared: CudaWorkload) -> dict[str, list[Accuracy]]:
    predictions = _core.predictions_over_time(run.trace, run.device, prepared.core)
    arrivals, ends = (np.asarray(each["time_ns"]) for each in (run.trace.launch_arrivals(), run.trace.launch_ends()))
    blocks = [operation.blocks for operation in prepared.core.applications[0].operations]
    return row_accuracies(predictions, blocks, ends - arrivals)


def _report_pairs(report: Report, measured: Measured, policies: list[str], words: str) -> None:
    for arrival in ARRIVALS:
        # Geomeans are over the same pairs for all policies.
        by_policy = {policy: measured.metrics[arrival, policy] for policy in policies}
        common = sorted(set.intersection(*(set(pairs) for pairs in by_policy.values()))) if by_policy else []
        rows = [_row(policy, by_policy, common) for policy in policies]
        report.add(f"Second arrival {arrival}", rows, f"Geomeans over {len(common)} pairs ({words}). {NOTE}")
        losses = [loss for policy in policies for loss in _losses(policy, by_policy, common)]
        if losses:
            report.add(f"Where policies lose most, second arrival {arrival}", losses)
    if measured.failures:
        failures = [{"failure": failure, "times": count} for failure, count in measured.failures.items()]
        report.add("Runs that failed", failures)


NOTE = (
    "StrictF: smallest slowdown / largest. Turnarounds alone are those of original kernels. Spread: p10..p90 over the "
    "pairs. hardware-priority knows the times alone: the shorter one is more urgent. 'Beats': share of the pairs in "
    "which ANTT is lower."
)


def _row(policy: str, by_policy: dict[str, dict[str, dict[str, float]]], common: list[str]) -> dict[str, object]:
    mine = by_policy[policy]
    row: dict[str, object] = {"policy": policy}
    for metric, words in METRICS.items():
        values = [mine[pair][metric] for pair in common]
        row[words] = geomean(values)
        row[f"{words} of the pairs"] = Spread.of(values)
        if "fifo" in by_policy and common:
            row[f"{words} / fifo"] = geomean(mine[p][metric] / by_policy["fifo"][p][metric] for p in common)
    for baseline in BASELINES:
        if baseline in by_policy and baseline != policy and common:
            wins = [mine[pair]["antt"] < by_policy[baseline][pair]["antt"] for pair in common]
            row[f"beats {baseline}"] = sum(wins) / len(wins)
    return row


def _losses(
    policy: str, by_policy: dict[str, dict[str, dict[str, float]]], common: list[str]
) -> list[dict[str, object]]:
    """The pairs in which a policy of gpushare is furthest behind the better baseline."""
    baselines = [baseline for baseline in BASELINES if baseline in by_policy]
    if not baselines or policy in BASELINES:
        return []
    rows = []
    for pair in common:
        best = min(baselines, key=lambda baseline: by_policy[baseline][pair]["antt"])
        ours, theirs = by_policy[policy][pair], by_policy[best][pair]
        rows.append(
            {
                "policy": policy,
                "pair": pair,
                "ANTT": ours["antt"],
                "better baseline": best,
                "its ANTT": theirs["antt"],
                "ratio": ours["antt"] / theirs["antt"],
            }
        )
    return sorted((row for row in rows if row["ratio"] > 1), key=lambda row: -row["ratio"])[:WORST]


def _report_predictions(report: Report, measured: Measured) -> None:
    rows = []
    for group, parts in measured.predictions.items():
        for model in MODELS:
            ratios = np.concatenate([part[model] for part in parts])
            rows.append({"group": group, "model": model, **_distribution(ratios[~np.isnan(ratios)])})
    note = "Predicted / actual runtime, one prediction per launch and SM (Figs. 4 and 11)."
    report.add("Predictors", rows, note)
    report.add("Predictions while a kernel runs alone", _rows_over_time(measured), NOTE_OVER_TIME)
    in_a_row = [{"launch of a row": number} | shares for number, shares in enumerate(row_shares(measured.rows), 1)]
    report.add("Predictions within 0.9x to 1.1x, of launches in a row", in_a_row, "Counted in the same way.")


NOTE_OVER_TIME = (
    "Predicted / actual runtime of the launch: median and range of the newest prediction at each percent of its blocks "
    "from 10 to 99. Last row: share of them within 0.9x to 1.1x, each kernel weighing the same."
)


def _rows_over_time(measured: Measured) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name, by_model in measured.over_time.items():
        rows.append({"kernel": name} | {words: by_model[model].words() for model, words in MODELS_OVER_TIME.items()})
    shares = {words: share_within(measured.over_time, model) for model, words in MODELS_OVER_TIME.items()}
    return [*rows, {"kernel": "within 0.9x to 1.1x"} | shares]


def _distribution(ratios: np.ndarray) -> dict[str, object]:
    if len(ratios) == 0:
        return {"predictions": 0}
    low, first, median, third, high = (float(each) for each in np.quantile(ratios, [0, 0.25, 0.5, 0.75, 1]))
    return {
        "predictions": len(ratios),
        "min": low,
        "quartile 1": first,
        "median": median,
        "quartile 3": third,
        "max": high,
        "within 2x": float(np.mean((ratios >= 0.5) & (ratios <= 2))),
        "within 10%": float(np.mean((ratios >= 0.9) & (ratios <= 1.1))),
    }
