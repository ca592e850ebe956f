# SPDX-License-Identifier: Apache-2.0
"""Plots of runs and results. Every method draws on ``ax``, or on a new figure, and returns the axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpushare.plots.applications import draw_applications
from gpushare.plots.palette import application_colours, colours
from gpushare.plots.policies import draw_policies
from gpushare.plots.staircase import draw_staircase
from gpushare.plots.states import draw_states
from gpushare.plots.timeline import draw_timeline
from gpushare.plots.tradeoff import draw_tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpushare.results.result import Result
    from gpushare.results.run import Run


@dataclass(frozen=True)
class RunPlots:
    """The plots of one run: ``run.plot``."""

    run: Run

    def timeline(self, ax: Axes | None = None) -> Axes:
        """The use of the SMs over time.

        One lane per application (arrival to end), per copy engine in use, and per SM; the filled part of an SM's lane
        is the part of its maximum residency in use. Time in µs or ms by magnitude.
        """
        return draw_timeline(self.run, colours(each.name for each in self.run.workload.applications), ax)

    def staircase(self, sm: int = 0, application: str | None = None, ax: Axes | None = None) -> Axes:
        """The blocks of one launch on one SM by end time (SRTF Figs. 2, 3, 5), a linear fit, and Eq. 1.

        Args:
            sm: number of the SM, from 0.
            application: its first launch there is drawn; by default that of the first application on this SM.
            ax: the axes to draw on. Time in µs or ms by magnitude.

        Raises:
            InvalidInput: there is no such SM or application, or it had no block there.
        """
        return draw_staircase(self.run, sm, application, ax)

    def states(self, ax: Axes | None = None) -> Axes:
        """The states of launches (:meth:`gpushare.Run.kernel_states`), one lane per application."""
        return draw_states(self.run, ax)


@dataclass(frozen=True)
class ResultPlots:
    """The plots of a comparison: ``result.plot``. Applications and policies keep their colours in all of them."""

    result: Result

    def timeline(self, policy: str | None = None, workload: str | None = None, ax: Axes | None = None) -> Axes:
        """As :meth:`RunPlots.timeline`, of one run: the first policy and workload unless named."""
        return draw_timeline(self.result.run(policy, workload), application_colours(self.result), ax)

    def staircase(
        self,
        policy: str | None = None,
        workload: str | None = None,
        sm: int = 0,
        application: str | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """As :meth:`RunPlots.staircase`, of one run: the first policy and workload unless named."""
        return draw_staircase(self.result.run(policy, workload), sm, application, ax)

    def tradeoff(self, x: str = "antt", y: str = "stp", ax: Axes | None = None) -> Axes:
        """One point per policy on two metrics (columns of :meth:`Result.metrics`); bars span the repeats."""
        return draw_tradeoff(self.result, x, y, ax)

    def policies(self, metric: str = "stp", ax: Axes | None = None) -> Axes:
        """One metric (a column of :meth:`Result.metrics`) for every policy and workload, and the means."""
        return draw_policies(self.result, metric, ax)

    def applications(self, metric: str = "ntt", ax: Axes | None = None) -> Axes:
        """``ntt`` (slowdown) or ``turnaround_ns`` per application and policy."""
        return draw_applications(self.result, metric, ax)
