# SPDX-License-Identifier: Apache-2.0
"""Policies with a fixed allocation of the SMs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpushare import _core
from gpushare._core import State
from gpushare.policy import Plan, Policy

Groups = tuple[tuple[int, tuple[int, ...]], ...]
"""Number of SMs, and blocks of each kernel on each of them."""


class FixedDivision(Policy):
    """Fixed quotas for the running applications.

    Args:
        names: the applications, in the order of the groups' blocks.
        groups: groups of SMs that cover the GPU.
    """

    def __init__(self, names: Sequence[str], groups: Groups) -> None:
        self._names = list(names)
        self.groups = groups

    @property
    def name(self) -> str:
        """Name in tables: ``3+5`` on all SMs, or ``44 x 8+0, 88 x 0+6``."""
        if len(self.groups) == 1:
            return _blocks(self.groups[0][1])
        return ", ".join(f"{sms} x {_blocks(blocks)}" for sms, blocks in self.groups)

    def decide(self, state: State) -> Plan:
        """A kernel at maximum residency on shared SMs would reserve their room, so it gets the lowest rank."""
        shares = []
        for launch in state.running:
            place = self._names.index(launch.application)
            quota = [blocks[place] for sms, blocks in self.groups for _ in range(sms)]
            shares.append((max(quota) == launch.max_residency, launch, quota))
        shares.sort(key=lambda share: share[0])
        return Plan({launch: quota[0] if len(self.groups) == 1 else quota for _, launch, quota in shares})


def _blocks(blocks: Sequence[int]) -> str:
    return "+".join(map(str, blocks))


def vectors(device: _core.Device, kernels: Sequence[_core.KernelModel], every: bool) -> Iterator[Groups]:
    """Blocks per SM of two kernels: maximal pairs, or every pair that fits."""
    most = [_core.max_residency(device, kernel) for kernel in kernels]
    fitting = {
        (first, second)
        for first in range(1, most[0] + 1)
        for second in range(1, most[1] + 1)
        if _core.can_share_an_sm(device, list(kernels), [first, second])
    }
    full = {(a, b) for a, b in fitting if (a + 1, b) not in fitting and (a, b + 1) not in fitting}
    for blocks in sorted(fitting if every else full):
        yield ((device.sms, blocks),)


def splits(device: _core.Device, kernels: Sequence[_core.KernelModel], parts: int) -> Iterator[Groups]:
    """Disjoint SMs: each n-th part of the GPU."""
    most = [_core.max_residency(device, kernel) for kernel in kernels]
    for part in range(1, parts):
        sms = device.sms * part // parts
        yield ((sms, (most[0], 0)), (device.sms - sms, (0, most[1])))
