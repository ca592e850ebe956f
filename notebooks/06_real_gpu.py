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
# # A short kernel behind a long one, on a real GPU
#
# A matrix product fills the GPU for milliseconds. While it runs, another application submits a kernel of some tens of
# microseconds. This notebook measures its turnaround in six ways of sharing: four policies of gpushare, and two of CUDA
# alone, streams and streams with priorities.
#
# On a machine with a GPU it measures, and stores the measurements in files beside it. Without a GPU, it reads these
# files. `docs/guide/on-a-gpu.md` has the details.

# %%
import os
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gpushare as gs

plt.rcParams |= {"figure.dpi": 80, "axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
pd.options.display.max_colwidth = None

device = os.environ.get("GPUSHARE_DEVICE", "cuda:0")
on_gpu = device.startswith("cuda")
if on_gpu:
    try:
        gs.device(device)
    except gs.CudaError:  # no driver, or no GPU
        on_gpu = False


def measured(what, measure):
    """The result that ``measure()`` returns on a GPU, which is kept in a file; without a GPU, what the file holds."""
    file = Path(f"06_real_gpu{what}.result")
    if on_gpu:
        measure().save(file)
    elif not file.exists():
        raise FileNotFoundError(f"{file}: no GPU here, and no recording: run this notebook once where there is a GPU")
    return gs.Result.load(file)


print(f"Measured here, on {device}." if on_gpu else "No GPU here: recorded figures.")

# %% [markdown]
# ## 1. Two kernels
#
# The **long** one is the suite's matrix product, 4096 x 1024 times 1024 x 4096: 65536 blocks, which fill an H100 some
# sixty times over. The **short** one is written here: SAXPY, four elements per thread, which takes about as long as a
# block of the other. It arrives after 1.5 ms.
#
# `gs.Kernel` compiles the source by NVRTC. It needs no `extern "C"`, and templates are named as in C++. Arrays are
# uploaded before each run.

# %%
saxpy = gs.Kernel(
    """
    template <typename T>
    __global__ void saxpy(T* y, T const* x, T a, int count) {
      int first = blockIdx.x * 4 * blockDim.x + threadIdx.x;
      for (int k = 0; k < 4; ++k) {
        int i = first + k * blockDim.x;
        if (i < count) y[i] += a * x[i];
      }
    }
    """,
    "saxpy<float>",
)
product = gs.Kernel(gs.suite.KERNELS["matrix_product"].source_path, "matrix_product")

random = np.random.default_rng(1)
rows, inner, columns, count = 4096, 1024, 4096, 1 << 24
left, right = random.random((rows, inner), np.float32), random.random((inner, columns), np.float32)
x = random.random(count, np.float32)

long = gs.Launch(
    product,
    grid=(columns // 16, rows // 16),
    block=(16, 16),
    args=[gs.Zeros((rows, columns), np.float32), left, right, rows, inner, columns],
)
short = gs.Launch(saxpy, grid=count // 1024, block=256, args=[gs.Zeros(count, np.float32), x, 2.0, count])
pair = gs.Workload(
    "short behind long",
    [gs.Application("long", [long]), gs.Application("short", [short], arrival_ns=1_500_000, priority=1)],
    device="cuda:0",
)

# %% [markdown]
# ## 2. Six ways to share
#
# `compare` first runs each application alone, as original kernels: slowdowns are relative to these times. Then it runs
# all six alternately, five times. The policies run the preemptible workers that gpushare makes of the kernels, the two
# `hardware-` baselines the original kernels. The short kernel arrives at four different times.

# %%
policies = ["fifo", "mpmax", "srtf", "srtf-adaptive", "hardware-streams", "hardware-priority"]
workloads = [replace(pair.arriving(short=1e6 * moment), name=f"after {moment} ms") for moment in (0.5, 1.5, 2.5, 3.5)]
result = measured("", lambda: gs.compare(workloads, policies, device=device, repeats=5))
conditions = result.run().measured
print(f"{result.run().device.name}, driver {conditions.driver}, {conditions.date}")

table = result.to_pandas()
alone = table.groupby("application", sort=False)["alone_ns"].median() / 1e3
print("alone:", ", ".join(f"{name} {time:.1f} µs" for name, time in alone.items()))
grouped = table.query("application == 'short'").groupby(["policy", "workload"], sort=False)["turnaround_ns"]
cells = (grouped.median() / 1e3).map("{:.0f}".format) + grouped.agg(lambda t: np.ptp(t) / 1e3).map(" ({:.0f})".format)
cells.unstack(sort=False).rename_axis(columns="short: median turnaround (spread) in µs, arriving")

# %% [markdown]
# The same as slowdowns (NTT, time beside the other / time alone) and as metrics computed from them, over all four
# times. STP is the sum of 1/NTT (2 would be perfect for two applications), ANTT the mean NTT (1 would be perfect),
# StrictF the smallest slowdown / the largest (1 is fair).

# %%
slowdowns = table.pivot_table(index="policy", columns="application", values="ntt", aggfunc="median", sort=False)
slowdowns.join(result.metrics()[["stp", "antt", "strictf"]]).round(3)

# %%
result.plot.tradeoff("antt", "stp")
plt.show()

# %%
result.plot.applications("ntt")
plt.show()

# %% [markdown]
# `hardware-priority` is the strongest baseline. If the short kernel's stream has a high priority, the hardware gives it
# every slot that becomes free, at block boundaries and without a scheduler. But the priority must be known when the
# stream is made. `srtf` predicts which kernel is short, and quotas can express more than a priority: numbers of blocks
# on particular SMs.

# %% [markdown]
# Under `fifo` the short kernel waits for all of the long one, as it does with plain streams. `srtf` gives it one SM,
# predicts from its first block that it is short, and runs it first: the long kernel's workers stop at the end of their
# blocks and resume later. No block is cut short and no work is lost; but until the blocks that run have ended even
# `srtf` can do nothing.
#
# ## 3. One of them in a picture
#
# One lane per SM; a full lane is a full SM. A GPU reports how many blocks ended since the last poll, not when each of
# them did, so starts are inferred (`docs/guide/on-a-gpu.md`).

# %%
seen = measured("_timelines", lambda: gs.compare(pair, ["fifo"], device=device))
seen.plot.timeline("fifo")
plt.show()

# %% [markdown]
# ## 4. A session
#
# A comparison measures and discards what kernels compute. A session does work: arrays live in device memory, launches
# come at any time from any thread, and results come back. On a simulated GPU launches take the time in their profiles,
# and compute nothing. This SAXPY has no profile: the `vector_add` of the suite moves as many bytes, and replaces it
# there.


# %%
where = device if on_gpu else "sim:h100"
brief, elements = (
    (saxpy, 1024) if on_gpu else (gs.Kernel(gs.suite.KERNELS["vector_add"].source_path, "vector_add"), 256)
)


def work_together():
    """Two applications in one session; what they compute on a GPU is checked against NumPy."""
    with gs.Session(where, policy="srtf") as session:
        alice, bob = session.application("alice"), session.application("bob")
        result, left_there, right_there = session.zeros((rows, columns)), session.array(left), session.array(right)
        y, x_there = session.array(np.ones(count, np.float32)), session.array(x)
        slow = alice.submit(
            product, grid=(columns // 16, rows // 16), block=(16, 16),
            args=[result, left_there, right_there, rows, inner, columns],
        )  # fmt: skip
        quick = [bob.submit(brief, grid=count // elements, block=256, args=[y, x_there, 2.0, count]) for _ in range(5)]
        quick[-1].result()
        print("bob is done; is alice?", slow.done())
        slow.result()
        if on_gpu:
            np.testing.assert_allclose(y.numpy(), 1 + 10 * x, rtol=1e-5)
            np.testing.assert_allclose(result.numpy(), left @ right, rtol=1e-4)
            print("both computed what NumPy does")
        return gs.Result([session.finish()])


print(f"A session on {where}.")
session_run = work_together().run()
print(session_run.applications().round(2))

# %% [markdown]
# A session ends in the same kind of run: metrics, timeline, decisions, `to_perfetto`.

# %% [markdown]
# ## Where to go next
#
# - `docs/guide/on-a-gpu.md`: sessions, comparisons, baselines, limits, and what happens when something goes wrong.
# - `gpushare compare suite_pair --device cuda:0 --html report.html`: much the same from a shell.
# - `docs/guide/write-a-policy.md`: your own policy. It runs on the GPU unchanged.
