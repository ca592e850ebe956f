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
# # Share a GPU between PyTorch programs
#
# Training keeps the GPU busy, and a server has requests now and then. `gpushare run` schedules both without a change to
# either. With a GPU and PyTorch, this notebook starts two programs and measures them. Elsewhere it shows the commands,
# and simulates what they would do.

# %%
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

import gpushare as gs

folder = Path(tempfile.mkdtemp(prefix="gpushare"))


def has_gpu():
    """Whether PyTorch is installed and there is a GPU, which its driver can open."""
    try:
        gs.device("cuda:0")
    except gs.CudaError as error:
        print(f"no GPU: {str(error).splitlines()[0]}")
        return False
    return importlib.util.find_spec("torch") is not None


IS_REAL = has_gpu() and os.environ.get("GPUSHARE_DEVICE", "cuda:0").startswith("cuda")
print("The programs run on the GPU." if IS_REAL else "The programs are shown, and simulated below.")

# %% [markdown]
# ## The programs
#
# Ordinary PyTorch: nothing in them knows of gpushare.

# %%
TRAIN = """
import time

import torch

layers = [torch.nn.Linear(4096, 4096) for _ in range(8)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
data = torch.randn(2048, 4096, device="cuda")
end = time.monotonic() + 10
steps = 0
while time.monotonic() < end:
    optimizer.zero_grad()
    model(data).square().mean().backward()
    optimizer.step()
    torch.cuda.synchronize()
    steps += 1
print(steps / 10)
"""
SERVE = """
import time

import torch

model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda()
request = torch.randn(16, 1024, device="cuda")
times = []
end = time.monotonic() + 10
while time.monotonic() < end:
    time.sleep(0.02)
    begin = time.monotonic()
    model(request)
    torch.cuda.synchronize()
    times.append(time.monotonic() - begin)
times = sorted(times[10:])
print(1e3 * times[len(times) // 2], 1e3 * times[int(0.95 * len(times))])
"""
for name, text in (("train.py", TRAIN), ("serve.py", SERVE)):
    (folder / name).write_text(text)

# %% [markdown]
# ## How they are started
#
# In one terminal each. The first `gpushare run` starts a server with this policy, and the second one joins it.
#
# ```sh
# gpushare run --policy effisha-static:queue_gets_leftover=yes --priority 10 -- python serve.py
# gpushare run -- python train.py
# ```
#
# While the server has a request, the training is held between two of its launches.


# %%
def both(*prefixes):
    """Runs both programs at once, each behind its part of a command line; what they print."""
    programs = [
        subprocess.Popen([*prefix, sys.executable, folder / name], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        for prefix, name in zip(prefixes, ("serve.py", "train.py"), strict=True)
    ]
    printed = [program.communicate()[0].split() for program in programs]
    (median_ms, tail_ms), (steps,) = printed
    return {"response, median (ms)": median_ms, "95th percentile (ms)": tail_ms, "training steps per s": steps}


if IS_REAL:
    ENVIRONMENT = os.environ | {"GPUSHARE_SOCKET": str(folder / "socket")}
    POLICY = ["--policy", "effisha-static:queue_gets_leftover=yes"]
    RUN = [sys.executable, "-m", "gpushare", "run"]
    alone = both([], [])
    server = subprocess.Popen(
        [sys.executable, "-m", "gpushare", "serve", "--device", "programs", *POLICY, "--highest-priority", "10"],
        env=ENVIRONMENT,
    )
    while not (folder / "socket").exists():
        time.sleep(0.05)
    shared = both([*RUN, "--priority", "10", "--"], [*RUN, "--"])
    server.terminate()
    server.wait()
    print(pd.DataFrame({"CUDA alone": alone, "gpushare run": shared}))
else:
    print("gpushare run --priority 10 -- python serve.py")
    print("gpushare run -- python train.py")

# %% [markdown]
# ## What happens, in simulation
#
# The training launches matrix products, one after the other. A request is a few short launches. Both are models here,
# and the device is a simulated H100: `fifo` is CUDA alone, where the launches of a request wait for blocks of the
# training, and `effisha-static` serves by priority.

# %%
product = gs.KernelModel("product", threads=256, registers_per_thread=128, latency_ns=400_000, issue_ns=200_000)
layer = gs.KernelModel("layer", threads=128, latency_ns=12_000, issue_ns=3_000)
requests = gs.Arrivals.poisson(rate_per_s=300, requests=15, seed=2)
workload = gs.Workload(
    "serving beside training",
    [
        gs.Application("serving", requests.of(4 * [gs.Launch(layer, 264)]), priority=10),
        gs.Application("training", 25 * [gs.Launch(product, 1320)]),
    ],
    device="sim:h100",
)
result = gs.compare(workload, ["fifo", "effisha-static", "effisha-static:queue_gets_leftover=yes"])


def figures(run):
    """The same figures as of the programs."""
    launches = run.launches()
    serving = launches.query("application == 'serving'")
    begin, end = serving["issued_ns"].iloc[::4].to_numpy(), serving["end_ns"].iloc[3::4].to_numpy()
    times_ms = pd.Series((end - begin) / 1e6)
    training = launches.query("application == 'training'")["end_ns"].max() / 1e9
    return {
        "response, median (ms)": times_ms.median(),
        "95th percentile (ms)": times_ms.quantile(0.95),
        "training launches per s": 25 / training,
    }


pd.DataFrame({run.policy: figures(run) for run in result.runs}).round(2)

# %% [markdown]
# `effisha-static` takes the GPU from the training while a request runs; with `queue_gets_leftover=yes` the training
# keeps what a request leaves.
#
# A simulation of models says how policies differ, not how fast a program will be. To simulate a program of one's own,
# record it on a machine with a GPU: `gpushare record --help`, `docs/guide/record.md`. What `gpushare run` does to a
# program, its costs and limits: `docs/guide/run.md`.
