# SPDX-License-Identifier: Apache-2.0
"""Workloads of a validation, on the GPU and simulated: kernels, policies, parts of the GPU, launches per run."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpushare.checks import number, require, whole
from gpushare.fixed_parts import FixedParts, Part
from gpushare.model.workload import Application, Launch, Workload
from gpushare.policy import Policy
from gpushare.suite.arguments import suite_kernel

KERNELS = (
    "matrix_product", "nbody", "mandelbrot", "tpacf", "md5", "ray_trace", "dxtc", "coulombic_potential",
    "triad", "black_scholes", "stencil_2d", "transpose", "histogram", "spmv_csr", "radix_sort", "aes_encrypt",
)  # fmt: skip
"""Half of them bound by arithmetic, half by memory, with 1.6e3 to 4e5 blocks of 1 us to 1 ms."""
POLICIES = ("fifo", "mpmax", "even", "srtf")
SPLITS = (22, 44, 66, 88, 110)
"""SMs of the first application."""
SM_COUNTS = (1, 2, 4, 8, 16, 24, 33, 44, 55, 66, 77, 88, 99, 110, 121)
"""All SMs are added to these."""
SPLIT = "split:"
SPLIT_SMS = re.compile("[0-9]{1,6}")


@dataclass(frozen=True)
class Settings:
    """The settings of one validation.

    Attributes:
        kernels: kernels of the suite, which run in all pairs.
        policies: names of built-in policies.
        splits: SMs of the first kernel of a pair; the second gets the rest.
        size: size of the kernels' data.
        repeats: repeats on the GPU; medians count.
        length_ns: each kernel of a pair is launched repeatedly until it would take this long alone.
        longest_ns: parts of the GPU on which a kernel alone would take longer are left out.
    """

    kernels: tuple[str, ...] = KERNELS
    policies: tuple[str, ...] = POLICIES
    splits: tuple[int, ...] = SPLITS
    size: str = "large"
    repeats: int = 3
    length_ns: int = 5_000_000
    longest_ns: int = 400_000_000

    def __post_init__(self) -> None:
        for name in self.kernels:
            suite_kernel(name)
            require(self.kernels.count(name) == 1, f"kernel {name!r} is named twice")
        require(len(self.kernels) > 0, "name at least one kernel")
        for split in self.splits:
            whole("a split's SMs", split, 1, 100_000)
        whole("repeats", self.repeats, 1, 1000)
        number("length_ns", self.length_ns, 1, 1e12)

    def ways(self, sms: int) -> list[str]:
        """The ways of sharing on a GPU with ``sms`` SMs: policies, and ``split:44`` for 44 SMs and the rest."""
        return [*self.policies, *(f"{SPLIT}{each}" for each in self.splits if each < sms)]

    def launches(self, alone_ns: float) -> int:
        """Number of launches of a kernel with this time alone."""
        return max(1, math.ceil(self.length_ns / alone_ns))


def sm_counts(sms: int) -> list[int]:
    """The parts of a GPU, in SMs, on which a kernel runs alone.

    >>> sm_counts(20)
    [1, 2, 4, 8, 16, 20]
    """
    return [*(count for count in SM_COUNTS if count < sms), sms]


def alone(name: str, size: str, launches: int = 1) -> Workload:
    """A workload of one kernel with this number of launches."""
    return Workload(f"{launches} x {name}", (_application(name, size, launches),))


def pair(names: Sequence[str], launches: Sequence[int], size: str) -> Workload:
    """A workload of both kernels, which arrive together."""
    applications = [_application(name, size, count) for name, count in zip(names, launches, strict=True)]
    return Workload("+".join(names), tuple(applications))


def _application(name: str, size: str, launches: int) -> Application:
    return Application(name, launches * (Launch.of_suite(name, size),))


def in_part(name: str, sms: int, residency: int | None = None) -> Policy:
    """A policy that restricts an application to the first ``sms`` SMs."""
    return FixedParts(f"{sms} SMs", {name: Part(0, sms, residency)})


def sms_of_first(way: str, sms: int, subject: str = "a way of sharing") -> int:
    """Number of SMs of the first kernel in a split.

    Raises:
        InvalidInput: it is not a number, or leaves one of the two without SMs; the message begins with ``subject``.

    >>> sms_of_first("split:44", sms=132)
    44
    """
    first = way.removeprefix(SPLIT)
    possible = SPLIT_SMS.fullmatch(first) is not None and 0 < int(first) < sms
    require(possible, f"{subject} must be 'split:N' with N in 1..{sms - 1} for a GPU of {sms} SMs, got {way!r}")
    return int(first)


def policy_of(way: str, names: Sequence[str], sms: int) -> str | Policy:
    """The policy of a way of sharing, for this pair on this GPU."""
    if not way.startswith(SPLIT):
        return way
    first = sms_of_first(way, sms)
    return FixedParts(way, {names[0]: Part(0, first), names[1]: Part(first, sms - first)})
