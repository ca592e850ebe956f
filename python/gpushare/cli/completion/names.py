# SPDX-License-Identifier: Apache-2.0
"""What an incomplete argument can become, by kind of argument: functions for click's ``shell_complete``.

They read names and files only: no GPU is opened, and no file of the user is run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from gpushare import _core
from gpushare.backends.baselines import BASELINES
from gpushare.cli.output import ARGUMENTS
from gpushare.model.devices import device_names
from gpushare.model.workload import workload_names

Items = list[CompletionItem[str]]
Complete = Callable[[click.Context, click.Parameter, str], Items]
KERNEL_NAMES = {
    ".cu": re.compile(r"__global__[^;{}()]*?(?:__launch_bounds__\([^)]*\)[^;{}()]*?)?\b(\w+)\s*\("),
    ".ptx": re.compile(r"\.entry\s+([\w$]+)"),
}
MOST_BYTES = 16 << 20
"""Longer files are not searched for kernels: it would take longer than a user waits."""


def policy(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """A policy or a baseline: ``srtf``, ``mix:min_speed=``, ``cumas+srtf``, ``mine.py:LatestFirst``."""
    return _policy(incomplete)


def policies(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Several, separated by commas."""
    return _last_of_list(incomplete, _policy)


def served_policy(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """A built-in policy without an ordering: what a server can have."""
    return _built_in(incomplete)


def ordering(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """An ordering."""
    return _with_options(incomplete, {each.name: each.summary for each in _core.orderings()}, _core.ordering_options)


def placement(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """A placement."""
    return _with_options(incomplete, {each.name: each.summary for each in _core.placements()}, _core.placement_options)


def device(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """A GPU, a simulated device or its file."""
    gpus = [f"cuda:{number}" for number in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]
    names = ["auto", *gpus, *(f"sim:{name}" for name in device_names())]
    return [*_starting(names, incomplete), *_files(incomplete, (".toml",))]


def served_device(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """A device that a server can have."""
    return [*_starting(["programs"], incomplete), *device(context, parameter, incomplete)]


def workload(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """A bundled workload or a file."""
    return [*_starting(workload_names(), incomplete), *_files(incomplete, (".toml",))]


def suite_kernel(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """A kernel of the suite."""
    return _suite_kernel(incomplete)


def suite_kernels(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Several kernels of the suite, separated by commas."""
    return _last_of_list(incomplete, _suite_kernel)


def profiled(context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """What ``gpushare profile`` measures: kernels of the suite with --suite, else files."""
    return _suite_kernel(incomplete) if context.params.get("suite") else _files(incomplete, tuple(KERNEL_NAMES))


def source(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """A file with kernels."""
    return _files(incomplete, tuple(KERNEL_NAMES))


def kernel(context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """A kernel of the source that is named already."""
    # Click has not assigned the arguments yet: the last option lacks its value.
    sources = [path for path in map(Path, context.meta.get(ARGUMENTS, ())) if path.suffix in KERNEL_NAMES]
    return _starting(kernels_in(sources[0]), incomplete) if sources else []


def paper(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """A paper that can be reproduced."""
    return _starting(import_module("gpushare.reproduce").PAPERS, incomplete)


def program(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """A file: the shell completes it."""
    return [CompletionItem(incomplete, type="file")]


def kernels_in(path: Path) -> list[str]:
    """The names that look like kernels in a source. Only the compiler knows; for a proposal it is enough.

    A source that cannot be read has none.
    """
    pattern = KERNEL_NAMES.get(path.suffix)
    try:
        if pattern is None or path.stat().st_size > MOST_BYTES:
            return []
        return list(dict.fromkeys(pattern.findall(path.read_text(errors="replace"))))
    except OSError:
        return []


def _policy(incomplete: str) -> Items:
    file, colon, begun = incomplete.rpartition(".py:")
    if colon:
        return _starting([f"{file}.py:{name}" for name in _classes(Path(f"{file}.py"))], f"{file}.py:{begun}")
    before, plus, last = incomplete.rpartition("+")
    if plus:
        return _behind(before + plus, _built_in(last))
    orderings = [f"{each.name}+" for each in _core.orderings()]
    others = [*_starting(BASELINES, incomplete), *_starting(orderings, incomplete)] if ":" not in incomplete else []
    return [*_built_in(incomplete), *others, *_files(incomplete, (".py",))]


def _built_in(incomplete: str) -> Items:
    return _with_options(incomplete, {each.name: each.summary for each in _core.policies()}, _core.policy_options)


def _with_options(incomplete: str, summaries: dict[str, str], options_of: Callable[[str], Any]) -> Items:
    """A name, or after a known one its options that are not given yet."""
    name, *given = incomplete.split(":")
    if not given:
        return [CompletionItem(each, help=summaries[each]) for each in summaries if each.startswith(name)]
    if name not in summaries:
        return []
    set_already = {each.partition("=")[0] for each in given[:-1]}
    left = [option for option in options_of(name) if option.name not in set_already]
    items = [CompletionItem(f"{option.name}=", help=option.meaning) for option in left]
    begun = [item for item in items if item.value.startswith(given[-1])]
    return _behind(incomplete[: len(incomplete) - len(given[-1])], begun)


def _suite_kernel(incomplete: str) -> Items:
    return _starting(import_module("gpushare.suite").KERNELS, incomplete)


def _classes(path: Path) -> Iterator[str]:
    """The classes of a file that have a base class; it is not run."""
    try:
        tree = ast.parse(path.read_text())
    except (OSError, SyntaxError, ValueError):
        return
    yield from (node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.bases)


def _last_of_list(incomplete: str, complete: Callable[[str], Items]) -> Items:
    before, comma, last = incomplete.rpartition(",")
    given = before.split(",")
    return _behind(before + comma, [item for item in complete(last) if item.value not in given])


def _behind(before: str, items: Items) -> Items:
    return [CompletionItem(before + item.value, type=item.type, help=item.help) for item in items]


def _starting(names: Iterable[str], incomplete: str) -> Items:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _files(incomplete: str, suffixes: tuple[str, ...]) -> Items:
    """Files with one of these suffixes, and folders; hidden ones once their dot is written."""
    folder, slash, begun = incomplete.rpartition("/")
    try:
        found = sorted(Path(folder + slash or ".").expanduser().iterdir())
    except OSError:
        return []
    shown = [each for each in found if each.name.startswith(begun) and (begun or not each.name.startswith("."))]
    names = [
        f"{each.name}/" if each.is_dir() else each.name for each in shown if each.is_dir() or each.suffix in suffixes
    ]
    return [CompletionItem(folder + slash + name) for name in names]
