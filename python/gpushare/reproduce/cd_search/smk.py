# SPDX-License-Identifier: Apache-2.0
"""CD-search's section 7.5: simultaneous multikernel, Maestro, and CD-search on top of it (Fig. 16)."""

from __future__ import annotations

from collections.abc import Sequence

from gpushare import _core
from gpushare.extras import pandas as pd
from gpushare.fixed_parts import FixedParts, Part
from gpushare.model.workload import Launch
from gpushare.reproduce.cd_search.modes import PAPER, SimulatedMixes, mean, percent
from gpushare.reproduce.cd_search.runs import MixRun, run_mixes
from gpushare.reproduce.reproduction import Section

Stp = dict[tuple[str, ...], float]
"""System throughput by mix."""
SEVERE = 0.05
"""Loss of STP from which on a mix counts as degraded severely; the paper gives no figure."""


def smk_section(mixes: SimulatedMixes) -> Section:
    """Every design of Fig. 16 over even partitioning."""
    even = stp_by_mix(mixes.mixed.even)
    search = stp_by_mix(mixes.mixed.runs)
    smk = stp_by_mix([run for mix in even for run in shared_runs(mixes, mix)])
    maestro = better_of(smk, even)
    both = better_of(smk, search)
    paper = PAPER["smk"]
    rows = {
        "SMK": {**over(smk, even), "lose, paper": f"nearly {paper['losing_ratio']:.0%}"},
        "Maestro": over(maestro, even),
        "CD-search": {**over(search, even), "STP, mean, paper": percent(PAPER["performance"]["stp_mean"])},
        "CD-search on Maestro": {
            **over(both, even),
            "over Maestro": percent(mean(changes_of(both, maestro))),
            "over Maestro, paper": percent(paper["cd_search_over_maestro"]),
        },
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=COLUMNS).fillna("")
    return Section("Fig. 16: against simultaneous multikernel", table, NOTE)


def shared_runs(mixes: SimulatedMixes, mix: Sequence[str]) -> list[MixRun]:
    """A mix with the numbers of blocks on every SM that promise the highest STP, by seed."""
    launches = [each for name in mix for each in mixes.known[name].application.operations if isinstance(each, Launch)]
    kernels = [launch.model_on(mixes.device).on(mixes.device) for launch in launches]
    groups, _ = _core.best_allocation(mixes.device, kernels, same_everywhere=True)
    ((sms, blocks),) = groups
    parts = {name: Part(0, sms, residency) for name, residency in zip(mix, blocks, strict=True)}
    runs = run_mixes([mix], mixes.known, [FixedParts("smk", parts)], mixes.device, False, range(mixes.seeds))
    return runs["smk"]


def stp_by_mix(runs: Sequence[MixRun]) -> Stp:
    """Mean STP of the seeds, per mix."""
    found: dict[tuple[str, ...], list[float]] = {}
    for run in runs:
        found.setdefault(run.mix, []).append(run.stp)
    return {mix: mean(values) for mix, values in found.items()}


def better_of(one: Stp, other: Stp) -> Stp:
    """The higher STP of two, per mix.

    >>> better_of({("a", "b"): 1.0}, {("a", "b"): 1.5})
    {('a', 'b'): 1.5}
    """
    return {mix: max(stp, other[mix]) for mix, stp in one.items()}


def changes_of(stp: Stp, base: Stp) -> list[float]:
    """Relative changes, by mix."""
    return [value / base[mix] - 1 for mix, value in stp.items()]


def over(stp: Stp, even: Stp) -> dict[str, str]:
    """Changes of STP over even partitioning, in words."""
    changes = changes_of(stp, even)
    return {
        "STP, mean": percent(mean(changes)),
        "most": percent(max(changes)),
        "least": percent(min(changes)),
        "lose": f"{mean([change < -SEVERE for change in changes]):.0%}",
    }


COLUMNS = [
    "STP, mean, paper",
    "STP, mean",
    "most",
    "least",
    "lose, paper",
    "lose",
    "over Maestro, paper",
    "over Maestro",
]
NOTE = (
    f"The 49 mixes of both kinds, over even partitioning; 'lose': mixes with over {SEVERE:.0%} less STP. SMK is the "
    "numbers of blocks per SM that the contention model finds best, from the start, without what finding them costs. "
    "Maestro is the better of SMK and even partitioning for every mix, known afterwards, since the paper says only "
    "that it takes 'the best of both worlds'; with CD-search, the better of SMK and CD-search. In the paper SMK loses "
    "by stalls of the load/store unit, which the simulator does not have."
)
