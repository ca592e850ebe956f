# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, and their conversion to workloads and policies."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from gpushare._core import InvalidInput
from gpushare.backends.base import DEFAULT_PLACEMENT, DEFAULT_TIMEOUT_S, TIMEOUTS_S
from gpushare.backends.baselines import require_known_policy
from gpushare.checks import did_you_mean, number, require
from gpushare.cli.completion import names
from gpushare.cli.output import AS_JSON, keep_stdout
from gpushare.policy import Policy, place_of

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

DEVICE_HELP = (
    "cuda:0 for a GPU; sim:NAME, NAME or a TOML file for a simulated one; auto takes GPUSHARE_DEVICE, else the "
    "workload's device, else h100."
)
PLACE_HELP = "How applications are placed on several devices (h100*4, or cuda:0,cuda:1); see gpushare policies."
POLICIES_HELP = "Names separated by commas (see gpushare policies), or FILE.py:CLASS. Default: all built-in policies."


def device_option() -> Decorator:
    """--device."""
    return click.option(
        "--device", default="auto", show_default=True, metavar="DEVICE", help=DEVICE_HELP, shell_complete=names.device
    )


def place_option() -> Decorator:
    """--place."""
    return click.option(
        "--place", default=DEFAULT_PLACEMENT, show_default=True, help=PLACE_HELP, shell_complete=names.placement
    )


def policies_option() -> Decorator:
    """--policies."""
    return click.option("--policies", metavar="A,B,...", help=POLICIES_HELP, shell_complete=names.policies)


def repeats_option() -> Decorator:
    """--repeats."""
    return click.option(
        "--repeats", default=1, show_default=True, help="Runs per workload and policy; tables show the median."
    )


def seed_option() -> Decorator:
    """--seed."""
    return click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of simulated variation."
    )


def timeout_option() -> Decorator:
    """--timeout."""
    return click.option("--timeout", default=DEFAULT_TIMEOUT_S, show_default=True, metavar="SECONDS",
                        help="Limit of one run on a GPU.",
                        callback=lambda _, __, seconds: number("--timeout", seconds, *TIMEOUTS_S))  # fmt: skip


def profile_missing_option() -> Decorator:
    """--profile-missing."""
    return click.option("--profile-missing", is_flag=True, help="On a GPU, first profile kernels without a profile.")


def json_option() -> Decorator:
    """--json."""
    text = "Print one JSON document instead of tables."
    return click.option("--json", "as_json", is_flag=True, help=text, callback=_keep_stdout)


def _keep_stdout(context: click.Context, _option: click.Parameter, as_json: bool) -> bool:
    if as_json:
        context.meta[AS_JSON] = True
        keep_stdout(context, "--json")
    return as_json


def to_policies(text: str | None) -> list[str | Policy] | None:
    """The policies of a comma-separated list; None without a list, which stands for all built-in ones."""
    if text is None:
        return None
    names: list[str] = []
    for name in (each.strip() for each in text.split(",") if each.strip()):
        if name.isdigit() and names:
            names[-1] += f",{name}"  # green-contexts:40,92 is one name
        else:
            names.append(name)
    require(len(names) > 0, "--policies: expected at least one policy")
    return [to_policy(name) for name in names]


def to_policy(text: str) -> str | Policy:
    """The built-in policy or baseline of this name, or an instance of the class in ``FILE.py:CLASS``."""
    file, colon, class_name = text.partition(".py:")
    if colon:
        return _make(_policy_class(Path(f"{file}.py"), class_name), text)
    if text.endswith(".py"):
        return _make(_policy_class(Path(text), None), text)
    require_known_policy(text, "; or FILE.py:CLASS")
    return text


def _make(policy_class: type[Policy], text: str) -> Policy:
    try:
        return policy_class()
    except (Exception, SystemExit) as error:
        place = place_of(error, {inspect.getfile(policy_class)})
        raise InvalidInput(f"policy {text!r} cannot be made: {type(error).__name__}: {error}{place}") from error


def _policy_class(path: Path, class_name: str | None) -> type[Policy]:
    module = _loaded(path)
    found = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Policy) and value.__module__ == module.__name__
    }
    known = ", ".join(found) or "none"
    if class_name is None:
        require(len(found) == 1, f"{path}: say which policy, as {path}:CLASS; policies in this file: {known}")
        return next(iter(found.values()))
    meant = did_you_mean(class_name, found)
    require(class_name in found, f"{path}: no policy {class_name!r} in this file; it has: {known}{meant}")
    return found[class_name]


def _loaded(path: Path) -> ModuleType:
    """Imports the file as Python would run it: its folder comes first on the path."""
    require(path.is_file(), f"no file {str(path)!r} to take a policy from")
    spec = importlib.util.spec_from_file_location(f"gpushare_policy_file_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{path}: is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        place = "" if isinstance(error, SyntaxError) else place_of(error, {module.__file__ or ""})
        raise InvalidInput(f"{path}: cannot be imported: {type(error).__name__}: {error}{place}") from error
    return module
