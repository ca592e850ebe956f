# SPDX-License-Identifier: Apache-2.0
"""Whether a deterministic training ends with the same weights alone, scheduled beside others, and held at random.

    python -m benchmarks.programs.weights --json weights.json

All of them run at the same time, and so beside each other. Holds are counted that a launch has waited for.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.programs.running import TRAINING, answering, page_without_server, server_for, write

from gpushare import _core

LEASE_AT = 64
FREE, LIMITED, HELD = 0, 1 | 200 << 2, 2
"""Values of ProgramPage::lease: the limit is 200 us of work under way."""
SYS_FUTEX, FUTEX_WAKE = 202, 1
HOLD_S, GO_S = (0.0001, 0.0008), (0.0001, 0.0008)


class Lease:
    """The word in a page that lets its program launch."""

    def __init__(self, page: _core.ProgramPage) -> None:
        self._memory = mmap.mmap(page.descriptor, mmap.PAGESIZE)
        self._word = ctypes.c_uint32.from_buffer(self._memory, LEASE_AT)
        self._call = ctypes.CDLL(None).syscall

    def set(self, value: int) -> None:
        """Writes the word and wakes all threads that wait for it."""
        self._word.value = value
        self._call(SYS_FUTEX, ctypes.byref(self._word), FUTEX_WAKE, 2**31 - 1, None, None, 0)


def held_at_random(command: list[str]) -> dict[str, Any]:
    """Runs a program that is held and released until it ends."""
    draw, done, effective = random.Random(7), 0, 0
    with page_without_server() as (page, variables):
        lease, held_ns = Lease(page), 0
        program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables)
        while program.poll() is None:
            lease.set(HELD)
            time.sleep(draw.uniform(*HOLD_S))
            lease.set(draw.choice((FREE, LIMITED)))
            time.sleep(draw.uniform(*GO_S))
            now_ns = page.totals().held_ns
            done += 1
            effective += now_ns > held_ns
            held_ns = now_ns
        totals = page.totals()
    return {
        **result_of(program),
        "holds": done,
        "effective_holds": effective,
        "held_s": totals.held_ns / 1e9,
        "limited_s": totals.limited_ns / 1e9,
        "let_go": totals.let_go,
    }


def result_of(program: subprocess.Popen[str]) -> dict[str, Any]:
    """The line that it prints at its end."""
    output = program.communicate()[0]
    if program.returncode:
        return {"exit_code": program.returncode}
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def measure(chosen: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The results of all three."""
    command = [sys.executable, "-m", "benchmarks.programs.training", "--deterministic"]
    command += ["--size", chosen.size, "--steps", str(chosen.steps)]
    with ExitStack() as ends:
        run = ends.enter_context(server_for(chosen.policy, folder))
        report = folder / "report.json"
        other = answering(ends, [*run, "--name", "other", "--", *TRAINING, "--size", chosen.size])
        ends.callback(os.kill, other.read()["pid"], 9)
        other.send("seconds 600")
        scheduled = [*run, "--name", "measured", "--report-file", str(report), "--"]
        alone = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        under_run = subprocess.Popen([*scheduled, *command], stdout=subprocess.PIPE, text=True)
        found = {"steps": chosen.steps, "policy": chosen.policy, "held": held_at_random(command)}
        found |= {"alone": result_of(alone), "run": result_of(under_run)}
        found["run"]["held_s"] = json.loads(report.read_text())["held_s"]
    return found


def main() -> None:
    """Measures, and compares the hashes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="small")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--policy", default="round-robin", help="Of the server: its quanta hold the scheduled one.")
    parser.add_argument("--json", type=Path, required=True)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpushare-benchmark-") as made:
        found = measure(chosen, Path(made))
    found["are_equal"] = len({found[way].get("weights") for way in ("alone", "run", "held")}) == 1
    write(chosen.json, found)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
