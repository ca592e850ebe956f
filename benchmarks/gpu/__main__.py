# SPDX-License-Identifier: Apache-2.0
"""The entry point: ``python -m benchmarks.gpu NAME [--repeats N] [--json FILE]``."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from .report import Report

NAMES = (
    "overhead", "eviction", "short_behind_long", "partition", "mps", "pairs", "processes", "served",
    "client_copies", "srtf_silicon", "costs", "device_costs", "record"
)  # fmt: skip


def main(arguments: list[str]) -> None:
    """Runs one benchmark and prints its tables."""
    if not arguments or arguments[0] not in NAMES:
        sys.exit(f"usage: python -m benchmarks.gpu NAME [--repeats N] [--json FILE]; NAME is one of {', '.join(NAMES)}")
    name, *rest = arguments
    module = import_module(f".{name}", __package__)
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.gpu {name}", description=module.__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--repeats", type=int, default=module.REPEATS, help=f"default {module.REPEATS}")
    parser.add_argument("--json", metavar="FILE", help="also write the results to this file; tables go to FILE.md")
    module.add_options(parser)
    options = parser.parse_args(rest)
    report = Report(name, (module.__doc__ or "").strip(), options.device, arguments)
    try:
        module.measure(options, report)
    finally:  # measurements from before a failure are reported
        report.finish(options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
