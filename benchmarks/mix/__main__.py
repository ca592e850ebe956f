# SPDX-License-Identifier: Apache-2.0
"""The entry point: ``python -m benchmarks.mix [PART ...] [--device sim:h100|cuda:0] [--json FILE]``."""

from __future__ import annotations

import argparse
import os
import sys

from benchmarks.gpu.report import Report

from . import latency, min_speeds, sets, sweep, urgent
from .place import place_of

PARTS = {"sweep": sweep, "sets": sets, "min_speeds": min_speeds, "latency": latency, "urgent": urgent}


def main(arguments: list[str]) -> None:
    """Runs the parts and prints their tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mix", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help=f"parts, of {', '.join(PARTS)}; default: all")
    parser.add_argument("--device", default="sim:h100", help="sim:h100, another simulated device, or cuda:0")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--length-ms", type=float, default=5.0, help="each application's time alone")
    parser.add_argument("--size", default="large", choices=["small", "large"])
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="simulated runs at once")
    parser.add_argument("--json", metavar="FILE", help="also write the results to this file; tables go to FILE.md")
    for part in PARTS.values():
        part.add_options(parser)
    options = parser.parse_args(arguments)
    place = place_of(options.device, options.threads)
    report = Report("mix", "How good mix and auto are.", options.device, arguments, "benchmarks.mix")
    try:
        for name in options.parts or PARTS:
            PARTS[name].measure(place, options, report)
    finally:  # measurements from before a failure are reported
        report.finish(options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
