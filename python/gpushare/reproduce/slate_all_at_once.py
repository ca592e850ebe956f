# SPDX-License-Identifier: Apache-2.0
"""All five benchmarks at once, a queue longer than the paper's pairs."""

from __future__ import annotations

from gpushare.compare import compare
from gpushare.model.workload import Workload
from gpushare.reproduce.reproduction import Section
from gpushare.reproduce.slate_words import MPS


def all_at_once(benchmarks: Workload, words: dict[str, str], device: str, repeats: int) -> Section:
    """Throughput over MPS and the metrics, of Slate, the baselines and an even split of the SMs."""
    policies = {**words, "an even split": "even"}
    result = compare(benchmarks, policies.values(), device=device, repeats=repeats)
    table = result.metrics()[["makespan_ns", "stp", "antt"]].rename({policy: word for word, policy in policies.items()})
    table.insert(0, "throughput over MPS", table.loc[MPS, "makespan_ns"] / table["makespan_ns"])
    return Section("All five at once", table.drop(columns="makespan_ns"), NOTE)


NOTE = (
    "Not in the paper. Slate searches the queue for what goes with who runs, and keeps two side by side; an even split "
    "runs all of them together and asks nobody."
)
