# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/reference that the code itself describes: policies, the command line, and files in TOML.

Policies and orderings say what their options mean and may be. Commands are click's. Keys of files are fields of
schemas, whose meaning is the string below each of them.
"""

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, get_args, get_origin

import annotated_types
import click
from pydantic.fields import FieldInfo
from table import markdown

import gpushare as gs
from gpushare import _core
from gpushare.backends.baselines import BASELINES
from gpushare.cli import COMMANDS, main
from gpushare.daemon.settings import Settings
from gpushare.files.schema import Schema
from gpushare.model.device_file import DeviceTable
from gpushare.model.workload_schema import (
    ApplicationTable,
    ArrivalsTable,
    CudaTable,
    ModelTable,
    OperationTable,
    WorkloadTable,
)

COMMON = "whole_up_to_ns"
"""The option that every policy has, described once."""


def policy_table() -> str:
    """Every policy in a line."""
    rows = [[f"[`{each.name}`](#{each.name})", each.summary, each.source] for each in gs.policies()]
    return markdown(["policy", "what it does", "from"], rows)


def policy_table_of_readme() -> str:
    """The same with the policies' papers, seen from the top of the checkout."""
    return policy_table().replace("](#", "](docs/reference/policies.md#")


def policies_page() -> str:
    """Policies, orderings and baselines, with their options."""
    parts = [POLICIES, policy_table(), "## Options of policies"]
    (common,) = (option for option in _core.policy_options("fifo") if option.name == COMMON)
    parts += ["Every policy has this option; `auto` uses 2,000,000 where it is left out.", option_table([common])]
    for each in gs.policies():
        options = [option for option in _core.policy_options(each.name) if option.name != COMMON]
        notes = " It is an oracle: it is told what a scheduler cannot know, and sessions refuse it." * each.is_oracle
        parts += [f"### {each.name}", f"{sentence(each.summary)} From: {each.source}.{notes}"]
        parts += [option_table(options)] if options else []
    parts += ["## Orderings", ORDERINGS]
    rows = [[f"`{each.name}`", each.summary, each.source] for each in _core.orderings()]
    parts += [markdown(["ordering", "what it does", "from"], rows)]
    for options, names in ordering_options().items():
        parts += ["Options of " + ", ".join(f"`{name}`" for name in names) + ":", option_table(options)]
    rows = [[f"`{each.name}`", each.summary] for each in _core.placements()]
    parts += ["## Placements", PLACEMENTS, markdown(["placement", "what it does"], rows)]
    for each in _core.placements():
        options = _core.placement_options(each.name)
        parts += [f"Options of `{each.name}`:", option_table(options)] if options else []
    rows = [[f"`{name}`", sentence(words)] for name, words in BASELINES.items()]
    parts += ["## Baselines", BASELINE, markdown(["baseline", "what it does"], rows)]
    return "\n\n".join(parts)


def ordering_options() -> dict[tuple[Any, ...], list[str]]:
    """The orderings that have the same options, by these; those without any are left out."""
    found: dict[Any, tuple[tuple[Any, ...], list[str]]] = {}
    for each in _core.orderings():
        options = tuple(_core.ordering_options(each.name))
        if options:
            key = tuple((option.name, option.otherwise) for option in options)
            found.setdefault(key, (options, []))[1].append(each.name)
    return dict(found.values())


def option_table(options: Iterable[Any]) -> str:
    """Options with what they mean and may be."""
    rows = [
        [f"`{each.name}`", shown_number(each.otherwise), shown_values(each.values), sentence(each.meaning)]
        for each in options
    ]
    return markdown(["option", "default", "values", "meaning"], rows)


def shown_values(text: str) -> str:
    """Numbers as people write them.

    >>> shown_values("whole number in 1..1e+12"), shown_values("0.001..0.9")
    ('whole number in 1 to 10^12', '0.001 to 0.9')
    """
    return " to ".join(shown_number(part) for part in text.split(".."))


def shown_number(text: str) -> str:
    """A number in C++'s shortest form as people write it.

    >>> shown_number("2e+06"), shown_number("1e+09"), shown_number("50000"), shown_number("1e-06")
    ('2,000,000', '10^9', '50,000', '10^-6')
    """
    found = re.fullmatch(r"(.*?)(\d+)(?:e([+-])0?(\d+))?", text)
    if not found or found[1].endswith("."):
        return text
    before, digits, sign, power = found.groups(default="")
    if sign == "-" or (digits == "1" and power and int(power) > 6):
        return f"{before}10^{sign.strip('+')}{power}" if digits == "1" else text
    return f"{before}{int(digits + '0' * int(power or 0)):,}"


def sentence(text: str) -> str:
    """Begins with a capital and ends with a full stop."""
    is_name = text.split(" ")[0].strip(",") in {each.name for each in [*gs.policies(), *_core.orderings()]}
    return (text[:1] if is_name else text[:1].upper()) + text[1:].rstrip(".") + "."


def cli_page() -> str:
    """Every command with its options."""
    parts = [CLI]
    context = click.Context(main)
    for name in COMMANDS:
        parts += described(f"gpushare {name}", main.get_command(context, name), 2)
    return "\n\n".join(parts)


def described(name: str, command: click.Command, level: int) -> Iterator[str]:
    """A command: how it is called, what it does, its options, and its own commands."""
    context = click.Context(command, info_name=name)
    yield f"{'#' * level} {name.removeprefix('gpushare ')}"
    yield f"```text\n{name} {' '.join(command.collect_usage_pieces(context))}\n```"
    yield from paragraphs(command.help or "")
    options = [option for option in command.params if isinstance(option, click.Option)]
    rows = [option_row(option, context) for option in options if not option.hidden]
    if rows:
        yield markdown(["option", "meaning"], rows)
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from described(f"{name} {each.name}", each, level + 1)


def paragraphs(text: str) -> Iterator[str]:
    r"""The paragraphs of a help text; what follows \b is kept as it is, examples as commands."""
    for part in inspect.cleandoc(text).split("\n\n"):
        lines = part.split("\n")
        if lines[0] != "\b":
            yield escaped(" ".join(lines))
        elif lines[1] == "Examples:":
            yield "```sh\n" + textwrap.dedent("\n".join(lines[2:])) + "\n```"
        else:
            yield "```text\n" + "\n".join(lines[1:]) + "\n```"


def option_row(option: click.Option, context: click.Context) -> list[str]:
    """The option as it is written, and what it means."""
    names, meaning = option.get_help_record(context) or ("", "")
    return [f"`{names}`", escaped(re.sub(r"\s+", " ", meaning))]


def escaped(text: str) -> str:
    """Not read as HTML or as a link."""
    return text.replace("<", "&lt;").replace("[", "\\[")


def workload_page() -> str:
    """The keys of workload files."""
    return schema_page(
        WORKLOAD,
        {
            "The file": WorkloadTable,
            "`[[kernel]]`: a model": ModelTable,
            "`[[kernel]]`: CUDA code": CudaTable,
            "`[[application]]`": ApplicationTable,
            "An entry of `operations`": OperationTable,
            "`arrivals` of an application": ArrivalsTable,
        },
    )


def device_page() -> str:
    """The keys of device files."""
    tables = {name: table for name, field in DeviceTable.model_fields.items() if is_table(table := field.annotation)}
    titles = {"The file": DeviceTable}
    for name, table in tables.items():
        same = [f"`[{other}]`" for other in tables if tables[other] is table]
        if same[0] == f"`[{name}]`":
            titles[" and ".join(same)] = table
    return schema_page(DEVICE, titles)


def server_page() -> str:
    """The keys of the server's configuration."""
    return schema_page(SERVER, {"The file": Settings})


def is_table(annotation: Any) -> bool:
    """Whether this key holds a table of its own."""
    return isinstance(annotation, type) and issubclass(annotation, Schema)


def schema_page(introduction: str, tables: dict[str, type[Schema]]) -> str:
    """A page about a file."""
    parts = [introduction]
    for title, schema in tables.items():
        meanings = meanings_of(schema)
        rows = [key_row(name, field, meanings) for name, field in schema.model_fields.items()]
        parts += [f"## {title}", markdown(["key", "default", "value", "meaning"], rows)]
    return "\n\n".join(parts)


def key_row(name: str, field: FieldInfo, meanings: dict[str, str]) -> list[str]:
    """A key of a file: its default, what it may be, and what it means."""
    if field.is_required():
        default = "required"
    else:
        value = field.get_default(call_default_factory=True)
        default = "" if value in (None, [], {}) or is_table(type(value)) else f"`{toml(value)}`"
    value = kind_of(field.annotation)
    limits = limits_of(field)
    return [f"`{field.alias or name}`", default, f"{value} {limits}".strip(), meanings[name]]


def toml(value: Any) -> str:
    """A default as a file would have it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:_}"
    return str(value).replace("'", '"')


LIMITS = (annotated_types.Ge, annotated_types.Gt, annotated_types.Le)
KINDS = {int: "whole number", float: "number", str: "text", bool: "true or false", Any: ""}


def kind_of(annotation: Any) -> str:
    """What sort of value a key holds."""
    if is_table(annotation):
        return "table"
    arguments = [each for each in get_args(annotation) if each is not type(None)]
    origin = get_origin(annotation)
    if origin is Literal:
        return " or ".join(f"`{each}`" for each in arguments)
    if origin is list:
        inner = kind_of(arguments[0])
        plain = {"": "list", "text": "list of texts"}
        return "tables" if has_tables(arguments[0]) else plain.get(inner, f"list, each a {inner}")
    if origin is dict:
        return f"table by name, each a {kind_of(arguments[1])}"
    if arguments:
        return kind_of(arguments[0])
    return KINDS[annotation]


def has_tables(annotation: Any) -> bool:
    """Whether a list holds tables, perhaps of several kinds."""
    return is_table(annotation) or any(has_tables(each) for each in get_args(annotation))


def limits_of(field: FieldInfo) -> str:
    """The limits that the schema states."""
    metadata = [*field.metadata, *inner_metadata(field.annotation)]
    texts = {each: limit_text(each) for each in metadata if isinstance(each, LIMITS)}
    return " ".join(texts[each] for kind in LIMITS for each in texts if isinstance(each, kind))


def limit_text(limit: Any) -> str:
    """A limit in words."""
    if isinstance(limit, annotated_types.Ge):
        return f"from {number(limit.ge)}"
    return f"above {number(limit.gt)}" if isinstance(limit, annotated_types.Gt) else f"to {number(limit.le)}"


def inner_metadata(annotation: Any) -> Iterator[Any]:
    """What an Annotated says, through unions and containers."""
    for each in getattr(annotation, "__metadata__", ()):
        yield from each.metadata if isinstance(each, FieldInfo) else [each]
    for each in get_args(annotation):
        yield from inner_metadata(each)


def number(value: float) -> str:
    """A limit in short."""
    if value < -1:
        return f"-{number(-value)}"
    if abs(value) >= 1e6 and float(f"{value:.0e}") == value:
        return f"{value:.0e}".replace("1e+0", "10^").replace("1e+", "10^").replace("e+0", "·10^").replace("e+", "·10^")
    if value == int(value) and value > 1 << 16 and (int(value) & (int(value) - 1)) == 0:
        return f"2^{int(value).bit_length() - 1}"
    if value == int(value) and value > 1 << 16 and (int(value) & (int(value) + 1)) == 0:
        return f"2^{int(value).bit_length()} - 1"
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


@functools.cache
def meanings_of(schema: type[Schema]) -> dict[str, str]:
    """The strings below the fields of a schema, by field; a field without one is an error."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(schema))).body
    found: dict[str, str] = {}
    for field, text in zip(body.body, body.body[1:], strict=False):  # type: ignore[attr-defined]
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            found[field.target.id] = ast.literal_eval(text.value)  # type: ignore[union-attr]
    missing = schema.model_fields.keys() - found.keys()
    if missing:
        raise ValueError(f"{schema.__name__}: no string says what these keys mean: {', '.join(sorted(missing))}")
    return found


POLICIES = """\
# Policies

A policy divides the SMs among running launches. Its name is an argument of `gpushare compare --policies`,
`gs.Session(policy=...)` and `gpushare serve --policy`. Options follow the name: `cd-search:mode=power:step=4`. How to
write one: [write a policy](../guide/write-a-policy.md)."""

ORDERINGS = """\
An ordering decides which operations may go next; the policy then divides the SMs. It stands before a `+`, as in
`cumas:window=12+srtf`, or in `gs.Session(ordering=...)` and `gpushare serve --ordering`. The paper:
[CuMAS](../papers/cumas.md)."""

PLACEMENTS = """\
A placement decides on which of [several devices](../guide/devices.md#several-gpus) each application runs: `place=` of
`gs.run`, `gs.compare` and `gs.Sweep`, and `--place`.
"""

BASELINE = """\
On a real GPU, these names stand for what CUDA does by itself, with original kernels."""

CLI = """\
# Command line

`gpushare COMMAND --help` prints the same. Exit codes are on the page about
[errors](errors.md#exit-codes-of-the-command)."""

WORKLOAD = """\
# Workload files

A workload is a TOML file of kernels and applications. [Workloads](../guide/workloads.md) has examples, and explains how
times of blocks follow from these figures. A key without a default is left out unless it is needed."""

DEVICE = """\
# Device files

A simulated device is a TOML file. [Devices](../guide/devices.md) has an example, and the
[simulator model](../internals/simulator.md) says what the figures mean. The bundled files say where each
figure is from."""

SERVER = """\
# Server configuration

The file of `gpushare serve --config`. [gpushare.toml](../guide/gpushare.toml) is an example, and
[the server](../guide/server.md#rights) explains rights."""

PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/policies.md": policies_page,
    "docs/reference/cli.md": cli_page,
    "docs/reference/workload-file.md": workload_page,
    "docs/reference/device-file.md": device_page,
    "docs/reference/server-file.md": server_page,
}

PARTS: dict[str, tuple[str, Callable[[], str]]] = {"README.md": ("policies", policy_table_of_readme)}
