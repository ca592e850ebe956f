# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare serve``: shares a GPU among processes until it is stopped."""

from __future__ import annotations

import contextlib
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import click

from gpushare.checks import require
from gpushare.cli.completion import names
from gpushare.daemon.descriptors import permit_many
from gpushare.daemon.http.address import address_in
from gpushare.daemon.http.http_server import HttpServer
from gpushare.daemon.logs import log_to_stderr
from gpushare.daemon.served_devices import is_programs, served_devices
from gpushare.daemon.settings import PROGRAMS, default_socket, settings_in
from gpushare.daemon.supervisor.placing import require_served_placement
from gpushare.daemon.supervisor.supervisor import Supervisor
from gpushare.model.workload import PRIORITIES
from gpushare.policy import require_built_in, require_open_ordering


@click.command()
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="DEVICE",
    help="cuda:0, cuda:all, sim:NAME, sim:NAME*N, programs; may be repeated.",
    shell_complete=names.served_device,
)
@click.option(
    "--policy", metavar="P", help="Name of a built-in policy.  [default: auto]", shell_complete=names.served_policy
)
@click.option(
    "--place",
    metavar="P",
    help="The device of a client that names none: least-loaded or first-fit.  [default: least-loaded]",
)
@click.option(
    "--ordering",
    metavar="O",
    help="Ordering of operations; gpushare policies lists them.  [default: arrival]",
    shell_complete=names.ordering,
)
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Configuration of the server, in TOML.",
)
@click.option("--socket", type=click.Path(dir_okay=False, path_type=Path), metavar="PATH", help="Socket for clients.")
@click.option(
    "--highest-priority",
    type=click.IntRange(*PRIORITIES),
    metavar="N",
    help="Highest priority that every client may give its applications.  [default: 0]",
)
@click.option(
    "--http",
    metavar="[HOST:]PORT",
    help="Address of a live page, and of /metrics for Prometheus; without HOST for this machine only.",
)
@click.option("--mps", is_flag=True, help="An MPS for this user's programs: their kernels run at the same time.")
@click.option("--while-used", is_flag=True, help="End with the last client.")
@click.option("--log-json", is_flag=True, help="One JSON object per line on stderr.")
@click.option("--log-level", type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"]), default="INFO")
def serve(
    devices: tuple[str, ...],
    policy: str | None,
    place: str | None,
    ordering: str | None,
    config: Path | None,
    socket: Path | None,
    highest_priority: int | None,
    http: str | None,
    mps: bool,
    while_used: bool,
    log_json: bool,
    log_level: str,
) -> None:
    """Share a GPU among processes that call gpushare.connect() or were started with gpushare run.

    Ctrl-C or SIGTERM ends it. Options take precedence over --config.

    \b
    Examples:
      gpushare serve --device cuda:0 --policy auto
      gpushare serve --device cuda:0 --policy srtf --ordering cumas:kernels=2
      gpushare serve --device cuda:all --place first-fit
      gpushare serve --device sim:h100 --policy effisha-static --highest-priority 2 --socket /tmp/try.sock
      gpushare serve --config gpushare.toml --http 9400
    """
    given = {
        "devices": list(devices) or None,
        "policy": policy,
        "place": place,
        "ordering": ordering,
        "highest_priority": highest_priority,
        "http": http,
        "mps": mps or None,
    }
    settings = settings_in(config).model_copy(update={name: each for name, each in given.items() if each is not None})
    settings = settings.model_copy(update={"devices": served_devices(settings.devices)})
    require_served_placement(settings.place)
    require(
        not settings.mps or any(map(is_programs, settings.devices)),
        f"--mps: it is for programs, and this server does not serve them: add --device {PROGRAMS}",
    )
    require_built_in(settings.policy)
    require_open_ordering(settings.ordering)
    address = None if settings.http is None else address_in(settings.http)
    path = socket or (Path(settings.socket) if settings.socket else default_socket())
    log_to_stderr(as_json=log_json, level=log_level, lines_per_second=settings.log_lines_per_second)
    permit_many()
    on_unused = partial(os.kill, os.getpid(), signal.SIGTERM) if while_used else None
    signal.signal(signal.SIGTERM, _end)
    supervisor = Supervisor(settings, path, log_json=log_json, on_unused=on_unused)
    with contextlib.ExitStack() as ending:
        ending.callback(supervisor.close)
        page = None if address is None else HttpServer(address, path, settings.devices)
        if page is not None:
            ending.callback(page.close)
        supervisor.start()
        if page is not None:
            page.start()
        supervisor.serve()


def _end(*_: Any) -> None:
    """Handles SIGTERM as Ctrl-C, without a failure.

    Raises:
        SystemExit: always. click's Exit is a RuntimeError, which the server survives where it starts a thread.
    """
    raise SystemExit(0)
