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
# # Read a server's trace
#
# Two users work on one machine: alice runs simulations in one notebook, bob filters images in another. Their processes
# are independent; each calls `gpushare.connect()`, and a server shares the GPU between them under a policy. This is
# alice's notebook, and bob's is a script here. It asks the server for traces of the last second, which say who waited
# and who ran, on how many SMs, under which quotas.
#
# The notebook runs on a simulated H100 in wall-clock time, so it needs no GPU: kernels take the time of their models
# and compute nothing. On a GPU the same lines serve `cuda:0`, with kernels of CUDA C++. More: `docs/guide/server.md`.
#
# ## The server
#
# In a terminal: `gpushare serve --device sim:h100 --policy fifo`. Both processes find its socket in the same place;
# here it has a separate one, so that the notebook uses no other server.

# %%
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import gpushare as gs

plt.rcParams |= {"figure.dpi": 80}
folder = Path(tempfile.mkdtemp(prefix="gpushare"))
os.environ["GPUSHARE_SOCKET"] = str(folder / "socket")
server = subprocess.Popen(
    [sys.executable, "-m", "gpushare", "serve", "--device", "sim:h100", "--policy", "fifo", "--log-level", "WARNING"]
)
while not (folder / "socket").exists():
    time.sleep(0.05)

# %% [markdown]
# ## Alice
#
# Alice's kernel has 20 waves of blocks, of 4 ms each: 80 ms alone. The launches are submitted one after the other, here
# in a thread, so that the notebook can continue.

# %%
session = gs.connect()
alice = session.application("alice")
solve = gs.KernelModel("solve", threads=1024, latency_ns=4_000_000)
WAVE = 2 * gs.device("sim:h100").sms  # two such blocks fit an SM


done = threading.Event()


def work():
    """A launch runs and another one waits, all the time."""
    jobs = []
    while not done.is_set():
        jobs.append(alice.submit(solve, grid=20 * WAVE, block=1024))
        if len(jobs) > 1:
            jobs.pop(0).result()
    jobs[-1].result()


worker = threading.Thread(target=work)
worker.start()

# %% [markdown]
# ## Bob
#
# Bob's kernel is one wave of 4 ms. After each launch there is a pause of 30 ms before the next one.

# %%
BOB = """
import time

import gpushare as gs

show = gs.KernelModel("show", threads=1024, latency_ns=4_000_000)
with gs.connect() as session:
    bob = session.application("bob")
    while True:
        bob.submit(show, grid=264, block=1024).result()
        time.sleep(0.03)
"""
other = subprocess.Popen([sys.executable, "-c", BOB])
while not any(each["name"].startswith("bob") for each in session.status()["applications"]):
    time.sleep(0.05)

# %% [markdown]
# ## First come, first served
#
# This is the order of a GPU alone. Bob's 4 ms wait for the rest of alice's 80.

# %%
time.sleep(1)
first = gs.ServerTrace.of(session.trace(0.8))
first.plot()
plt.show()

# %% [markdown]
# Lines: submitted, and waiting. Pale: from the first block to the end of the launch. Full: on how many of the 132 SMs.
#
# ## Another policy, while both run
#
# Both programs continue. `gpushare set-policy srtf` in a terminal does the same; SRTF lets the launch with the shortest
# remaining time go first, and learns these times from the first blocks of each.

# %%
session.set_policy("srtf")
time.sleep(1)
second = gs.ServerTrace.of(session.trace(0.8))
second.plot()
plt.show()

# %% [markdown]
# Bob's launch gets one SM first, where SRTF samples how long its blocks take, and then the others: alice's is preempted
# at block boundaries, when a wave of 4 ms has ended, and continues when bob's has ended. The effect on both: normalized
# turnaround (NTT) is the time from submission to end over the time alone. For alice it counts from the end of the
# previous launch, as one is always waiting.

# %%
ALONE_NS = {"alice": 80e6, "bob": 4e6}


def ntt(trace):
    """Of the jobs that have ended, the median per application."""
    jobs = trace.running().query("end_ns < @trace.end_ns and begin_ns > 0")
    asked = trace.waiting().set_index(["application", "end_ns"])["begin_ns"].to_dict()
    starts = [asked.get((each.application, each.begin_ns), each.begin_ns) for each in jobs.itertuples()]
    before = jobs.groupby("application")["end_ns"].shift(fill_value=0)
    who = jobs["application"].str.partition("@")[0].rename("application")
    turnaround = jobs["end_ns"] - pd.concat([pd.Series(starts, jobs.index), before], axis=1).max(axis=1)
    return (turnaround / who.map(ALONE_NS)).groupby(who).median()


table = pd.DataFrame({"fifo": ntt(first), "srtf": ntt(second)})
ax = table.plot.bar(figsize=(5, 3), rot=0, color=["C7", "C0"])
ax.axhline(1, color="black", lw=0.6)
ax.set(ylabel="NTT, median", xlabel="")
plt.show()
table.round(2)

# %% [markdown]
# ## Live status
#
# `gpushare top` shows this live in a terminal, `gpushare status --json` gives it to scripts, and `serve --http`
# to browsers and Prometheus. This NTT counts from the beginning, over both policies, by the kernels' times alone.

# %%
COLUMNS = ["state", "kernel", "quota", "done", "blocks", "remaining_ms", "ntt", "ended_jobs"]
looks = {}
began = time.monotonic()
while len(looks) < 3:
    status = pd.DataFrame(session.status()["applications"]).set_index("name")
    status["remaining_ms"] = status["remaining_ns"].astype(float) / 1e6
    looks[f"{time.monotonic() - began:.2f} s"] = status[COLUMNS].round(2)
    time.sleep(0.05)
pd.concat(looks)

# %% [markdown]
# ## Quotas
#
# A plan gives each launch a quota of blocks per SM. The trace has every change, here those around bob's last jobs;
# `gpushare trace --last 10 -o last.pftrace` writes it for ui.perfetto.dev, and `-o last.svg` draws it.

# %%
quotas = second.quotas().assign(ms=lambda each: (each["begin_ns"] / 1e6).round(2))
quotas[["ms", "application", "name"]].rename(columns={"name": "quota per SM"}).tail(8)

# %% [markdown]
# ## A client that dies
#
# Bob's process is killed. Its launch stops at the next block boundary, its memory is freed, and alice's launches are
# not affected.

# %%
other.kill()
other.wait()
while len(session.status()["clients"]) > 1:
    time.sleep(0.01)
print([each["name"] for each in session.status()["applications"]])

# %%
done.set()
worker.join()
session.close()
server.terminate()
server.wait(30)
(folder / "socket").exists()
