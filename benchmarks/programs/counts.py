# SPDX-License-Identifier: Apache-2.0
"""Launches that gpushare's library has seen, against those that CUPTI recorded in the same process.

    python -m benchmarks.programs.counts --json counts.json

A graph's launch is one launch to the library, and to CUPTI a record per kernel with the same correlation id.
"""

from __future__ import annotations

import argparse
import json
import runpy
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.programs.running import server_for, write

PROGRAMS = {
    "training": ("training", "--steps", "40"),
    "calls": ("library_calls",),
    "jax": ("jax_step",),
    "serving": ("serving", "--seconds", "0.2", "--rate", "50"),
    "serving_graph": ("serving", "--seconds", "0.2", "--rate", "50", "--graph"),
}


def recorded(module: str, arguments: list[str], into: Path) -> None:
    """Runs a module of this folder in this process, and writes what CUPTI recorded."""
    from torch.profiler import ProfilerActivity, profile

    sys.argv = [module, *arguments]
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
        runpy.run_module(f"benchmarks.programs.{module}", run_name="__main__")
    with tempfile.NamedTemporaryFile(suffix=".json") as trace:
        profiler.export_chrome_trace(trace.name)
        events = json.loads(Path(trace.name).read_text())["traceEvents"]
    into.write_text(json.dumps(summary(events)))


def summary(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Kernels by name and by how they were launched, and graphs."""
    kernels = [each for each in events if each.get("cat") == "kernel"]
    calls = Counter(each["name"] for each in events if each.get("cat") in ("cuda_runtime", "cuda_driver"))
    graphs = {
        each["args"]["correlation"]
        for each in events
        if each.get("cat") in ("cuda_runtime", "cuda_driver") and "GraphLaunch" in each["name"]
    }
    together = Counter(each["args"]["correlation"] for each in kernels)
    graphs |= {each for each, count in together.items() if count > 1}
    direct = [each for each in kernels if each["args"]["correlation"] not in graphs]
    return {
        "kernels": len(direct),
        "kernels_in_graphs": len(kernels) - len(direct),
        "graphs": len(graphs),
        "calls": dict(calls),
        "by_name": dict(Counter(each["name"] for each in direct)),
    }


def counted(name: str, run: list[str], folder: Path) -> dict[str, Any]:
    """Both counts of a program."""
    report, cupti = folder / f"{name}.report.json", folder / f"{name}.cupti.json"
    inside = [sys.executable, "-m", "benchmarks.programs.counts", "--inside", str(cupti), "--", *PROGRAMS[name]]
    code = subprocess.run([*run, "--name", name, "--report-file", str(report), "--", *inside], check=False).returncode
    if not cupti.exists():
        return {"exit_code": code}
    seen, by_cupti = json.loads(report.read_text()), json.loads(cupti.read_text())
    kinds = {each["name"]: each["launches"] for each in seen["by_kind"]}
    own, other = Counter({each["name"]: each["launches"] for each in seen["by_kernel"]}), Counter(by_cupti["by_name"])
    return {
        "exit_code": code,
        "seen": {"kernels": seen["launches"] - kinds.get("graph", 0), "graphs": kinds.get("graph", 0)},
        "cupti": {each: by_cupti[each] for each in ("kernels", "graphs", "kernels_in_graphs")},
        "calls": {name: count for name, count in by_cupti["calls"].items() if "aunch" in name},
        "kinds": kinds,
        "coverage_ratio": seen["coverage_ratio"],
        "only_seen": dict((own - other).most_common(12)),
        "only_cupti": dict((other - own).most_common(12)),
    }


def main() -> None:
    """Counts the launches of all programs, which run at the same time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--inside", type=Path, help="Record the module that follows with CUPTI, into this file.")
    parser.add_argument("module", nargs="*")
    chosen = parser.parse_args()
    if chosen.inside is not None:
        recorded(chosen.module[0], chosen.module[1:], chosen.inside)
        return
    names, results = chosen.programs.split(","), {}
    with (
        tempfile.TemporaryDirectory(prefix="gpushare-benchmark-") as made,
        server_for("fair", Path(made)) as run,
        ThreadPoolExecutor(len(names)) as pool,
    ):
        for name, result in zip(names, pool.map(lambda each: counted(each, run, Path(made)), names), strict=True):
            results[name] = result
            write(chosen.json, results)
            print(name, result.get("seen"), result.get("cupti"), flush=True)


if __name__ == "__main__":
    main()
