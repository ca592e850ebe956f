# SPDX-License-Identifier: Apache-2.0
"""HTML for Jupyter of workloads, runs and results: small tables and timelines without external resources."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from gpushare.model.device_file import device_to_dict
from gpushare.model.workload import Launch
from gpushare.plots.launches import NOTE, launch_spans
from gpushare.plots.palette import application_colours, colours
from gpushare.plots.residency import binned, residency
from gpushare.results.ranking import best_marks, labelled, winner
from gpushare.results.result import known_among
from gpushare.results.words import METRICS, UNKNOWN, device_names, duration, number, shortened

if TYPE_CHECKING:
    from gpushare._core import Device, PolicyEntry
    from gpushare.model.workload import Application, Workload
    from gpushare.results.result import Result
    from gpushare.results.run import Run

WIDTH, HEIGHT, COLUMNS = 720, 110, 240
MOST_ROWS = 12
CELL = "padding:2px 10px 2px 0;text-align:{side};vertical-align:top"
SHOWN = ["stp", "antt", "strictf", "makespan_ns", "sm_utilisation"]


def workload_html(workload: Workload) -> str:
    """The applications of a workload: arrival, operations, blocks."""
    rows = [_application_row(application) for application in workload.applications]
    device = f", written for {escape(workload.device)}" if workload.device else ""
    heading = f"<b>Workload {escape(workload.name)}</b>: {_counted(len(rows), 'application')}{device}"
    return _box(heading, _table(["application", "arrives", "thread blocks", "priority", "operations"], rows))


def device_html(device: Device) -> str:
    """The values of a device, by the names of its file format."""
    tables = device_to_dict(device)
    heading = f"<b>Device {escape(tables.pop('name'))}</b>"
    rows = []
    for key, value in tables.items():
        figures = value.items() if isinstance(value, dict) else [("", value)]
        rows += [[f"{key}.{name}".rstrip("."), figure_text(figure)] for name, figure in figures]
    return _box(heading, _table(["key", "value"], rows, most=len(rows)))


def figure_text(figure: str | float | list[int]) -> str:
    """A value as a device's table shows it.

    >>> figure_text(1980.0), figure_text([0, 8192])
    ('1,980', '0 8,192')
    """
    if isinstance(figure, str):
        return figure
    return " ".join(f"{each:,.10g}" for each in (figure if isinstance(figure, list) else [figure]))


def policies_html(table: Iterable[PolicyEntry]) -> str:
    """The policies with their descriptions and sources."""
    rows = [[f"<b>{escape(each.name)}</b>", escape(each.summary), escape(each.source)] for each in table]
    return _box("<b>Policies</b>", _table(["name", "what it does", "from"], rows, texts=3))


def run_html(run: Run) -> str:
    """A run: its metrics, its applications, and a small timeline."""
    metrics = run.metrics()
    figures = ", ".join(f"{METRICS[name].short} <b>{_value(name, metrics[name])}</b>" for name in SHOWN)
    where = f"<b>{escape(run.workload.name)}</b> under <b>{escape(run.policy)}</b> on {escape(run.device_name)}"
    shades = colours(application.name for application in run.workload.applications)
    rows = [
        [_swatch(shades[row.application]) + escape(shortened(row.application)), duration(row.arrival_ns),
         duration(row.turnaround_ns), duration(row.alone_ns), number(row.ntt)]
        for row in run.applications().itertuples()
    ]  # fmt: skip
    table = _table(["application", "arrives", "turnaround", "alone", "slowdown"], rows)
    drawn = mini_timeline(run, shades) if run.has_trace else ""
    return _box(f"{where}: {figures}", drawn + table)


def result_html(result: Result) -> str:
    """A comparison: one row per policy, the best values marked, the failures, and the best policy's timeline."""
    heading = f"<b>{_counted(len(result.workloads), 'workload')}</b>, {_counted(len(result.policies), 'policy')}"
    heading += f" on {escape(device_names(result))}" if result.is_real else ""
    parts = [_failures(result)]
    if result.runs:
        means = result.metrics()
        shown = known_among(SHOWN, means)
        marks = best_marks(means, shown)
        rows = [
            [escape(labelled(policy)), *(_marked(_value(name, row[name]), marks.at[policy, name]) for name in shown)]
            for policy, row in means.iterrows()
        ]
        parts.append(_table(["policy", *(METRICS[name].short for name in shown)], rows))
    if len(result.workloads) == 1 and result.run(winner(result)).has_trace:
        run = result.run(winner(result))
        caption = f"{escape(run.workload.name)} under {escape(run.policy)}, which has the highest STP:"
        parts.append(f"<div style='margin-top:6px'>{caption}</div>{mini_timeline(run, application_colours(result))}")
    return _box(heading, "".join(parts))


def mini_timeline(run: Run, shades: dict[str, str]) -> str:
    """An SVG of the SMs' use over time: the mean share of all SMs, stacked by application."""
    names = [application.name for application in run.workload.applications]
    if not run.has_blocks:
        return _drawing(_launch_bars(run, shades), NOTE, names, shades)
    steps = residency(run)
    edges = np.linspace(0, run.record.makespan, COLUMNS + 1)
    shares = np.zeros((COLUMNS, len(names)))
    for sm in range(run.sms):
        times, blocks = steps.lane(sm)
        shares += binned(times, steps.occupied(blocks, len(names)), edges) / run.sms
    tops = np.cumsum(shares, axis=1) / max(1.0, float(shares.sum(axis=1).max()))
    bottoms = np.hstack([np.zeros((COLUMNS, 1)), tops[:, :-1]])
    areas = [
        f'<path fill="{shades[name]}" d="{_area(bottoms[:, number], tops[:, number])}">'
        f"<title>{escape(name)}</title></path>"
        for number, name in enumerate(names)
    ]
    label = f"share of the SMs per application over {duration(run.record.makespan)}"
    return _drawing(areas, label, names, shades)


def _launch_bars(run: Run, shades: dict[str, str]) -> list[str]:
    """A row per application with its launches."""
    spans = launch_spans(run)
    row, scale = HEIGHT / len(spans), WIDTH / run.record.makespan
    return [
        f'<rect fill="{shades[name]}" x="{start * scale:.1f}" y="{number * row + 0.1 * row:.1f}" '
        f'width="{(end - start) * scale:.2f}" height="{0.8 * row:.1f}"><title>{escape(name)}</title></rect>'
        for number, (name, bars) in enumerate(spans.items())
        for start, end in bars
    ]


def _drawing(shapes: list[str], label: str, names: list[str], shades: dict[str, str]) -> str:
    """The shapes with their legend."""
    legend = " ".join(f"{_swatch(shades[name])}{escape(shortened(name))}&ensp;" for name in names)
    return (
        f'<div><svg role="img" aria-label="{escape(label)}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'style="width:100%;max-width:{WIDTH}px;height:auto;border-bottom:1px solid #8a9099">{"".join(shapes)}</svg>'
        f"<div style='font-size:90%'>{legend} <span style='opacity:.7'>{escape(label)}</span></div></div>"
    )


def _area(bottom: np.ndarray, top: np.ndarray) -> str:
    """The path of a stepped area; equal neighbours share a step."""
    if not (top > bottom).any():
        return ""
    xs = np.linspace(0, WIDTH, COLUMNS + 1)
    forth = _stairs(xs, HEIGHT * (1 - top))
    back = _stairs(xs[::-1], HEIGHT * (1 - bottom[::-1]))
    return "M" + "L".join(forth + back) + "Z"


def _stairs(xs: np.ndarray, ys: np.ndarray) -> list[str]:
    points: list[str] = []
    for column, y in enumerate(ys):
        if column == 0 or abs(y - ys[column - 1]) > 0.05:
            points.append(f"{xs[column]:g} {y:.1f}")
        if column + 1 == len(ys) or abs(ys[column + 1] - y) > 0.05:
            points.append(f"{xs[column + 1]:g} {y:.1f}")
    return points


def _application_row(application: Application) -> list[str]:
    launches = [operation for operation in application.operations if isinstance(operation, Launch)]
    kernels = dict.fromkeys(launch.kernel.name for launch in launches)
    copies = len(application.operations) - len(launches)
    what = [_counted(len(launches), "launch") + f" of {', '.join(kernels)}"] if launches else []
    what += [_counted(copies, "copy")] if copies else []
    blocks = sum(launch.blocks for launch in launches)
    arrives = duration(application.arrival_ns)
    cells = [escape(application.name), arrives, f"{blocks:,}", str(application.priority)]
    return [*cells, escape("; ".join(what))]


def _counted(number: int, what: str) -> str:
    plural = {"launch": "launches", "copy": "copies", "policy": "policies"}.get(what, f"{what}s")
    return f"{number:,} {what if number == 1 else plural}"


def _failures(result: Result) -> str:
    rows = [f"<li><b>{escape(name)}</b> failed: {escape(error)}</li>" for name, error in result.errors.items()]
    return f"<ul style='margin:4px 0'>{''.join(rows)}</ul>" if rows else ""


def _value(metric: str, value: float) -> str:
    if metric.endswith("_ns"):
        return duration(value)
    if math.isnan(value):
        return UNKNOWN
    return f"{value:.0%}" if metric.endswith("utilisation") else number(value)


def _marked(text: str, best: bool) -> str:
    return f"<b>{text} ★</b>" if best else text


def _swatch(colour: str) -> str:
    return f'<span style="display:inline-block;width:.8em;height:.8em;background:{colour};margin-right:.4em"></span>'


def _table(header: list[str], rows: list[list[str]], *, texts: int = 1, most: int = MOST_ROWS) -> str:
    """A table of ready HTML cells; its first ``texts`` columns are texts, and rows beyond ``most`` are left out."""
    shown = rows if len(rows) <= most else rows[: most - 1]
    lines = [_row("th", header, texts), *(_row("td", row, texts) for row in shown)]
    if len(shown) < len(rows):
        lines.append(f"<tr><td colspan={len(header)}>and {len(rows) - len(shown)} more</td></tr>")
    return f"<table style='border-collapse:collapse'>{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[str], texts: int) -> str:
    sides = [*["left"] * texts, *["right"] * (len(cells) - texts)]
    return "<tr>" + "".join(
        f'<{tag} style="{CELL.format(side=side)}">{cell}</{tag}>' for side, cell in zip(sides, cells, strict=True)
    ) + "</tr>"  # fmt: skip


def _box(heading: str, body: str) -> str:
    return f"<div><div>{heading}</div>{body}</div>"
