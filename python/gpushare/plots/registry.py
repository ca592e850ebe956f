# SPDX-License-Identifier: Apache-2.0
"""The plots that runs and results offer as methods: ``run.plot.timeline()``, ``result.plot.tradeoff()``.

A plot is one module of this folder. It has a function whose name begins with ``draw_``, under one of the two decorators
below, and with that both faces offer it under the rest of its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, TypeVar

from gpushare.plots.palette import application_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpushare.results.result import Result
    from gpushare.results.run import Run

Draw = TypeVar("Draw", bound="Callable[..., Axes]")


@dataclass(frozen=True)
class RunPlots:
    """The plots of one run. Every method draws on ``ax``, or on a new figure, and returns the axes."""

    run: Run

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Axes]: ...


@dataclass(frozen=True)
class ResultPlots:
    """The plots of a comparison. Applications and policies keep their colours in all of them.

    Every method draws on ``ax``, or on a new figure, and returns the axes. Those of a run also take its policy and
    workload: the first ones unless named.
    """

    result: Result

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Axes]: ...


def plot_of_run(draw: Draw) -> Draw:
    """Offers ``draw_NAME(run, ...)`` as ``run.plot.NAME(...)`` and ``result.plot.NAME(policy, workload, ...)``.

    Where the function takes ``colours`` by the name of an application, a result gives it those of all its runs.
    """
    parameters = _parameters(draw)
    takes_colours = "colours" in {each.name for each in parameters}

    def of_run(self: RunPlots, *values: Any, **options: Any) -> Axes:
        return draw(self.run, *values, **options)

    def of_result(
        self: ResultPlots, policy: str | None = None, workload: str | None = None, *values: Any, **options: Any
    ) -> Axes:
        if takes_colours:
            options.setdefault("colours", application_colours(self.result))
        return draw(self.result.run(policy, workload), *values, **options)

    which_run = list(inspect.signature(of_result).parameters.values())[1:3]
    _offer(RunPlots, draw, of_run, parameters)
    _offer(ResultPlots, draw, of_result, [*which_run, *parameters])
    return draw


def plot_of_result(draw: Draw) -> Draw:
    """Offers ``draw_NAME(result, ...)`` as ``result.plot.NAME(...)``."""

    def of_result(self: ResultPlots, *values: Any, **options: Any) -> Axes:
        return draw(self.result, *values, **options)

    _offer(ResultPlots, draw, of_result, _parameters(draw))
    return draw


def run_plots(run: Run) -> RunPlots:
    """All plots of the run."""
    _find_plots()
    return RunPlots(run)


def result_plots(result: Result) -> ResultPlots:
    """All plots of the result."""
    _find_plots()
    return ResultPlots(result)


def names(plots: RunPlots | ResultPlots) -> list[str]:
    """The names of the plots, sorted."""
    return sorted(name for name, method in vars(type(plots)).items() if hasattr(method, "draws"))


@cache
def _find_plots() -> None:
    """Imports the modules of this folder, each of which offers its plots."""
    package = import_module(__package__)
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)


def _parameters(draw: Callable[..., Axes]) -> list[inspect.Parameter]:
    """What the function takes besides the run or the result."""
    return list(inspect.signature(draw).parameters.values())[1:]


def _offer(
    face: type, draw: Callable[..., Axes], method: Callable[..., Axes], parameters: list[inspect.Parameter]
) -> None:
    name = draw.__name__.removeprefix("draw_")
    offered: Any = wraps(draw)(method)
    offered.draws = draw
    offered.__name__ = name
    offered.__qualname__ = f"{face.__name__}.{name}"
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    offered.__signature__ = inspect.Signature([first, *parameters], return_annotation="Axes")
    setattr(face, name, offered)
