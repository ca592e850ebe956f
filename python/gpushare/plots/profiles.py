# SPDX-License-Identifier: Apache-2.0
"""The plots of profiles. Every method draws on ``ax``, or on a new figure, and returns the axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpushare.plots.blocks_per_sm import draw_residency
from gpushare.plots.scaling import draw_scaling

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpushare.profile.record import KernelProfile


@dataclass(frozen=True)
class ProfilePlots:
    """The plots of one or more profiles.

    Args:
        profiles: the profiles, in the legend's order.
    """

    profiles: Sequence[KernelProfile]

    def scaling(self, relative_to: str = "all", ax: Axes | None = None) -> Axes:
        """Speed against SMs, relative to that on ``"all"`` SMs or on ``"one"``, with the proportional speed dashed."""
        return draw_scaling(self.profiles, relative_to, ax)

    def residency(self, of: str = "grid", ax: Axes | None = None) -> Axes:
        """Time of the ``"grid"``, or of a ``"block"``, against blocks per SM, relative to one block per SM."""
        return draw_residency(self.profiles, of, ax)
