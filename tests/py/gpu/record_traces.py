# SPDX-License-Identifier: Apache-2.0
"""Records small traces on a GPU for tests/py/test_replay_gpu_traces.py, which replays them where there is none.

Run it by hand, after policies or the format of traces have changed on purpose: python tests/py/gpu/record_traces.py
"""

import json
import lzma
import pathlib
import sys

import numpy as np

import gpushare as gs
from gpushare import _core
from gpushare.model.device_file import device_from_dict, device_to_dict

FOLDER = pathlib.Path(__file__).parents[2] / "data" / "gpu_traces"
POLICIES = ["fifo", "even", "srtf", "srtf-adaptive", "srtf-zero-sampling"]
MOST_BYTES = 50_000

SPIN = """
extern "C" __global__ void spin(unsigned int* counter, int cycles) {
  extern __shared__ int unused[];  // limits how many blocks an SM holds
  long long start = clock64();
  while (clock64() - start < cycles + (blockIdx.x % 7) * cycles / 8) {}
  if (threadIdx.x == 0) atomicAdd(counter, 1u);
}
"""


# A trace is kept beside what it needs to be replayed: <name>.json and <name>.trace.xz.


def operation_to_data(operation):
    if isinstance(operation, _core.Copy):
        return {"copy": operation.direction.name, "bytes": operation.bytes}
    kernel = operation.kernel
    fields = ("name", "threads", "registers_per_thread", "shared_memory_bytes", "latency_ns")
    needs = {name: getattr(kernel, name) for name in fields}
    return {"launch": needs, "blocks": operation.blocks, "alone_ns": operation.alone_ns}


def operation_from_data(data):
    if "copy" in data:
        return _core.Copy(getattr(_core.Copy.Direction, data["copy"]), data["bytes"])
    return _core.Launch(_core.KernelModel(**data["launch"]), data["blocks"], alone_ns=data["alone_ns"])


def workload_to_data(workload):
    """A workload as the core has it."""
    return {
        "name": workload.name,
        "applications": [
            {
                "name": each.name,
                "arrival_ns": each.arrival_ns,
                "priority": each.priority,
                "weight": each.weight,
                "operations": [operation_to_data(operation) for operation in each.operations],
            }
            for each in workload.applications
        ],
    }


def workload_from_data(data):
    applications = [
        _core.Application(operations=[operation_from_data(each) for each in operations], **rest)
        for operations, rest in (
            (each["operations"], {name: value for name, value in each.items() if name != "operations"})
            for each in data["applications"]
        )
    ]
    return _core.CoreWorkload(data["name"], applications)


def save(folder, name, policy, trace, device, workload):
    """Returns how many bytes it takes."""
    content = {"policy": policy, "device": device_to_dict(device), "workload": workload_to_data(workload)}
    description, events = folder / f"{name}.json", folder / f"{name}.trace.xz"
    description.write_text(json.dumps(content, indent=1) + "\n")
    events.write_bytes(lzma.compress(trace.to_bytes(), preset=9))
    return description.stat().st_size + events.stat().st_size


def load(description):
    """Policy, trace, device and workload of a recorded run."""
    content = json.loads(description.read_text())
    trace = _core.Trace.from_bytes(lzma.decompress(description.with_suffix(".trace.xz").read_bytes()))
    return content["policy"], trace, device_from_dict(content["device"]), workload_from_data(content["workload"])


def workloads():
    """A few hundred events each: grids of a few hundred blocks, two of which fit an SM."""
    kernel, counter = gs.Kernel(SPIN, "spin"), gs.Zeros(1, np.uint32)

    def launch(blocks, cycles):
        return gs.Launch(kernel, grid=blocks, block=64, args=[counter, cycles], shared_bytes=100_000)

    long = gs.Application("long", [launch(600, 150_000)])
    short = gs.Application("short", [launch(100, 40_000)] * 2, arrival_ns=60_000)
    copies = [gs.Copy("to_device", 1 << 16), launch(40, 60_000), gs.Copy("to_host", 4096)]
    third = gs.Application("third", copies, arrival_ns=30_000)
    return {"pair": gs.Workload("pair", [long, short]), "three": gs.Workload("three", [long, short, third])}


def main():
    from gpushare.backends.cuda.device import cuda_device
    from gpushare.backends.cuda.run import CudaRunner

    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    runner = CudaRunner(cuda_device("cuda:0"))
    for name, workload in workloads().items():
        prepared = runner.prepare(workload)
        runner.warm_up(prepared)
        for policy in POLICIES:
            run = runner.run(prepared, policy, 0, record=True)
            if _core.replay(run.trace, run.device, prepared.core, policy) != run.trace:
                raise SystemExit(f"{name} under {policy}: replay decides otherwise already here")
            size = save(folder, f"{name}-{policy}", policy, run.trace, run.device, prepared.core)
            print(f"{name}-{policy}: {run.trace.event_count} events, {run.trace.decision_count} plans, {size} bytes")
            if size > MOST_BYTES:
                raise SystemExit(f"{name} under {policy}: {size} bytes; at most {MOST_BYTES} are wanted in the tree")


if __name__ == "__main__":
    main()
