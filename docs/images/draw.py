# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of README.md and docs/results/preemption.md: ``python docs/images/draw.py``.

The one of a real GPU comes from a trace that tests/py/gpu/record_traces.py has recorded.
"""

import json
import lzma
from pathlib import Path

import matplotlib.pyplot as plt

import gpushare as gs
from gpushare import _core
from gpushare.model.device_file import device_from_dict

FOLDER = Path(__file__).parent
STAGGER_NS = 36  # 50 cycles of the GTX 480


def fifo_and_srtf() -> None:
    """The same pair under two policies, side by side."""
    pairs = gs.bundled_workload("ercbench").pairs(stagger_ns=STAGGER_NS)
    pair = next(pair for pair in pairs if pair.name == "RayTracing+JPEG-d")
    result = gs.compare(pair, ["fifo", "srtf"])
    figure, axes = plt.subplots(1, 2, figsize=(13, 5))
    for policy, ax in zip(result.policies, axes, strict=True):
        result.plot.timeline(policy, ax=ax)
    figure.tight_layout()
    figure.savefig(FOLDER / "fifo-and-srtf.png", dpi=90, metadata={"Software": None})


def recorded_run(name: str) -> gs.Run:
    """A recorded trace as a run, as far as a timeline needs one."""
    file = FOLDER / f"{name}.json"
    content = json.loads(file.read_text())
    trace = _core.Trace.from_bytes(lzma.decompress(file.with_suffix(".trace.xz").read_bytes()))
    workload = gs.Workload("three applications", [application(each) for each in content["workload"]["applications"]])
    ends = dict(zip(*(trace.launch_ends()[column].tolist() for column in ("application", "time_ns")), strict=True))
    copies = trace.copies()
    for owner, end in zip(copies["application"].tolist(), copies["end_ns"].tolist(), strict=True):
        ends[owner] = max(ends[owner], end)
    device = device_from_dict(content["device"])
    record = _core.RunRecord(
        arrivals=[round(each.arrival_ns) for each in workload.applications],
        ends=[ends[owner] for owner in range(len(workload.applications))],
        operation_durations=[0] * sum(len(each.operations) for each in workload.applications),
        sm_busy=[0] * device.sms,
        to_device_busy=0,
        to_host_busy=0,
        makespan=max(ends.values()),
        blocks=int(trace.blocks()["blocks"].sum()),
        trace=trace,
    )
    alone = {each.name: 1 for each in workload.applications}
    return gs.Run(workload, content["policy"], device, 0, alone, record)


def application(content: dict) -> gs.Application:
    """Its launches and copies; a timeline asks what a block needs of an SM, not what it costs."""
    operations = []
    for each in content["operations"]:
        if "copy" in each:
            operations.append(gs.Copy(each["copy"].lower(), each["bytes"]))
            continue
        needs = ("threads", "registers_per_thread", "shared_memory_bytes", "latency_ns")
        kernel = gs.KernelModel("spin", issue_ns=0, **{name: each["launch"][name] for name in needs})
        operations.append(gs.Launch(kernel, each["blocks"]))
    return gs.Application(content["name"], operations, content["arrival_ns"])


def timeline_of_an_h100() -> None:
    """Three applications on a third of the SMs each."""
    figure, ax = plt.subplots(figsize=(11, 5.5))
    recorded_run("h100_timeline").plot.timeline(ax=ax)
    ax.set_title("three applications under even on an NVIDIA H100 80GB", loc="left")
    figure.tight_layout()
    figure.savefig(FOLDER / "h100_timeline.png", dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    fifo_and_srtf()
    timeline_of_an_h100()
