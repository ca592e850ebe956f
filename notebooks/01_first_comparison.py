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
# # A first comparison
#
# Two applications share a GPU: one renders a large image, the other answers short requests. Which scheduling policy
# suits them? This notebook describes them, compares policies, and looks at one run. It needs no GPU: everything runs on
# a simulated H100, and every run gives the same numbers.

# %%
import matplotlib.pyplot as plt

import gpushare as gs

plt.rcParams |= {"figure.dpi": 80}

# %% [markdown]
# ## The workload
#
# A kernel model says what one thread block needs: its threads, its registers, and how long it takes when it has an SM
# (streaming multiprocessor) to itself. `issue_ns` is the part of that time in which it computes; in the rest it waits
# for memory.

# %%
render = gs.KernelModel("render", threads=256, registers_per_thread=64, latency_ns=200_000, issue_ns=60_000)
answer = gs.KernelModel("answer", threads=128, registers_per_thread=32, latency_ns=30_000, issue_ns=5_000)

rendering = gs.Application("rendering", [gs.Launch(render, 20_000)])
arrivals = gs.Arrivals.poisson(rate_per_s=2000, requests=12, seed=3)
service = gs.Application("service", arrivals.of([gs.Launch(answer, 400)]))
workload = gs.Workload("rendering beside a service", [rendering, service], device="sim:h100")
workload

# %% [markdown]
# ## The comparison
#
# `compare` runs the workload under each policy. Of the four metrics, STP (system throughput) and StrictF (fairness) are
# better when larger, ANTT (mean slowdown) and the makespan when smaller.

# %%
result = gs.compare(workload, ["fifo", "fair", "srtf", "mix"], baseline="fifo")
result

# %% [markdown]
# Under `fifo`, which is what a GPU does alone, a request waits until all blocks of the image have begun. How long did
# each request take, from the moment it was sent?

# %%
times_us = {}
for policy in result.policies:
    launches = result.run(policy).launches().query("application == 'service'")
    times_us[policy] = (launches["end_ns"] - launches["issued_ns"]) / 1e3
fig, ax = plt.subplots(figsize=(6, 3))
ax.boxplot(times_us.values(), tick_labels=times_us.keys())
ax.set(yscale="log", ylabel="response time, us")
plt.show()
{policy: round(times.median()) for policy, times in times_us.items()}

# %% [markdown]
# ## One run
#
# The timeline shows which application had blocks on which SM. The lines above it are the applications, from their
# arrivals to their ends. Under `fifo` all requests come last.

# %%
result.plot.timeline(policy="fifo")
plt.show()

# %%
result.plot.timeline(policy="mix")
plt.show()

# %% [markdown]
# ## What next
#
# - `workload.to_toml("mine.toml")` writes the workload; `gpushare compare mine.toml --html report.html` compares
#   policies on it in a shell, and writes a report.
# - `result.save("mine.gpushare")` keeps the runs, and `gpushare report mine.gpushare` shows them again.
# - Kernels in CUDA C++ run on a real GPU: `docs/guide/on-a-gpu.md`. The next notebook writes a policy.
