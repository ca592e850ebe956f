# SPDX-License-Identifier: Apache-2.0
"""CD-search's performance and power mode with the suite's kernels, on a GPU or on the simulated H100."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

from gpushare import _core
from gpushare._core import Device
from gpushare.device import device as find_device
from gpushare.extras import pandas as pd
from gpushare.model.operation import Launch
from gpushare.model.workload import Application
from gpushare.profile.model import model_of
from gpushare.reproduce.cd_search.modes import Deltas, mean, percent
from gpushare.reproduce.cd_search.runs import MixRun, Where, first_runs, run_mixes
from gpushare.reproduce.reproduction import Section

MEMORY = ("triad_vector", "lbm", "streamcluster", "spmv_csr", "molecular_dynamics")
"""Kernels of the suite with a measured curve that saturates before 75% of the SMs, without fft, which has another block
shape in its large case than in its profile."""
COMPUTE = ("nbody", "matrix_product", "md5", "mandelbrot", "ray_trace", "aes_encrypt", "merge_sort", "leukocyte")
"""Kernels with a speed in proportion to the SMs, with blocks of 7 us to 1 ms, and 0 to 0.5 TB/s from memory."""
QUICK_MEMORY, QUICK_COMPUTE = ("lbm", "streamcluster"), ("matrix_product", "leukocyte")

ON_LINE, OFF_LINE = "cd-search", "cd-search:profile=off-line"
LENGTH_NS = 5_000_000
"""Length of a first run alone: several search windows, of which the longest take 1 ms."""
QUICK_LENGTH_NS = 2_000_000


def suite_sections(
    device: Where,
    *,
    quick: bool = False,
    length_ns: float | None = None,
    progress: bool | None = None,
    seeds: int = 1,
) -> list[Section]:
    """Pairs of both kinds, and memory-bound ones, whose first runs take ``length_ns`` alone; by default LENGTH_NS."""
    length_ns = length_ns or (QUICK_LENGTH_NS if quick else LENGTH_NS)
    memory, compute = (QUICK_MEMORY, QUICK_COMPUTE) if quick else (MEMORY, COMPUTE)
    applications = [Application(name, (Launch.of_suite(name),)) for name in (*memory, *compute)]
    known = first_runs(applications, device, length_ns, seeds)
    pairs = [(one, other) for one in memory for other in compute]
    policies = ["even", ON_LINE, OFF_LINE]
    found = run_mixes(pairs, known, policies, device, progress, range(seeds))
    of_memory = list(combinations(memory, 2))
    bound = run_mixes(of_memory, known, policies, device, progress, range(seeds))
    return [_performance_section(found, device), _power_section(bound, device)]


def _performance_section(found: dict[str, list[MixRun]], device: Where) -> Section:
    rows = {}
    for policy in (ON_LINE, OFF_LINE):
        deltas = Deltas(found["even"], found[policy])
        reached = [share_of_best(run) for run in found[policy]]
        rows[policy] = {
            "pairs": len(deltas.stp_by_mix),
            "STP, mean": percent(mean(deltas.stp)),
            "most": percent(max(deltas.stp_of_mixes)),
            "least": percent(min(deltas.stp_of_mixes)),
            "below 0.98": sum(delta < -0.02 for delta in deltas.stp_of_mixes),
            "ANTT, mean": percent(mean(deltas.antt)),
            "STP of best partition, mean": f"{mean(reached):.3f}",
            "within 3%": f"{sum(each >= 0.97 for each in reached) / len(reached):.0%}",
            "together throughout": f"{sum(run.is_complete for run in found[policy]) / len(reached):.0%}",
            "search, median": f"{sorted(run.settled_ns for run in found[policy])[len(reached) // 2] / 1e6:.2f} ms",
        }
    even = mean([share_of_best(run) for run in found["even"]])
    note = (
        "Over even. 'STP of best partition' compares steady states: rates by the contention model on the partition "
        "found, over those on the best of all partitions with an even number "
        f"of SMs; even partitioning has {even:.3f}. 'Search' is when the last partition was made, in runs of 5 ms "
        "alone, and part of the STP. The paper's 10.4% are for simulated kernels that saturate at 4 to 7 SMs of 24; "
        "here most need 50 to 70 of 132."
    )
    title = f"Performance mode: the suite's pairs of both kinds on {_name(device)}"
    return Section(title, pd.DataFrame(rows).T, note)


def _power_section(bound: dict[str, list[MixRun]], device: Where) -> Section:
    rows = {}
    for policy in (ON_LINE, OFF_LINE):
        deltas = Deltas(bound["even"], bound[policy])
        rows[policy] = {
            "pairs": len(deltas.stp_by_mix),
            "idle SMs, mean": f"{mean(deltas.idle):.0%}",
            "most": f"{max(deltas.idle):.0%}",
            "STP, mean": percent(mean(deltas.stp)),
            "least": percent(min(deltas.stp_of_mixes)),
        }
    note = (
        "Idle SMs are those that no plan assigned, over the first runs. Their savings have to be measured on a GPU: an "
        "H100 does not gate SMs one by one."
    )
    return Section(f"Power mode, memory-bound pairs on {_name(device)}", pd.DataFrame(rows).T, note)


def _name(device: Where) -> str:
    return find_device(device).name


def share_of_best(run: MixRun) -> float:
    """The steady STP of two kernels on the found partition, relative to that of the best partition."""
    return steady_stp(run.mix, run.parts) / best_stp(run.mix)


def steady_stp(mix: tuple[str, ...], parts: Sequence[int]) -> float:
    """STP in the steady state, from rates of the contention model, with all kernels running all the time."""
    device = find_device("sim:h100")
    kernels = [_kernel(name, device) for name in mix]
    rates = _core.partition_rates(device, kernels, list(parts))
    alone = [_core.rate_on_sms(device, kernel, device.sms) for kernel in kernels]
    return sum(rate / most for rate, most in zip(rates, alone, strict=True))


@lru_cache(maxsize=4096)
def best_stp(mix: tuple[str, ...]) -> float:
    """The best steady STP of all complete partitions for two, in steps of two SMs."""
    sms = find_device("sim:h100").sms
    return max(steady_stp(mix, (first, sms - first)) for first in range(2, sms, 2))


@lru_cache(maxsize=256)
def _kernel(name: str, device: Device) -> _core.KernelModel:
    return model_of(Launch.of_suite(name), device).on(device)
