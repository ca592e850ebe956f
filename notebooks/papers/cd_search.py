# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# <!-- SPDX-License-Identifier: Apache-2.0 -->
#
# # How many SMs for each kernel?
#
# Two kernels on one GPU, each on its own SMs. An even split is fair, and often wasteful: a kernel that waits for memory
# is as fast on fewer SMs. CD-search (Zhao, Wang, Eeckhout 2018) detects such kernels, and how few SMs they need. This
# notebook shows it from single kernels to a whole search, on the paper's simulated GPU (24 SMs) and on the simulated
# H100 (132). All figures beside the paper's: `docs/papers/cd-search.md`.

# %%
import matplotlib.pyplot as plt
import pandas as pd

import gpushare as gs
from gpushare import _core
from gpushare.plots.palette import COLOURS, FAINT, MARKERS
from gpushare.plots.partition import draw_partition
from gpushare.profile.model import model_of

plt.rcParams |= {"figure.dpi": 80}
paper_gpu, h100 = gs.device("sim:gpgpu-sim-24"), gs.device("sim:h100")


class Kernels:
    """Kernels of one device, and how fast they are in parts of it, by the contention model."""

    def __init__(self, device, models):
        self.device, self.models = device, models
        self.alone = {name: _core.rate_on_sms(device, model, device.sms) for name, model in models.items()}

    def speed(self, name, sms):
        """Alone on so many SMs, relative to all."""
        return _core.rate_on_sms(self.device, self.models[name], sms) / self.alone[name]

    def stp(self, names, parts):
        """Together, each on its part."""
        rates = _core.partition_rates(self.device, [self.models[name] for name in names], list(parts))
        return sum(rate / self.alone[name] for rate, name in zip(rates, names, strict=True))


paper = Kernels(
    paper_gpu,
    {each.name: each.operations[0].kernel.on(paper_gpu) for each in gs.bundled_workload("cd_search").applications},
)
names = [
    "nbody",
    "matrix_product",
    "mandelbrot",
    "merge_sort",
    "triad_vector",
    "lbm",
    "streamcluster",
    "spmv_csr",
    "molecular_dynamics",
]
suite = Kernels(h100, {name: model_of(gs.Launch.of_suite(name), h100).on(h100) for name in names})


def two_panels(sharey=True):
    """Axes side by side."""
    return plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=sharey)[1]


# %% [markdown]
# ## One kernel: in proportion, or saturated (the paper's Figs. 7 and 9)

# %%
for ax, kernels in zip(two_panels(), (paper, suite), strict=True):
    sms = kernels.device.sms
    counts = range(1, sms + 1, max(1, sms // 24))
    ax.plot([0, sms], [0, 1], color=FAINT, linestyle="--")
    for number, name in enumerate(kernels.models):
        style = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)], "markersize": 3}
        ax.plot(counts, [kernels.speed(name, count) for count in counts], label=name, linewidth=1.2, **style)
    ax.set(xlabel="SMs", title=kernels.device.name, xlim=(0, sms), ylim=(0, 1.1))
    ax.legend(fontsize=7, frameon=False, ncols=2, loc="lower right")
plt.gcf().axes[0].set_ylabel("speed / speed on all SMs")
plt.show()

# %% [markdown]
# Left, the paper's kernels as assumed in `workloads/cd_search.toml`: half of them need 4 to 7 of 24 SMs. Right, kernels
# of the suite from their H100 profiles: only `triad_vector` saturates as early as that. Half of the GPU is an even
# share of two, so what counts is how fast a kernel is there.

# %% [markdown]
# ## Classified without trying: Eqs. 1 and 2
#
# Demand is the traffic that all SMs would request without stalls, supply the bandwidth of NoC, cache and memory.
# `LAVAMD`, `GESUMMV` and `SC` saturate the cache: by the utilisation of the memory alone they look compute-bound.

# %%
pd.DataFrame(
    {
        name: {
            "demand / supply": _core.off_sm_demand_per_sm(paper_gpu, kernel) * paper_gpu.sms
            / _core.off_sm_supply(paper_gpu, kernel.llc_hit_ratio),
            "memory utilisation": _core.dram_utilisation(paper_gpu, kernel),
            "SMs to saturate": _core.saturating_sms(paper_gpu, kernel),
        }
        for name, kernel in paper.models.items()
    }
).round(2)  # fmt: skip

# %% [markdown]
# ## Two kernels: STP against the partition (the paper's Fig. 3)


# %%
def curves(kernels, pairs, step):
    """STP by the SMs of the first; the second has the rest."""
    sms = kernels.device.sms
    return {
        f"{one} + {other}": {k: kernels.stp((one, other), (k, sms - k)) for k in range(step, sms, step)}
        for one, other in pairs
    }


left, right = two_panels()
draw_partition(
    curves(paper, [("GAUSSIAN", "LEU"), ("LAVAMD", "MERGE"), ("DWT2D", "LEU"), ("BINO", "LEU")], 1), 24, left
).set_title("the paper's GPU", loc="left", fontsize=11)
draw_partition(
    curves(
        suite,
        [("triad_vector", "nbody"), ("lbm", "mandelbrot"), ("spmv_csr", "matrix_product"), ("nbody", "mandelbrot")],
        4,
    ),
    132,
    right,
).set_title("H100", loc="left", fontsize=11)
right.set_ylabel("")
plt.show()

# %% [markdown]
# For one of each kind the best partition gives the memory-bound kernel little more than it needs, as in the paper (4 to
# 7 of its 24 SMs). For two compute-bound kernels the partition makes no difference (the flat curves). On the H100 the
# optimum lies further to the right, and an even split is closer to it: its kernels saturate later.

# %% [markdown]
# ## Two memory-bound kernels: how many SMs can be left idle (the paper's Fig. 4)

# %%
left, right = two_panels()
for ax, kernels, pairs in (
    (left, paper, [("LBM", "DWT2D"), ("LBM", "LAVAMD"), ("LAVAMD", "GAUSSIAN")]),
    (right, suite, [("triad_vector", "lbm"), ("triad_vector", "streamcluster"), ("spmv_csr", "molecular_dynamics")]),
):
    sms = kernels.device.sms
    totals = range(2, sms + 1, max(2, sms // 24 * 2))
    for number, pair in enumerate(pairs):
        stp = [kernels.stp(pair, (total // 2, total // 2)) for total in totals]
        ax.plot(totals, stp, marker=MARKERS[number], color=COLOURS[number], label=" + ".join(pair), markersize=4)
    ax.set(xlabel=f"SMs in use, of {sms}, half for each", title=kernels.device.name, ylim=(0, None))
    ax.legend(fontsize=8, frameon=False, loc="lower right")
left.set_ylabel("System throughput (STP)")
plt.show()

# %% [markdown]
# The paper's points: enough are 3 SMs each for `LBM` with `DWT2D`, 5 each with `LAVAMD`, 4 each for `LAVAMD` with
# `GAUSSIAN`. Here `LAVAMD` fills the cache and `LBM` the memory, so that they disturb each other little. What other
# kernels evict from the cache is not part of the model, so no curve falls again as some of the paper's do.

# %% [markdown]
# ## The search
#
# `cd-search` starts from an even split, tests whose rate falls while SMs are stalled, and takes more SMs away as long
# as the rate does not fall. It needs no information about the kernels beforehand.

# %%
applications = {each.name: each for each in gs.bundled_workload("cd_search").applications}


def looped(name, launches):
    """The same launch again and again."""
    return gs.Application(name, launches * applications[name].operations)


pair = gs.Workload("LBM+LEU", (looped("LBM", 3), looped("LEU", 80)))
result = gs.compare(pair, ["even", "cd-search", "cd-search:mode=power"], device="sim:gpgpu-sim-24")
result.metrics()[["stp", "antt", "sm_utilisation"]]


# %%
def parts_over_time(run):
    """SMs by application in every plan, by time in us."""
    plans = run.decisions()
    plans["sms"] = [sum(each > 0 for each in quota) if isinstance(quota, list) else 24 for quota in plans["quota"]]
    table = plans.groupby(["time_ns", "application"])["sms"].last().unstack().fillna(0)
    return table.set_index(table.index / 1e3)


found = parts_over_time(result.run("cd-search", "LBM+LEU"))
ax = found[found.index < 800].plot(drawstyle="steps-post", figsize=(7, 3), color=COLOURS[:2])
ax.set(xlabel="time (µs)", ylabel="SMs")
ax.axhline(12, color=FAINT, linestyle=":")
plt.show()

# %% [markdown]
# First every kernel is tested, `LBM` and then `LEU`, with a third of its SMs stalled. `LEU` becomes slower; the total
# loss decides. Then SMs are taken from `LBM` in steps of two until it loses more than 5%; the last step is taken back,
# and `LEU` gets the rest. Stalled SMs are idle meanwhile, which is the cost of the search.

# %%
result.plot.timeline(policy="cd-search")
plt.show()
