# SPDX-License-Identifier: Apache-2.0
"""A group of commands whose modules are imported when a command is used.

A command may import what it needs at the top of its module, and ``gpushare --help`` is as fast as before: the summaries
are read from the docstrings of the sources.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from gpushare.checks import did_you_mean
from gpushare.cli.exit_codes import CommandsWithExitCodes

SUMMARY_WIDTH = 60
"""Characters of a summary beside a proposal of the shell."""


class SimilarCommands(click.Group):
    """A group whose message about an unknown command has the one that is most like it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, but for the message."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            ctx.fail(f"no command {args[0]!r}{did_you_mean(args[0], known)}")
        return super().resolve_command(ctx, args)


class CommandsOnDemand(SimilarCommands, CommandsWithExitCodes):
    """A group of commands.

    Args:
        places: by the name of a command its ``module:function``.
    """

    def __init__(self, *args: Any, places: Mapping[str, str], **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.places = dict(places)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, sorted."""
        return sorted(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, whose module is imported now."""
        if cmd_name not in self.places:
            return None
        module, _, function = self.places[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), function)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """The commands with their summaries, or options; nothing is imported."""
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=self._summary(name, SUMMARY_WIDTH)) for name in names]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands; nothing is imported."""
        names = self.list_commands(ctx)
        limit = formatter.width - 6 - max(map(len, names))
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._summary(name, limit)) for name in names])

    def _summary(self, name: str, limit: int) -> str:
        """The first sentence of the command's docstring, as click shortens it."""
        module, _, function = self.places[name].partition(":")
        spec = find_spec(module)
        assert spec is not None
        assert spec.origin is not None
        for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name == function:
                return click.Command(name, help=ast.get_docstring(node)).get_short_help_str(limit)
        raise LookupError(f"{module} has no function {function}")
