# SPDX-License-Identifier: Apache-2.0
"""Computes again what the generated pages show without a GPU, and stores it: some minutes.

    python docs/generate/recompute.py              # everything
    python docs/generate/recompute.py srtf slate   # some of it

Then `python docs/generate` writes the pages. Each file of docs/results/data/computed has the run's origin and its
tables, a table being a title, rows by column, and a note.
"""

import json
import lzma
import statistics
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / "docs" / "results" / "data" / "computed"
RECORDING = "tests/data/gpu_validation/h100.json.xz"
HELD_OUT = "tests/data/gpu_held_out"
SIMULATED_WAYS = {
    "hardware-streams": "fifo",
    "even:whole_up_to_ns=2e6": "even:whole_up_to_ns=2e6",
    "mix": "mix",
    "auto": "auto",
}
"""The simulated way that stands for each on a GPU."""
DEVICES = {
    "srtf": "simulated GTX 480",
    "slate": "simulated Titan Xp",
    "cd-search": "simulated GPU of the paper (24 SMs) and simulated H100",
    "effisha": "simulated Tesla K40m",
    "cumas": "simulated Tesla K40c",
}


def main(names: list[str]) -> None:
    """Runs and stores what is named, or everything."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or KNOWN:
        content = KNOWN[name]()
        (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        print(f"{name}.json written")


def paper(name: str) -> dict[str, Any]:
    """The evaluation of a paper, beside what the paper prints."""
    found, command = printed("reproduce", name)
    tables = [{"title": each["title"], "rows": each["rows"], "note": each["note"]} for each in found["sections"]]
    return {"paper": found["paper"], "run": run(DEVICES[name], command), "tables": tables}


def validation() -> dict[str, Any]:
    """The errors of the simulated H100 against what was recorded on one."""
    found, command = printed("validate", "--from", RECORDING)
    rows = []
    for figure, numbers in found["figures"].items():
        ways = [each for each in found["by_way"] if each["figure"] == figure and each["way"]]
        if len(ways) == 1:
            rows += ways
        else:
            rows += [{"figure": figure, "way": f"all {len(ways)}" if ways else ""} | numbers, *ways]
    where = run(f"simulated H100 against the recording of {found['date'][:10]}", command)
    return {"run": where, "tables": [{"title": "errors", "rows": rows, "note": ""}]}


def held_out_errors() -> dict[str, Any]:
    """The errors of the simulated H200 in pairs of kernels on which nothing was tuned."""
    measured, simulated = (runs_of_pairs(f"{HELD_OUT}/{name}.json.xz") for name in ("loops_150ms", "simulated_20ms"))
    rows = []
    for way, stands_for_it in SIMULATED_WAYS.items():
        row: dict[str, Any] = {"way": way, "simulated": stands_for_it}
        for figure in ("stp", "antt"):
            ratios = [
                simulated[pair, stands_for_it][figure] / runs[figure]
                for (pair, of_way), runs in measured.items()
                if of_way == way
            ]
            errors = sorted(abs(ratio - 1) for ratio in ratios)
            row["pairs"] = len(errors)
            row |= {f"{figure} median": statistics.median(errors), f"{figure} p90": errors[len(errors) * 9 // 10]}
            row[f"{figure} bias"] = statistics.geometric_mean(ratios) - 1
        rows.append(row)
    where = run("simulated H200 against an H200", "python docs/generate/recompute.py held-out-errors")
    return {"run": where, "tables": [{"title": "errors", "rows": rows, "note": ""}]}


def runs_of_pairs(path: str) -> dict[tuple[str, str], dict[str, float]]:
    """The medians over repeats of what ``benchmarks.mix sets`` has stored, by pair and way."""
    with lzma.open(CHECKOUT / path, "rt") as file:
        tables = json.load(file)["tables"]
    (rows,) = (table["rows"] for table in tables if table["title"] == "pairs: every run")
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for row in rows:
        found.setdefault((row["kernels"], row["way"]), []).append(row)
    return {
        key: {figure: statistics.median(each[figure] for each in runs) for figure in ("stp", "antt")}
        for key, runs in found.items()
    }


def suite_resources() -> dict[str, Any]:
    """What the suite's kernels need of an SM, as they are written and as workers."""
    found, command = printed("suite", "resources")
    rows = []
    for kernel in found["kernels"]:
        usages = [kernel[way]["usage"] for way in ("original", "worker")]
        values = {
            "registers": [usage["registers"] for usage in usages],
            "spilled bytes": [usage["spill_stores"] + usage["spill_loads"] for usage in usages],
            "static shared bytes": [usage["shared_bytes"] for usage in usages],
            "blocks per SM": [kernel[way]["blocks_per_sm"] for way in ("original", "worker")],
        }
        rows.append({"kernel": kernel["name"]} | {name: "{} -> {}".format(*pair) for name, pair in values.items()})
    where = run("sm_90, blocks per SM of an H100", command) | {"software": found["made_by"]}
    return {"run": where, "tables": [{"title": "resources", "rows": rows, "note": ""}]}


def predictors() -> dict[str, Any]:
    """How good predictions of the launches in tests/data/gpu_progress are."""
    sys.path.insert(0, str(CHECKOUT / "tests" / "py"))
    from recorded_progress import recorded_accuracies
    from recorded_rows import recorded_rows

    from gpushare.results.predictor_accuracy import kernel_rows, row_shares

    shares = row_shares([row.accuracies() for row in recorded_rows()])
    rows = [{"launch": number} | each for number, each in enumerate(shares, 1)]
    tables = {"kernels": kernel_rows(recorded_accuracies()), "rows": rows}
    where = run("recordings of an H100", "python docs/generate/recompute.py predictors")
    return {"run": where, "tables": [{"title": title, "rows": table, "note": ""} for title, table in tables.items()]}


def printed(*command: str) -> tuple[Any, str]:
    """What a command of gpushare prints as JSON, and the command."""
    whole = [sys.executable, "-m", "gpushare", *command, "--json"]
    output = subprocess.run(whole, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE).stdout
    return json.loads(output), " ".join(["gpushare", *command])


def run(device: str, command: str) -> dict[str, str]:
    """Where the figures are from."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=CHECKOUT, capture_output=True, text=True)
    date = datetime.now(UTC).date().isoformat()
    return {"device": device, "date": date, "commit": commit.stdout.strip(), "command": command}


KNOWN: dict[str, Callable[[], dict[str, Any]]] = {
    **{name: partial(paper, name) for name in DEVICES},
    "validation": validation,
    "held-out-errors": held_out_errors,
    "suite-resources": suite_resources,
    "predictors": predictors,
}

if __name__ == "__main__":
    main(sys.argv[1:])
