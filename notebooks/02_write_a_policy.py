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
# # Write a policy
#
# A policy answers one question: how many thread blocks may each running launch have on each SM, and in which order? It
# has no clock, no thread and no GPU, so the same policy runs on a simulated and on a real device. This notebook writes
# one, looks at its decisions, and tunes it.

# %%
import matplotlib.pyplot as plt
import pandas as pd

import gpushare as gs

plt.rcParams |= {"figure.dpi": 80}

# %% [markdown]
# ## The smallest one
#
# `decide` gets the state and returns a plan: launches in rank order, each with a quota of blocks per SM. This policy
# serves the launch with the fewest blocks left first; the others get what it leaves.


# %%
class FewestBlocksFirst(gs.Policy):
    """Fewest blocks left first."""

    def decide(self, state):
        order = sorted(state.running, key=lambda launch: launch.unfinished)
        return gs.Plan({launch: state.full_quota(launch) for launch in order})


pairs = gs.load("ercbench").pairs(stagger_ns=36)  # the second kernel comes 50 cycles of the GPU later
result = gs.compare(pairs, ["fifo", "srtf", FewestBlocksFirst()])
result.metrics()[["stp", "antt", "strictf"]].round(2)

# %% [markdown]
# SRTF predicts how long launches will take. Blocks of different kernels differ in length, so their number alone is a
# worse guide: the mean slowdown (ANTT) is larger.
#
# ## Its decisions
#
# A run has every plan: when it was made, and which quota each launch got.

# %%
run = gs.run(pairs[0], FewestBlocksFirst())
run.decisions()

# %% [markdown]
# ## A policy with a setting
#
# A strict order keeps the launch that comes last off the GPU. This policy leaves it some room on every SM. Instances of
# one class are compared under names with the attributes that differ.


# %%
class KeepRoom(FewestBlocksFirst):
    """The first launch leaves room for this many blocks of its own on every SM."""

    def __init__(self, room):
        self.room = room

    def decide(self, state):
        order = sorted(state.running, key=lambda launch: launch.unfinished)
        quotas = {launch: state.full_quota(launch) for launch in order}
        if len(order) > 1:
            quotas[order[0]] = max(order[0].max_residency - self.room, 1)
        return gs.Plan(quotas)


tuned = gs.compare(pairs[:12], ["fifo", *[KeepRoom(room) for room in (0, 1, 2, 4)]], baseline="fifo")
tuned.metrics()[["stp", "antt", "strictf"]].round(2)

# %%
tuned.plot.tradeoff("antt", "strictf")
plt.show()

# %% [markdown]
# ## Mistakes
#
# A plan that cannot be is an error that names the policy, and the file and line. The other policies of a comparison
# are not affected.


# %%
class TooMuch(gs.Policy):
    """Asks for more blocks than fit."""

    def decide(self, state):
        return gs.Plan({launch: launch.max_residency + 1 for launch in state.running})


gs.compare(pairs[:1], ["fifo", TooMuch()]).errors

# %% [markdown]
# ## In a session
#
# The same policy schedules launches as a program submits them; with `"cuda:0"` on a real GPU.

# %%
with gs.Session("sim:h100", FewestBlocksFirst()) as session:
    alice, bob = session.application("alice"), session.application("bob")
    jobs = [alice.submit(gs.Launch.of_suite("matrix_product")), bob.submit(gs.Launch.of_suite("transpose"))]
    for job in jobs:
        job.result()
    done = session.finish()
pd.DataFrame(done.applications())[["application", "turnaround_ns", "alone_ns", "ntt"]]

# %% [markdown]
# `docs/guide/write-a-policy.md` lists what else a policy can do: predict, wait, admit launches at once, and policies in
# C++.
