# SPDX-License-Identifier: Apache-2.0
"""The winning policy of a comparison, its margin, and the workload that shows it best."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpushare.cli.output import duration, marked, print_table, say, share
from gpushare.reports.policy_text import ordinary, summary
from gpushare.results.ranking import best_marks, best_of, labelled, realizable, winner
from gpushare.results.result import known_among

if TYPE_CHECKING:
    from gpushare.results.result import Result

SHOWN_AS = {"stp": "{:.3f}".format, "antt": "{:.3f}".format, "strictf": "{:.3f}".format, "makespan_ns": duration}
OTHER_AIMS = {"antt": ("ANTT", "response"), "strictf": ("StrictF", "fairness")}


def telling_workload(result: Result) -> str:
    """The workload with the smallest mean slowdown under the winner relative to the baseline's, or to the worst."""
    antt = result.per_workload()["antt"].unstack("policy").loc[result.workloads, realizable(result.policies)]
    against = ordinary(list(antt.columns))
    others = antt[against] if against is not None and winner(result) != against else antt.max(axis="columns")
    return str((others / antt[winner(result)]).idxmax())


def verdict(result: Result) -> str:
    """One sentence: the winner, its margin, and the policies that are better in other metrics."""
    table = result.metrics().loc[realizable(result.policies)]
    first = winner(result)
    text = f"{first} wins{_in_words(first)}: STP {table.at[first, 'stp']:.2f}"
    against = ordinary(list(table.index))
    if against is not None and first != against:
        gain = table.at[first, "stp"] / table.at[against, "stp"]
        slowdowns = f"{table.at[against, 'antt']:.2f} to {table.at[first, 'antt']:.2f}"
        text += f" is {gain:.2f} times that of {against}, and the mean slowdown goes from {slowdowns}"
    rivals: dict[str, list[str]] = {}
    for column, (metric, aim) in OTHER_AIMS.items():
        rival = best_of(table, column)
        if table.at[rival, column] != table.at[first, column]:
            figures = f"{metric} {table.at[rival, column]:.2f} against {table.at[first, column]:.2f}"
            rivals.setdefault(rival, []).append(f"{aim} ({figures})")
    return "; ".join([text, *(f"{rival} is better at {' and '.join(aims)}" for rival, aims in rivals.items())]) + "."


def _in_words(policy: str) -> str:
    words = summary(policy)
    return f" ({words})" if words else ""


def print_comparison(result: Result) -> None:
    """One row per policy, the best realizable one of each metric marked, then the legend and the verdict."""
    table = result.metrics()
    marks = best_marks(table, SHOWN_AS)
    energy = known_among([], table)
    rows = []
    for policy in result.policies:
        cells = [labelled(policy)]
        for metric, shown in SHOWN_AS.items():
            cells.append(marked(shown(table.at[policy, metric]), best=bool(marks.at[policy, metric])))
        joules = [_joules(table.at[policy, column]) for column in energy]
        rows.append([*cells, share(table.at[policy, "sm_utilisation"]), *joules])
    columns = ["policy", "STP  ", "ANTT  ", "StrictF  ", "makespan  ", "SMs in use", *("energy" for _ in energy)]
    print_table(_title(result), columns, rows)
    say("STP, StrictF: larger is better. ANTT, makespan: smaller is better. Best of its column: *")
    if len(result.policies) > 1:
        say(verdict(result))


def _joules(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1f} J"


def _title(result: Result) -> str:
    devices = ", ".join(dict.fromkeys(run.device_name for run in result.runs))
    workloads = result.workloads
    what = workloads[0] if len(workloads) == 1 else f"mean over {len(workloads)} workloads (geometric for ratios)"
    placed = "".join(f", placed by {each}" for each in dict.fromkeys(run.place for run in result.runs) if each)
    return f"{what} on {devices}{'' if result.is_real else ' (simulated)'}{placed}"
