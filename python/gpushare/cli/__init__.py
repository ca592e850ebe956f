# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""The command line: one module per command; tables go to stdout, all other output to stderr."""

from __future__ import annotations

import signal
import threading

import click

from gpushare.cli.commands_on_demand import CommandsOnDemand
from gpushare.version import __version__

COMMANDS = {
    "demo": "gpushare.cli.demo:demo",
    "compare": "gpushare.cli.compare:compare",
    "schedule": "gpushare.cli.schedule:schedule",
    "report": "gpushare.cli.stored:report",
    "diff": "gpushare.cli.stored:diff",
    "run": "gpushare.cli.run:run",
    "record": "gpushare.cli.record:record",
    "reproduce": "gpushare.cli.reproduce:reproduce",
    "compile": "gpushare.cli.compile:compile_command",
    "profile": "gpushare.cli.profile:profile",
    "validate": "gpushare.cli.validate:validate",
    "suite": "gpushare.cli.suite:suite",
    "policies": "gpushare.cli.policies:policies",
    "devices": "gpushare.cli.devices:devices",
    "workloads": "gpushare.cli.workloads:workloads",
    "doctor": "gpushare.cli.doctor:doctor",
    "completion": "gpushare.cli.completion.command:completion",
    "serve": "gpushare.cli.serve:serve",
    "status": "gpushare.cli.server:status",
    "top": "gpushare.cli.server:top",
    "set-policy": "gpushare.cli.server:set_policy",
    "set-priority": "gpushare.cli.server:set_priority",
    "trace": "gpushare.cli.server:trace",
}
"""By name the module and the function of each command."""
STARTERS = ("run", "record")
"""Commands that start programs, which inherit whether SIGINT is ignored."""


@click.group(cls=CommandsOnDemand, places=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gpushare")
@click.pass_context
def main(context: click.Context) -> None:
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
    if context.invoked_subcommand not in STARTERS:
        hear_interrupts()


def hear_interrupts() -> None:
    """Ends this process at SIGINT also where a shell has started it in the background, and so has SIGINT ignored."""
    is_ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    if is_ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
