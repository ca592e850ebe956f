# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare completion``: prints the script that completes gpushare's arguments in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

import gpushare
from gpushare.cli.arguments import json_option
from gpushare.cli.completion.bash import VARIABLE, register
from gpushare.cli.output import print_document, print_json

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "gpushare"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@json_option()
@click.pass_context
def completion(context: click.Context, /, shell: str, as_json: bool) -> None:
    """Print the script that completes commands, policies, devices, workloads, kernels and files in SHELL.

    \b
    Examples:
      gpushare completion bash > ~/.local/share/bash-completion/completions/gpushare
      gpushare completion zsh > "${fpath[1]}/_gpushare"
      gpushare completion fish > ~/.config/fish/completions/gpushare.fish
    """
    register()
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(context.find_root().command, {}, PROGRAM, VARIABLE).source()
    if as_json:
        print_json({"gpushare": gpushare.__version__, "shell": shell, "script": script})
    else:
        print_document(script)
