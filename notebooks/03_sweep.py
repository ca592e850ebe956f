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
# # A sweep, with pandas
#
# Many workloads, policies and seeds, as tables. A sweep keeps its runs in a folder, so that it continues where it
# stopped; everything else here is pandas.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import gpushare as gs

plt.rcParams |= {"figure.dpi": 80}
folder = Path(tempfile.mkdtemp(prefix="gpushare"))

# %% [markdown]
# ## The workloads
#
# A service under rising load beside a batch of work. Rates are requests in a second. Blocks vary in length by 30 %.

# %%
answer = gs.KernelModel("answer", threads=256, latency_ns=40_000, issue_ns=10_000, variation_ratio=0.3)
batch = gs.KernelModel(
    "batch", threads=512, registers_per_thread=64, latency_ns=150_000, issue_ns=60_000, variation_ratio=0.3
)


def at(rate_per_s):
    """Both applications, with this many requests in a second."""
    requests = gs.Arrivals.poisson(rate_per_s, requests=40, seed=1).of([gs.Launch(answer, 300)])
    applications = [gs.Application("service", requests), gs.Application("batch", [gs.Launch(batch, 12_000)])]
    return gs.Workload(f"{rate_per_s}/s", applications, device="h100")


RATES = [1000, 2000, 4000, 8000]
POLICIES = ["fifo", "fair", "srtf", "mix"]

# %% [markdown]
# ## The sweep
#
# Repeats have different seeds, under every policy the same. `sweep.run(executor)` takes a process pool, Dask or Ray.

# %%
sweep = gs.Sweep(folder / "load", [at(rate) for rate in RATES], POLICIES, repeats=3, baseline="fifo")
result = sweep.run(progress=False)
print(f"{sweep.done} of {sweep.total} runs are in {sweep.folder.name}")

# %% [markdown]
# ## One row per application and run

# %%
table = result.to_pandas()
table["rate"] = table["workload"].str.removesuffix("/s").astype(int)
table.head()

# %%
batch_slowdown = table.query("application == 'batch'").pivot_table("ntt", "rate", "policy")
batch_slowdown.plot(style="o-", ylabel="slowdown of the batch", figsize=(6, 3))
plt.show()
batch_slowdown.round(2)

# %% [markdown]
# ## Response times of requests
#
# A run tells when each launch was issued and ended. Percentiles over all requests and repeats:

# %%
launches = pd.concat(
    run.launches().assign(policy=run.policy, rate=int(run.workload.name.removesuffix("/s"))) for run in result.runs
).query("application == 'service'")
launches["response_us"] = (launches["end_ns"] - launches["issued_ns"]) / 1e3
tail = launches.groupby(["rate", "policy"])["response_us"].quantile([0.5, 0.95]).unstack()
tail.unstack("policy").round(0)

# %%
p95 = tail[0.95].unstack("policy")
p95.plot(style="o-", ylabel="95th percentile, us", logy=True, figsize=(6, 3))
plt.show()

# %% [markdown]
# ## Differences from the baseline, with intervals
#
# `relative` divides each run by the baseline's run of the same workload and seed; `antt_low` and `antt_high` are the
# ends of the interval. One without 1 in it is a difference.

# %%
result.relative()[["antt", "antt_low", "antt_high"]].round(3)

# %% [markdown]
# More: `docs/guide/sweeps.md`.
