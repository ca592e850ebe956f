# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""Commands for a running server: its state, and changes to it."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpushare.checks import require
from gpushare.cli.arguments import Decorator, json_option
from gpushare.cli.completion import names
from gpushare.cli.files import require_plots, writable_path, write_file
from gpushare.cli.output import cell, print_json, print_table, remark
from gpushare.cli.tables.server import (
    APPLICATION_COLUMNS,
    CLIENT_COLUMNS,
    TEXTS_OF_APPLICATION,
    TEXTS_OF_CLIENT,
    application_rows,
    client_rows,
    headline,
)
from gpushare.connect import watching
from gpushare.daemon.served_devices import in_group
from gpushare.files.atomic_write import write_atomically

if TYPE_CHECKING:
    from gpushare.daemon.client.session import DaemonSession

SOME_SECONDS = click.FloatRange(0, 1e6, min_open=True)
PICTURES = (".svg", ".png", ".pdf")
"""Suffixes of file names for pictures."""


def socket_option() -> Decorator:
    """--socket."""
    return click.option("--socket", type=click.Path(path_type=Path), metavar="PATH", help="Socket of the server.")


def device_option() -> Decorator:
    """--device."""
    return click.option(
        "--device", metavar="DEVICE", help="A device of the server, or programs; default: all, without programs."
    )


@contextlib.contextmanager
def _connected(socket: Path | None, device: str | None) -> Iterator[list[DaemonSession]]:
    """A connection to each of the devices that the user means."""
    with contextlib.ExitStack() as connections:
        first = connections.enter_context(watching(socket, device))
        sessions = []
        for name in in_group(device, first.devices_of_server):
            if name == first.device:
                sessions.append(first)
                continue
            try:
                sessions.append(connections.enter_context(watching(socket, name)))
            except ConnectionError as error:  # the others go on
                remark(str(error))
        yield sessions


@click.command()
@socket_option()
@device_option()
@json_option()
def status(socket: Path | None, device: str | None, as_json: bool) -> None:
    """Show the state of a server: memory, clients, applications.

    \b
    Examples:
      gpushare status
      gpushare status --json
    """
    with _connected(socket, device) as sessions:
        found = _statuses(sessions)
    _show(found, as_json=as_json)


def _statuses(sessions: Sequence[DaemonSession]) -> list[dict[str, Any]]:
    return [session.status() for session in sessions]


def _show(found: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    """JSON of one device is its status, of several they are all ``devices``."""
    if as_json:
        print_json(found[0] if len(found) == 1 else {"devices": found})
    else:
        for each in found:
            _print(each)


def _said(words: str, *, as_json: bool, **document: Any) -> None:
    """Reports a change, as text or JSON."""
    remark(words)
    if as_json:
        print_json(document)


def _print(found: dict[str, Any]) -> None:
    print_table(headline(found), APPLICATION_COLUMNS, application_rows(found), texts=TEXTS_OF_APPLICATION)
    print_table("clients", CLIENT_COLUMNS, client_rows(found), texts=TEXTS_OF_CLIENT)


@click.command()
@socket_option()
@device_option()
@click.option("--every", default=1.0, show_default=True, type=click.FloatRange(0.05, 3600), metavar="SECONDS")
@click.option("--once", is_flag=True, help="Print the table once, for scripts.")
@json_option()
def top(socket: Path | None, device: str | None, every: float, once: bool, as_json: bool) -> None:
    """Watch the applications of a server; Ctrl-C ends it. With --json once, as gpushare status.

    \b
    Examples:
      gpushare top
      gpushare top --every 0.2
      gpushare top --once
    """
    with _connected(socket, device) as sessions:
        if once or as_json:
            return _show(_statuses(sessions), as_json=as_json)
        from rich.console import Group
        from rich.live import Live

        with Live(auto_refresh=False, screen=True) as live:
            while True:
                live.update(Group(*map(_table, _statuses(sessions))), refresh=True)
                time.sleep(every)


def _table(found: dict[str, Any]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(title=cell(headline(found)), title_justify="left", box=box.SIMPLE_HEAD)
    for number, column in enumerate(APPLICATION_COLUMNS):
        table.add_column(column, justify="left" if number < TEXTS_OF_APPLICATION else "right")
    for row in application_rows(found):
        table.add_row(*map(cell, row))
    return table


@click.command()
@click.argument("name", shell_complete=names.served_policy)
@socket_option()
@device_option()
@json_option()
def set_policy(name: str, socket: Path | None, device: str | None, as_json: bool) -> None:
    """Change the policy of a server.

    \b
    Examples:
      gpushare set-policy srtf
      gpushare set-policy mix:min_speed=0.3
    """
    with _connected(socket, device) as sessions:
        _set_on_all(sessions, name)
    _said(f"policy {name} from now on", as_json=as_json, policy=name)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("application")
@click.argument("priority", type=int)
@socket_option()
@device_option()
@json_option()
def set_priority(application: str, priority: int, socket: Path | None, device: str | None, as_json: bool) -> None:
    """Change the priority of an application, named as in gpushare status.

    \b
    Examples:
      gpushare set-priority alice 5
      gpushare set-priority alice@3 -1
    """
    with _connected(socket, device) as sessions:
        name, *_ = [each.set_priority(application, priority) for each in _with_application(sessions, application)]
    words = f"priority {priority} for {name} from now on"
    _said(words, as_json=as_json, application=name, priority=priority)


@click.command()
@click.option("--last", type=SOME_SECONDS, metavar="SECONDS", help="Length of the trace until now.")
@click.option("--from", "since", type=SOME_SECONDS, metavar="SECONDS", help="Begin of the trace, seconds ago.")
@click.option(
    "--to",
    "until",
    type=click.FloatRange(0, 1e6),
    metavar="SECONDS",
    help="End of the trace, seconds ago.  [default: 0, now]",
)
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              callback=writable_path)  # fmt: skip
@socket_option()
@device_option()
@json_option()
def trace(
    last: float | None,
    since: float | None,
    until: float | None,
    output: Path,
    socket: Path | None,
    device: str | None,
    as_json: bool,
) -> None:
    """Write a trace of a server: for ui.perfetto.dev, or a picture (.svg, .png or .pdf).

    \b
    Examples:
      gpushare trace --last 10 -o last.pftrace
      gpushare trace --last 0.5 -o last.svg
      gpushare trace --from 90 --to 60 -o before.pftrace
    """
    if (last is None) == (since is None) or (last is not None and until is not None):
        raise click.UsageError("give a window: --last 10, or --from 90 --to 60 (seconds ago)")
    if since is not None and until is not None and until >= since:
        raise click.UsageError(f"--to must be less than --from (seconds ago), got {until:g} and {since:g}")
    if output.suffix in PICTURES:
        require_plots()
    with _connected(socket, device) as sessions:
        content = _trace(sessions, since or last or 0.0, until or 0.0)
    if output.suffix in PICTURES:
        _draw(content, output)
        return _said(f"wrote {output}", as_json=as_json, trace=output)
    write_file(output, lambda to: write_atomically(to, content))
    return _said(f"wrote {output}; open it in ui.perfetto.dev", as_json=as_json, trace=output)


def _set_on_all(sessions: Sequence[DaemonSession], policy: str) -> None:
    """Where one device refuses the policy, all keep theirs."""
    changed: list[tuple[DaemonSession, str]] = []
    try:
        for session in sessions:
            last = session.policy
            session.set_policy(policy)
            changed.append((session, last))
    except Exception:
        for session, last in changed:
            session.set_policy(last)
        raise


def _with_application(sessions: Sequence[DaemonSession], name: str) -> list[DaemonSession]:
    """The connections to the devices that have the application: several where it is a program on several GPUs.

    Raises:
        InvalidInput: several have one of this name.
    """
    having: list[DaemonSession] = []
    clients: list[dict[str, Any]] = []
    for session in sessions:
        status = session.status()
        named = [each for each in status["applications"] if name in (each["name"], each["name"].rpartition("@")[0])]
        numbers = {each["client"] for each in named}
        clients += [each for each in status["clients"] if each["client"] in numbers]
        having += [session] if named else []
    devices = ", ".join(each.device for each in having)
    is_one = len({each["pid"] for each in clients}) == 1 and all(each["gpus"] > 1 for each in clients)
    require(
        len(having) < 2 or is_one, f"several devices have an application {name!r}: take --device with one of {devices}"
    )
    return having or [sessions[0]]


def _trace(sessions: Sequence[DaemonSession], seconds: float, until: float) -> bytes:
    """The traces of all devices, of the same window, one after the other."""
    if len(sessions) == 1:
        return sessions[0].trace(seconds, until)
    began = time.monotonic()
    parts = []
    for number, session in enumerate(sessions):
        passed = time.monotonic() - began
        parts.append(session.trace(seconds + passed, until + passed if until or number else 0.0, part=number + 1))
    return b"".join(parts)


def _draw(content: bytes, output: Path) -> None:
    from gpushare.plots.axes import detached_axes, figure_of  # and with it what a server does without
    from gpushare.results.server_trace import ServerTrace

    trace = ServerTrace.of(content)
    ax = trace.plot(detached_axes(9.5, 1.1 + 0.75 * max(len(trace.applications), 1)))
    picture = io.BytesIO()
    figure_of(ax).savefig(picture, format=output.suffix.removeprefix("."))
    write_atomically(output, picture.getvalue())
