# SPDX-License-Identifier: Apache-2.0
"""Turns errors into a message on stderr and an exit code; warnings into a message."""

from __future__ import annotations

import io
import os
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NoReturn

import click

from gpushare._core import CudaError, InvalidInput, PolicyError
from gpushare.cli.completion.bash import VARIABLE, register
from gpushare.cli.output import ARGUMENTS, AS_JSON, print_error_as_json, remark

POLICY_FAILED = 1
BAD_INPUT = 2
BUG = 3
NOT_WORKING = 4
INTERRUPTED = 130
KINDS = {POLICY_FAILED: "policy", BAD_INPUT: "input", BUG: "bug", INTERRUPTED: "interrupted"}
"""Kinds of errors in JSON, by exit code; "usage" is for options and arguments that do not fit the command."""


class CommandsWithExitCodes(click.Group):
    """A group that turns exceptions of its commands into a message and an exit code."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """As in click; names that the terminal cannot show are escaped."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        if VARIABLE in os.environ:
            register()
        return super().main(*args, **{"complete_var": VARIABLE, **extra})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As in click; remembers the arguments."""
        ctx.meta[ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; handles all exceptions except click's."""
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _remarked
                return super().invoke(ctx)
        except click.ClickException as error:
            if _asks_for_json(ctx, error):
                ctx.meta[AS_JSON] = True
            print_error_as_json("usage", error.format_message(), error.exit_code)
            raise
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except (InvalidInput, CudaError) as error:
            leave(str(error), BAD_INPUT)
        except OSError as error:
            leave(f"{error.filename}: {error.strerror}" if error.filename else str(error), BAD_INPUT)
        except PolicyError as error:
            leave(str(error), POLICY_FAILED)
        except KeyboardInterrupt:
            leave("interrupted", INTERRUPTED)
        except Exception as error:
            message = f"this is a bug in gpushare: {type(error).__name__}: {error}"
            leave(f"{message}\nset GPUSHARE_DEBUG=1 for the traceback", BUG)


def _asks_for_json(ctx: click.Context, error: click.ClickException) -> bool:
    """Whether --json is among the arguments: an error in another one keeps click from handling it."""
    command = error.cmd if isinstance(error, click.UsageError) else None
    knows_it = isinstance(command, click.Group) or any("--json" in each.opts for each in getattr(command, "params", ()))
    return knows_it and "--json" in takewhile(lambda argument: argument != "--", ctx.meta[ARGUMENTS])


def _remarked(message: Warning | str, *_: Any, **__: Any) -> None:
    remark(f"gpushare: {message}")


def leave(message: str, code: int) -> NoReturn:
    """Ends the program with a message on stderr, and with --json also with a document on stdout."""
    if os.environ.get("GPUSHARE_DEBUG") == "1":
        traceback.print_exc()
    remark(f"gpushare: {message}")
    print_error_as_json(KINDS[code], message, code)
    raise click.exceptions.Exit(code)


def leave_for_failed(errors: Mapping[str, str], unwritten: Sequence[str] = ()) -> None:
    """Ends the program if a policy failed, naming each, or if a file could not be written."""
    said = [*unwritten, *(f"{policy} failed: {message}" for policy, message in errors.items())]
    if said:
        leave("\ngpushare: ".join(said), POLICY_FAILED if errors else BAD_INPUT)
