# SPDX-License-Identifier: Apache-2.0
"""Energy savings of partitions with idle SMs, on a GPU with a board that reports its energy.

First runs (cd_search_runs.py) are far shorter than what the board's counter can tell, so these loops are longer, and
end when everybody has done its part.

    python benchmarks/experiments/cd_search_energy.py --device cuda:0
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from itertools import combinations

from gpushare.backends.choice import backend_named
from gpushare.backends.cuda.energy_meter import LEAST_RUN_NS, meter_of
from gpushare.backends.cuda.run import CudaRunner
from gpushare.model.operation import Launch
from gpushare.model.workload import Application, Workload
from gpushare.progress import tracked
from gpushare.reproduce.cd_search.modes import mean, percent
from gpushare.reproduce.cd_search.runs import FirstRun, Where, first_runs
from gpushare.reproduce.cd_search.suite import LENGTH_NS as FIRST_RUN_NS
from gpushare.reproduce.cd_search.suite import MEMORY, OFF_LINE, ON_LINE, QUICK_MEMORY
from gpushare.reproduce.reproduction import Reproduction, Section
from gpushare.results.run import Run

LENGTH_NS = 1.1 * LEAST_RUN_NS
"""Length of each application alone; together they take at least this long."""


def energy_sections(
    mixes: Sequence[Sequence[str]],
    known: dict[str, FirstRun],
    policies: Sequence[str],
    device: Where,
    progress: bool | None = None,
) -> list[Section]:
    """One, in which the first of the policies is what the others are compared with; none where nothing is known."""
    gpu = backend_named(device).gpu
    if gpu is None or meter_of(gpu) is None:
        return []
    runner = CudaRunner(gpu)
    runs = [_under_each(runner, mix, known, policies) for mix in tracked(mixes, len(mixes), "energy", progress)]
    told = [each for each in runs if all("board_joules" in run.metrics() for run in each.values())]
    return [_section(told, policies, gpu.description.name)] if told else []


def _under_each(
    runner: CudaRunner, mix: Sequence[str], known: dict[str, FirstRun], policies: Sequence[str]
) -> dict[str, Run]:
    """Runs by policy, without traces, which would be large."""
    loops = (known[name].repeated(math.ceil(LENGTH_NS / known[name].alone_ns[0])) for name in mix)
    prepared = runner.prepare(Workload("+".join(mix), tuple(loops)))
    runner.warm_up(prepared)
    return {policy: runner.run(prepared, policy, 0, record=False) for policy in policies}


def _section(runs: list[dict[str, Run]], policies: Sequence[str], device: str) -> Section:
    import pandas as pd

    base, rows = policies[0], {}
    base_stp, base_joules, base_watts = _figures(runs, base)
    for policy in policies:
        stp, joules, watts = _figures(runs, policy)
        energy = _changes(joules, base_joules)
        rows[policy] = {
            "pairs": len(runs),
            "STP, mean": f"{mean(stp):.3f}",
            f"over {base}": percent(mean(_changes(stp, base_stp))),
            "energy, mean": f"{mean(joules):.1f} J",
            f"energy over {base}, mean": percent(mean(energy)),
            "least": percent(min(energy)),
            "power, mean": f"{mean(watts):.0f} W",
            f"power over {base}, mean": percent(mean(_changes(watts, base_watts))),
        }
    note = (
        f"The same launches under every policy, {LENGTH_NS / 1e9:.1f} s of each application alone. Energy is the "
        "board's, idle power included, from before the first launch to after the last; power is that over the makespan."
    )
    return Section(f"Energy of memory-bound pairs on {device}", pd.DataFrame(rows).T, note)


def _figures(runs: list[dict[str, Run]], policy: str) -> tuple[list[float], list[float], list[float]]:
    """STP, joules and watts of each mix."""
    metrics = [each[policy].metrics() for each in runs]
    joules = [each["board_joules"] for each in metrics]
    watts = [1e9 * energy / each["makespan_ns"] for energy, each in zip(joules, metrics, strict=True)]
    return [each["stp"] for each in metrics], joules, watts


def _changes(values: Sequence[float], base: Sequence[float]) -> list[float]:
    return [value / before - 1 for value, before in zip(values, base, strict=True)]


def main() -> None:
    """Prints the table, if the board tells its energy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--quick", action="store_true", help="one pair")
    options = parser.parse_args()
    names = QUICK_MEMORY if options.quick else MEMORY
    known = first_runs([Application(name, (Launch.of_suite(name),)) for name in names], options.device, FIRST_RUN_NS)
    found = energy_sections(list(combinations(names, 2)), known, ["even", ON_LINE, OFF_LINE], options.device)
    print(Reproduction("CD-search: energy", tuple(found)).text() if found else "this device does not tell its energy")


if __name__ == "__main__":
    main()
