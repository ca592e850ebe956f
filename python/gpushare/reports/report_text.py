# SPDX-License-Identifier: Apache-2.0
"""Sentences about a result, made from its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpushare.extras import extra
from gpushare.extras import pandas as pd
from gpushare.reports.policy_text import ordinary
from gpushare.results.ranking import best_of, realizable
from gpushare.results.words import METRICS, number

with extra("analysis"):
    from markupsafe import Markup

if TYPE_CHECKING:
    from gpushare.results.result import Result

CONTESTS = {"stp": "throughput", "antt": "turnaround", "strictf": "fairness"}
SAME = 0.005
"""Relative differences below this count as equal."""


@dataclass(frozen=True)
class Headline:
    """Title and sentences of a report.

    Attributes:
        title: the winning policy, as HTML.
        sentences: its margin and the reasons, as HTML.
    """

    title: Markup
    sentences: list[Markup]


def headline(result: Result) -> Headline:
    """The headline of a report."""
    if not result.runs:
        nothing = Markup("Every policy failed, so there is nothing to compare; the errors are below.")
        return Headline(Markup("No policy finished"), [nothing])
    means = result.metrics()
    candidates = _candidates(means)
    title = _title(result, candidates)
    sentences = [_winner_sentence(means, candidates, metric, words) for metric, words in CONTESTS.items()]
    if len(candidates) < len(means):
        sentences.append(_oracle_sentence(means, candidates))
    waiting = _waiting_sentence(result, candidates)
    return Headline(title, [*sentences, *waiting])


def _candidates(means: pd.DataFrame) -> pd.DataFrame:
    return means.loc[realizable(list(means.index))]


def baseline(means: pd.DataFrame) -> str:
    """The policy to compare with: the closest to a GPU alone, else the first."""
    return ordinary(list(means.index)) or means.index[0]


def _code(name: str) -> Markup:
    """A policy's name, marked as code ("even" is also a word)."""
    return Markup("<code>{}</code>").format(name)


def _title(result: Result, means: pd.DataFrame) -> Markup:
    where = f"{len(result.workloads)} workloads" if len(result.workloads) > 1 else result.workloads[0]
    if len(means) == 1:
        return Markup("{} under {}").format(where, _code(means.index[0]))
    won: dict[tuple[str, ...], list[str]] = {}
    for metric, words in CONTESTS.items():
        won.setdefault(_winners(means, metric), []).append(words)
    said = [_victory(policies, _listed(words), len(means)) for policies, words in won.items()]
    return Markup("{}: {}").format(where, Markup("; ").join(said))


def _winners(means: pd.DataFrame, metric: str) -> tuple[str, ...]:
    """The best policy and all that equal it."""
    best = means.loc[best_of(means, metric), metric]
    return tuple(means.index[(means[metric] - best).abs() < SAME * abs(best)])


def _victory(policies: tuple[str, ...], words: str, contenders: int) -> Markup:
    if len(policies) == contenders:
        return Markup("all policies are equal on {}").format(words)
    verb = "wins" if len(policies) == 1 else "win"
    return Markup("{} {} on {}").format(_listed([_code(policy) for policy in policies]), verb, words)


def _listed(words: Sequence[str]) -> Markup:
    """Joined by commas and a last "and"."""
    head = Markup(", ").join(words[:-1])
    return Markup("{} and {}").format(head, words[-1]) if head else Markup("{}").format(words[-1])


def _winner_sentence(means: pd.DataFrame, candidates: pd.DataFrame, metric: str, words: str) -> Markup:
    best, against = _winners(candidates, metric), baseline(means)
    value, other = candidates.loc[best[0], metric], means.loc[against, metric]
    names = _listed([_code(policy) for policy in best])
    sentence = Markup("Best {}: {}, {} {}").format(words, names, METRICS[metric].short, number(value))
    if against not in best:
        words = Markup("{} instead of {} under {} ({:+.0f} %).")
        return words.format(sentence, number(other), _code(against), 100 * (value / other - 1))
    rest = candidates.drop(index=list(best))
    if rest.empty:
        return sentence + "."
    second = best_of(rest, metric)
    return Markup("{}; next is {} with {}.").format(sentence, _code(second), number(rest.loc[second, metric]))


def _oracle_sentence(means: pd.DataFrame, candidates: pd.DataFrame) -> Markup:
    names = [policy for policy in means.index if policy not in candidates.index]
    best = best_of(means.loc[names], "stp")
    share = candidates["stp"].max() / means.loc[best, "stp"]
    sentence = Markup(
        "Not ranked: {}, which know the runtimes in advance, as no real scheduler does. "
        "The best of the others reaches {} of the throughput of {}."
    )
    return sentence.format(Markup(", ").join(_code(name) for name in names), f"{share:.0%}", _code(best))


def _waiting_sentence(result: Result, candidates: pd.DataFrame) -> list[Markup]:
    """The reason: the slowdown of the application with the least work in each workload."""
    slowdowns = short_slowdowns(result)
    if slowdowns.empty:
        return []
    quickest, slowest = best_of(candidates, "antt"), candidates["antt"].idxmax()
    against = baseline(result.metrics())
    shown = list(dict.fromkeys([against if against != quickest else slowest, quickest]))
    grouped = slowdowns.groupby("policy")["ntt"]
    typical, worst = grouped.median(), grouped.max()
    busy = result.metrics()["sm_utilisation"]
    said = [
        Markup("{} times under {}{}").format(number(typical[policy]), _code(policy), _at_worst(typical, worst, policy))
        for policy in shown
    ]
    known = [policy for policy in shown if not np.isnan(busy[policy])]
    work = [Markup("{} under {}").format(f"{busy[policy]:.0%}", _code(policy)) for policy in known]
    sentence = Markup("Why: the shortest application of a workload took, against its time alone, {}.")
    utilisation = [Markup(" SMs had work {}.").format(Markup(", ").join(work))] if work else []
    return [Markup("").join([sentence.format(Markup(", ").join(said)), *utilisation])]


def _at_worst(typical: pd.Series, worst: pd.Series, policy: str) -> str:
    if worst[policy] <= typical[policy] * (1 + SAME):
        return ""
    return f" (median; {number(worst[policy])} at worst)"


def short_slowdowns(result: Result) -> pd.DataFrame:
    """The slowdown (ntt) of the application that is shortest alone, per run with several applications."""
    rows = []
    for run in result.runs:
        if len(run.workload.applications) > 1:
            alone = [run.alone_ns[application.name] for application in run.workload.applications]
            rows.append({"policy": run.policy, "ntt": run.ntt()[int(np.argmin(alone))]})
    return pd.DataFrame(rows)
