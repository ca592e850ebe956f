# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""The command line: one module per command; tables go to stdout, all other output to stderr."""

from __future__ import annotations

import click

import gpushare
from gpushare.cli.compare import compare
from gpushare.cli.compile import compile_command
from gpushare.cli.demo import demo
from gpushare.cli.devices import devices
from gpushare.cli.doctor import doctor
from gpushare.cli.exit_codes import CommandsWithExitCodes
from gpushare.cli.policies import policies
from gpushare.cli.profile import profile
from gpushare.cli.record import record
from gpushare.cli.reproduce import reproduce
from gpushare.cli.run import run
from gpushare.cli.schedule import schedule
from gpushare.cli.serve import serve
from gpushare.cli.server import policy, priority, status, top, trace
from gpushare.cli.suite import suite
from gpushare.cli.validate import validate
from gpushare.cli.workloads import workloads


@click.group(cls=CommandsWithExitCodes, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gpushare.__version__, prog_name="gpushare")
def main() -> None:
    """Schedule CUDA kernels from several applications on one GPU under a policy, and compare policies.

    \b
    Start here:
      gpushare demo                               compare all policies on a bundled workload
      gpushare compare pair.toml --html report.html
      gpushare schedule pair.toml --policy srtf   one run, application by application
      gpushare run -- python train.py             an unmodified program that shares the GPU

    Every command but serve and run takes --json: one JSON document on stdout, messages on stderr.

    Exit code: 0 success; 1 a policy failed; 2 the input cannot be used; 3 a bug in gpushare; 4 doctor found
    something broken; 130 interrupted. Of run: that of the program.
    GPUSHARE_DEBUG=1 shows tracebacks.
    """


COMMANDS = (
    demo, compare, schedule, run, record, reproduce, compile_command, profile, validate, suite, policies, devices,
    workloads, doctor, serve, status, top, policy, priority, trace,
)  # fmt: skip
for command in COMMANDS:
    main.add_command(command)
