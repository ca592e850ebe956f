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
# # The order of copies: CuMAS's orderings
#
# An application copies data in, computes, and copies results out: it uses the uplink, the SMs and the downlink, one
# after the other. Applications take less time together if their phases overlap, and the overlap depends on their order.
# CuMAS (Belviranli, Khorasani, Bhuyan, Gupta 2016) optimizes it for a window of waiting applications at a time. Here
# such an **ordering** stands before the + of a policy's name: it selects the next operations, and the policy assigns
# SMs to them.
#
# Everything below is simulated, on the Tesla K40c of the paper at first. All its figures beside ours:
# `docs/papers/cumas.md`, made by `gpushare reproduce cumas`; `benchmarks/experiments` measures on a GPU.

# %%
import sys

import matplotlib.pyplot as plt
import pandas as pd

import gpushare as gs
from gpushare.reproduce.cumas.runs import permutations, policy_of

sys.path.insert(0, "../../benchmarks/experiments")
from cumas_arrivals import MIXED, small_among_large, turnarounds_ms
from cumas_pieces import small_behind_large, small_us

plt.rcParams |= {"figure.dpi": 80}
K40C, H100 = gs.device("sim:k40c"), gs.device("sim:h100")
ENGINES = {"to_device": 2, "SMs": 1, "to_host": 0}


def gantt(run, ax):
    """One lane per engine, one colour per application."""
    names = [application.name for application in run.workload.applications]
    spans = [(row.direction, row.application, row.start_ns, row.end_ns) for row in run.copies().itertuples()]
    spans += [("SMs", row.application, row.arrival_ns, row.end_ns) for row in run.launches().itertuples()]
    for engine, name, start, end in sorted(spans, key=lambda span: span[2]):  # who came in between is on top
        colour = f"C{names.index(name) % 10}"
        ax.broken_barh([(start / 1e6, (end - start) / 1e6)], (ENGINES[engine] - 0.4, 0.8), color=colour, lw=0)
    ax.set(yticks=list(ENGINES.values()), yticklabels=list(ENGINES), title=run.policy)


def gantts(workload, policies, device):
    """The same workload under each policy, one picture below the other."""
    runs = [gs.run(workload, policy, device=device) for policy in policies]
    axes = plt.subplots(len(runs), figsize=(9, 1.5 * len(runs)), sharex=True, layout="constrained")[1]
    for run, ax in zip(runs, axes, strict=True):
        gantt(run, ax)
    axes[-1].set(xlabel="time (ms)", xlim=(0, max(run.record.makespan for run in runs) / 1e6))
    plt.show()


# %% [markdown]
# ## Four applications
#
# Of Table 1: copies in and out as printed there, 0.5 s alone each. `fifo` is the order of plain streams: every copy and
# launch starts as soon as it is ready. `strings` takes whole tasks in order of arrival, `cumas` in the best order.

# %%
chosen = ("hotspot", "lavaMD", "lud", "vectorAdd")
twelve = gs.bundled_workload("cumas")
four = gs.Workload("four", [each for each in twelve.applications if each.name in chosen])
gantts(four, ["fifo", "strings:to_host=together+fifo", "cumas:to_host=together+fifo"], K40C)

# %% [markdown]
# The best order begins with an application that copies little in, so that the SMs need not wait, and ends with one that
# copies little out. For two engines that is Johnson's rule; with three no rule is enough, and a branch and bound finds
# the best of the 24 orders here, or of the 479 million of twelve applications in some 20 microseconds.

# %% [markdown]
# ## Twelve applications, windows of some
#
# A window is ordered when the previous one has begun to copy, and it is full or the uplink is idle. Five of the 25
# permutations that `docs/papers/cumas.md` has; how much less time than under Strings:

# %%
orders = permutations(1)
strings = policy_of("strings")
windows = (2, 4, 6, 8, 10, 12)
solvers = {"cumas": "", "cumas-dp": "", "cumas, two tasks in kernels": ":kernels=2"}
policies = {
    (label, window): policy_of(label.split(",")[0], f":window={window}{options}")
    for label, options in solvers.items()
    for window in windows
}
times = gs.compare(orders, [strings, *policies.values()], device=K40C).per_workload()["makespan_ns"].unstack()
speedups = {place: (times[strings] / times[policy]).mean() - 1 for place, policy in policies.items()}
table = pd.Series(speedups).unstack(level=0)
ax = (100 * table).plot(figsize=(7, 3.5), marker="o")
ax.set(xlabel="tasks in a window", ylabel="faster than Strings (%)", ylim=(0, None))
plt.show()
(100 * table).round(1)

# %% [markdown]
# The paper takes up to 14 % off the total time on average with its windows of 2 to 10, which is 16 % faster. With two
# tasks in their kernels a short one need not wait for one long kernel, and the sharing policy has a choice:
# `cumas:kernels=2+srtf` is an ordering and SRTF.

# %% [markdown]
# ## Copies in pieces
#
# A copy of 1 GB takes 18 ms on an H100, and blocks all other copies meanwhile. In pieces, other copies can run in
# between. Each piece has the latency of a copy: `bandwidth_loss_share` is the share of the bandwidth that may be lost
# to it, and determines the size of pieces. Eight applications of 1 MB arrive while a large one copies:

# %%
workload = small_behind_large()
rows = {}
for loss in (None, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4):
    policy = f"cumas:pieces=short:bandwidth_loss_share={loss}+fifo" if loss else "cumas:pieces=no+fifo"
    run = gs.run(workload, policy, device=H100)
    times_us = small_us(run)
    rows[f"{loss:.0%}" if loss else "whole copies"] = {
        "small, mean us": sum(times_us) / len(times_us),
        "small, longest us": max(times_us),
        "large, ms": run.applications()["turnaround_ns"].iloc[0] / 1e6,
    }
pd.DataFrame(rows).T.round(2)

# %%
gantts(workload, ["cumas:pieces=no+fifo", "cumas:pieces=short+fifo"], H100)

# %% [markdown]
# Lanes show copies from their first piece to their last: the large one is behind the small ones.
#
# If all applications arrive at the beginning, the order alone decides, and pieces only cost bandwidth: so pieces are
# the default for objectives of turnaround, and not for the makespan (`pieces=no`).

# %% [markdown]
# ## Open arrivals
#
# Eighteen applications of Table 1 on the K40c, 500 ms apart in the mean, and ten small ones a second among them. Mean
# turnaround in milliseconds; a small one alone takes 1.4:

# %%
mixed = small_among_large(0)
result = gs.compare(mixed, list(MIXED.values()), device=K40C)
rows = {}
for name, policy in MIXED.items():
    turnarounds = pd.Series(turnarounds_ms(result.run(policy)))
    is_small = pd.Series([each.name.startswith("small") for each in mixed.applications])
    rows[name] = {"small": turnarounds[is_small].mean(), "large": turnarounds[~is_small].mean()}
pd.DataFrame(rows).T.round(1)

# %% [markdown]
# Orderings serve a task at a time, and a small one that has copied waits for the kernels of the others: with one block
# per SM, as these kernels are modelled, no kernel can run beside them. With `kernels=2` two tasks can be in their
# kernels.
#
# ## On a GPU
#
# The same names with `device="cuda:0"`: copies from and to pinned memory, both directions at a time, and kernels under
# any policy. Copies' times come from your profile of the GPU (`gpushare profile`), or are measured at the first use.
#
# ```sh
# gpushare compare FILE --device cuda:0 --policies hardware-streams,fifo,strings+fifo,cumas+fifo,cumas:kernels=2+srtf
# python benchmarks/experiments/cumas_elsewhere.py --device cuda:0
# ```
