# SPDX-License-Identifier: Apache-2.0
"""The report: one self-contained HTML file."""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gpushare.extras import extra
from gpushare.files.atomic_write import write_atomically
from gpushare.plots.axes import detached_axes, figure_of
from gpushare.plots.launches import NOTE
from gpushare.plots.palette import FAINT, INK, application_colours, policy_styles
from gpushare.plots.policies import draw_policies, policies_size
from gpushare.plots.tradeoff import draw_tradeoff
from gpushare.reports.policy_text import described
from gpushare.reports.report_text import headline
from gpushare.reports.report_traces import chosen_workloads, traces
from gpushare.results.ranking import best_marks, is_oracle, labelled, winner
from gpushare.results.result import known_among
from gpushare.results.words import METRICS, UNKNOWN, duration
from gpushare.version import __version__

with extra("analysis"):
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpushare.results.result import Result
    from gpushare.results.run import Run

TEMPLATES = Path(__file__).parents[1] / "templates"
TABLE = ["stp", "antt", "strictf", "makespan_ns", "turnaround_p95_ns", "sm_utilisation"]
MARKUP = re.compile(r"<style\b.*?</style>|<[^>]*>", re.DOTALL)
"""Parts of an SVG that are not text: text between two tags may contain ``black`` or ``url(#x)``."""
SORTED = ["stp", "antt", "strictf", "makespan_ns"]


def write_report(
    result: Result, path: str | Path, command: str | None = None, files: Mapping[str, Path] | None = None
) -> Path:
    """Writes the report and returns its path. Equal results give equal bytes; the page loads no other resources.

    Args:
        result: the comparison.
        path: path of the HTML file.
        command: the command that makes the report, for its reader.
        files: files of the same result that the report links to, by what they are.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    links = {name: _link(Path(path), file) for name, file in (files or {}).items()}
    contents = _contents(result) | {"command": command, "files": links}
    return write_atomically(Path(path), environment.get_template("report.html").render(contents))


def _link(page: Path, file: Path) -> dict[str, str]:
    """The name of a file, and its address seen from the page, which stays valid if both are moved together."""
    address = os.path.relpath(file.absolute(), page.absolute().parent)
    return {"name": file.name, "address": quote(os.fsencode(address))}  # a name need not be UTF-8


def _contents(result: Result) -> dict[str, Any]:
    shown = chosen_workloads(result) if result.runs else []
    rows = _policy_rows(result) if result.runs else []
    return {
        "headline": headline(result),
        "errors": result.errors,
        "policies": rows,
        "has_spread": any(cell["spread"] for row in rows for cell in row["cells"]),
        "columns": [METRICS[name] for name in (known_among(TABLE, result.metrics()) if result.runs else TABLE)],
        "workloads": result.workloads,
        "embedded": shown,
        "plots": _plots(result) if result.runs else [],
        "cells": _workload_rows(result) if result.runs else [],
        "metrics": {name: METRICS[name] for name in SORTED},
        "policy_names": result.policies,
        "oracles": [name for name in result.policies if is_oracle(name)],
        "measured": result.is_real,
        "conditions": _conditions(result),
        "colours": policy_styles(result),
        "data": _embedded_json(result, shown),
        "style": _source("report.css"),
        "by_launch": NOTE,
        "script": (_source("timeline.js") if shown else "") + _source("table.js"),
    }


def _source(name: str) -> Any:
    """A file of the package, which needs no escaping."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def _embedded_json(result: Result, shown: list[str]) -> Any:
    """Data for the script. It contains no ``<``, so no name can end the script element."""
    data = {
        "colours": application_colours(result),
        "traces": traces(result, shown) if shown else [],
        "first": {"workload": shown[len(shown) // 2], "policy": winner(result)} if shown else {},
    }
    return Markup(json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c"))


def _formatted(metric: str, value: float) -> str:
    if metric.endswith("_ns"):
        return duration(value)
    if math.isnan(value):
        return UNKNOWN
    return f"{value:.1%}" if metric.endswith("utilisation") else f"{value:.3f}"


def _policy_rows(result: Result) -> list[dict[str, Any]]:
    means = result.metrics()
    shown = known_among(TABLE, means)
    marks = best_marks(means, shown)
    return [
        {
            "name": policy,
            "label": labelled(policy),
            "summary": described(policy),
            "cells": [
                {
                    "value": repr(float(row[name])),
                    "text": _formatted(name, row[name]),
                    "spread": _spread(name, row),
                    "best": marks.at[policy, name],
                }
                for name in shown
            ],
        }
        for policy, row in means.iterrows()
    ]


def _spread(metric: str, row: Any) -> str:
    """Half of the largest minus the smallest value over the repeats, if they differ."""
    spread = row.get(f"{metric}_spread", 0.0)
    return f"±{spread / 2:.3f}" if spread > 0 else ""


def _workload_rows(result: Result) -> list[dict[str, Any]]:
    """Every metric as number and text, per workload and policy."""
    table = result.per_workload()
    rows = []
    for workload in result.workloads:
        part = table.loc[workload].reindex(result.policies)
        figures, marks = part[SORTED].to_numpy(float).tolist(), best_marks(part, SORTED).to_numpy().tolist()
        cells = [
            {
                name: {"value": repr(value), "text": _formatted(name, value), "best": best}
                for name, value, best in zip(SORTED, values, are_best, strict=True)
            }
            for values, are_best in zip(figures, marks, strict=True)
        ]
        rows.append({"name": workload, "cells": cells})
    return rows


def _conditions(result: Result) -> dict[str, str]:
    """What a reader needs to know to run this again."""
    devices = dict.fromkeys(_device_words(run) for run in result.runs)
    return {
        "Device": ", ".join(devices) or "none",
        "Workloads": str(len(result.workloads)),
        "Policies": ", ".join(result.policies) or "none finished",
        **(_measured_conditions(result) if result.is_real else _simulated_conditions(result)),
        "Means": "geometric over workloads for STP, ANTT and StrictF, arithmetic for the rest; median over the "
        f"{result.numbered_by}s",
        "gpushare": __version__,
    }


def _device_words(run: Run) -> str:
    return f"{run.device_name} ({run.sms} SMs{'' if run.is_real else ', simulated'})"


def _simulated_conditions(result: Result) -> dict[str, str]:
    seeds = sorted({run.seed for run in result.runs})
    return {
        "Seeds": ", ".join(str(seed) for seed in seeds) or "none",
        "Runtime alone": "each application alone on the same device with the same seed, arriving at time 0",
    }


def _measured_conditions(result: Result) -> dict[str, str]:
    known = [run.measured for run in result.runs if run.measured is not None]
    dates = sorted(each.date for each in known)
    registers = {name: counts for each in known for name, counts in each.registers.items()}
    return {
        "Driver": ", ".join(dict.fromkeys(each.driver for each in known)),
        "Date": dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}",
        "Repeats": str(len({run.seed for run in result.runs})),
        "Registers per thread": "; ".join(_register_words(name, *counts) for name, counts in registers.items()),
        "Runtime alone": "each application alone on the same device, original kernels, median of several runs",
    }


def _register_words(kernel: str, original: int, worker: int | None) -> str:
    return f"{kernel} {original}" + (", not preemptible" if worker is None else f", as a worker {worker}")


def _plots(result: Result) -> list[dict[str, Any]]:
    drawings: list[tuple[str, tuple[float, float], Callable[[Axes], Axes]]] = [
        ("Throughput against turnaround", (7.5, 5.0), lambda ax: draw_tradeoff(result, ax=ax)),
        ("Throughput per workload", policies_size(result), lambda ax: draw_policies(result, "stp", ax)),
        ("Turnaround per workload", policies_size(result), lambda ax: draw_policies(result, "antt", ax)),
        ("Fairness per workload", policies_size(result), lambda ax: draw_policies(result, "strictf", ax)),
    ]
    return [
        {"caption": caption, "svg": inline_svg(draw(detached_axes(*size)), f"plot{number}-"), "wide": size[0] > 9}
        for number, (caption, size, draw) in enumerate(drawings)
    ]


def inline_svg(ax: Axes, prefix: str) -> Any:
    """A figure as SVG for a page: text has the page's colour, ids are unique, and equal figures give equal bytes."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "gpushare", "svg.fonttype": "none"}):
        figure = figure_of(ax)
        figure.patch.set_alpha(0)
        ax.patch.set_alpha(0)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = MARKUP.sub(lambda tag: _for_page(tag[0], prefix), svg)
    return Markup(re.sub(r'<svg ([^>]*?)width="[^"]*"', r'<svg \1role="img" class="plot"', svg, count=1))


def _for_page(tag: str, prefix: str) -> str:
    tag = re.sub(r'\bid="', f'id="{prefix}', tag)
    tag = re.sub(r'(href="#|url\(#)', rf"\1{prefix}", tag)
    tag = re.sub(f"{INK}|#000000|black", "currentColor", tag)
    return tag.replace(FAINT, "var(--faint)").replace("'DejaVu Sans', ", "")
