# SPDX-License-Identifier: Apache-2.0
"""Recording of unmodified programs (gpushare record): its overhead, and the error of a replay alone."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gpushare as gs
from gpushare.recorded.capture import capture
from gpushare.recorded.conversion import converted
from gpushare.recorded.recorded_device import recorded_device
from gpushare.recorded.recording import Recording, read_recording

from .recorded_programs.training import NOT_THERE
from .report import Report

REPEATS = 10
PROGRAMS = Path(__file__).parent / "recorded_programs"
REPOSITORY = Path(__file__).parents[2]
NVCC_PLACES = ("/usr/local/cuda/bin/nvcc",)
TIMEOUT_S = 60.0

NOTE = (
    "Plain and recorded: the median round by the program's own clock, without and with gpushare record, but the first. "
    "Trace: from the first operation that is replayed to the end of the last one. Replay: the workload made of that "
    "trace, alone on the recorded GPU without a scheduler's costs, as one application per process and per stream."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this benchmark's options; --repeats is the number of rounds."""
    parser.add_argument("--pipeline", help="compiled pipeline.cu; by default it is compiled with nvcc")
    parser.add_argument("--keep", metavar="FOLDER", help="keep workloads and recordings there")
    parser.add_argument("--policies", default="", help="also compare the programs together on sim:h100: fifo,srtf,mix")


def measure(options: argparse.Namespace, report: Report) -> None:
    """Measures every program that can run here."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        rows, workloads = [], []
        for name, command in programs(options, folder).items():
            row, workload = of_program(name, [*command, str(options.repeats)], folder)
            rows.append(row)
            workloads += [workload] if workload is not None else []
        report.add("Recording and replay alone", rows, NOTE)
        if options.policies and workloads:
            report.add("Together on sim:h100", together(workloads, options.policies.split(",")))


def programs(options: argparse.Namespace, folder: Path) -> dict[str, list[str]]:
    """Name and command of each program."""
    found = {}
    pipeline = options.pipeline or compiled(PROGRAMS / "pipeline.cu", folder / "pipeline")
    if pipeline is not None:
        found["pipeline (CUDA C++)"] = [str(Path(pipeline).resolve())]
    for name in ("training", "suite_loop", "session"):
        found[name] = [sys.executable, "-m", f"benchmarks.gpu.recorded_programs.{name}"]
    return found


def compiled(source: Path, program: Path) -> str | None:
    """The compiled program, if there is an nvcc."""
    nvcc = shutil.which("nvcc") or next((place for place in NVCC_PLACES if Path(place).is_file()), None)
    if nvcc is None:
        print("no nvcc: pipeline.cu is left out (--pipeline takes it compiled)", file=sys.stderr)
        return None
    subprocess.run([nvcc, "-O2", "-arch=native", "-o", str(program), str(source)], check=True)
    return str(program)


def of_program(name: str, command: Sequence[str], folder: Path) -> tuple[dict[str, Any], gs.Workload | None]:
    """Runs it plain and recorded, and replays it."""
    plain = rounds_of(command)
    if plain is None:
        return {"program": name, "remark": "not here"}, None
    stem = name.split()[0]
    recorded = recorded_rounds(command, folder / f"{stem}.trace", folder / f"{stem}.out")
    recording = read_recording(folder / f"{stem}.trace")
    works = sum(len(part.work) for part in recording.parts)
    stored = sum(part.path.stat().st_size for part in recording.parts)
    row: dict[str, Any] = {
        "program": name,
        "plain ms": 1e3 * statistics.median(plain[1:]),
        "recorded ms": 1e3 * statistics.median(recorded[1:]),
        "overhead": f"{statistics.median(recorded[1:]) / statistics.median(plain[1:]) - 1:+.1%}",
        "operations": works,
        "bytes per operation": stored / works,
    }
    workloads = {by: add_replay(row, recording, stem, by) for by in ("process", "stream")}
    return row, workloads["process"]


def rounds_of(command: Sequence[str]) -> list[float] | None:
    """The seconds that it prints; None if it reports that it cannot run here."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=False, cwd=REPOSITORY)
    if done.returncode == NOT_THERE:
        return None
    done.check_returncode()
    return seconds_in(done.stdout)


def recorded_rounds(command: Sequence[str], trace: Path, output: Path) -> list[float]:
    """The same, while it is recorded."""
    os.chdir(REPOSITORY)
    shell = 'output=$1; shift; exec "$@" > "$output"'
    code = capture(["sh", "-c", shell, "sh", str(output.resolve()), *command], trace.resolve())
    if code != 0:
        sys.exit(f"{command}: ended with {code} while it was recorded")
    return seconds_in(output.read_text())


def seconds_in(text: str) -> list[float]:
    """The last line that is a list."""
    return json.loads([line for line in text.splitlines() if line.startswith("[")][-1])


def add_replay(row: dict[str, Any], recording: Recording, stem: str, by: str) -> gs.Workload:
    """Adds the time of the replay and its error."""
    made = converted(recording, stem, by_stream=by == "stream")
    # Operations before the first kernel or copy, such as a memset at the program's start, are not replayed.
    measured_ns = max(each.arrival_ns + made.recorded_ns[each.name] for each in made.workload.applications)
    run = gs.run(made.workload, "fifo", device=recorded_device(recording.device_record()), record=False)
    row["trace ms"] = measured_ns / 1e6
    row[f"replay by {by} ms"] = run.metrics()["makespan_ns"] / 1e6
    row[f"off by {by}"] = f"{run.metrics()['makespan_ns'] / measured_ns - 1:+.1%}"
    return made.workload


def together(workloads: Sequence[gs.Workload], policies: Sequence[str]) -> list[dict[str, Any]]:
    """Simulated sharing of the programs: one row per policy."""
    result = gs.compare(gs.together(workloads), list(policies), device="sim:h100")
    return [{"policy": policy, **metrics} for policy, metrics in result.metrics().to_dict(orient="index").items()]
