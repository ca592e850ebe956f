# SPDX-License-Identifier: Apache-2.0
"""CuMAS's twelve applications on other devices: copies of Table 1, scaled, and corresponding kernels of the suite."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from gpushare._core import Device
from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import Copy, Launch, Operation
from gpushare.model.workload import Application, Workload, bundled_workload
from gpushare.reproduce.cumas.runs import NS_PER_BYTE, SETS, latency_of
from gpushare.results.run import Run

KERNELS = {
    "b+tree": "b_plus_tree",
    "backprop": "backprop_forward",
    "BlackScholes": "black_scholes",
    "gaussian": "gaussian_fan2",
    "hotspot": "hotspot",
    "lavaMD": "lava_md",
    "lud": "lud",
    "nw": "needleman_wunsch",
    "particlefilter": "particle_filter",
    "pathfinder": "pathfinder",
    "srad_v2": "srad_1",
    "vectorAdd": "vector_add",
}
"""Kernels of the suite by application of Table 1."""

SCALE = 1 / 8
"""Scale of the copies: 2 GB suffice to show the effect of an order, and can be pinned within a second or two."""


Lengths = Mapping[Launch, int]
"""Times of launches alone, through the scheduler, in nanoseconds."""


def scaled_applications(lengths: Lengths, ns_per_byte: float) -> Workload:
    """Table 1 with scaled copies, and numbers of launches that keep the ratio of kernels to copies.

    Args:
        lengths: times of those launches on the device.
        ns_per_byte: inverse bandwidth of its copies; the K40c has 0.2.
    """
    faster = ns_per_byte / NS_PER_BYTE * SCALE
    applications = [_scaled(each, lengths, faster) for each in bundled_workload("cumas").applications]
    return Workload("cumas", tuple(applications))


def launches_of(application: str) -> tuple[Launch, Launch]:
    """The application's kernel with much data and with little."""
    return Launch.of_suite(KERNELS[application], "large"), Launch.of_suite(KERNELS[application], "small")


def every_launch() -> Workload:
    """All candidate launches, twice each: the first of two warms up."""
    launches = [launch for name in KERNELS for launch in launches_of(name) for _ in range(2)]
    return Workload("lengths", (Application("all", tuple(launches)),))


def lengths_in(made: Run) -> Lengths:
    """Times from a run of :func:`every_launch`."""
    launches = made.workload.applications[0].operations[1::2]
    times = zip(launches, made.record.operation_durations[1::2], strict=True)
    return {launch: time for launch, time in times if isinstance(launch, Launch)}


def modelled(workload: Workload, lengths: Lengths, device: Device) -> Workload:
    """The workload with launches as orderings see them: one block per SM, which fills it for the launch's time."""

    def model(operation: Operation) -> Operation:
        if isinstance(operation, Copy):
            return operation
        kernel = KernelModel(
            f"{operation.kernel.name} {operation.blocks}", threads=device.per_sm.threads // 2 + 1,
            latency_ns=lengths[operation],
        )  # fmt: skip
        return Launch(kernel, device.sms)

    applications = [replace(each, operations=tuple(map(model, each.operations))) for each in workload.applications]
    return replace(workload, applications=tuple(applications))


def _scaled(application: Application, lengths: Lengths, faster: float) -> Application:
    kernels = [each for each in application.operations if isinstance(each, Launch)]
    kernels_ns = sum(latency_of(each) for each in kernels) * faster
    large, small = launches_of(application.name)
    launch = large if kernels_ns >= lengths[large] else small
    wanted = max(1, round(kernels_ns / lengths[launch]))
    operations: list[Operation] = []
    seen = issued = 0
    for operation in application.operations:
        if isinstance(operation, Copy):
            operations.append(replace(operation, bytes=max(1, round(operation.bytes * SCALE))))
            continue
        seen += 1
        due = max(1, round(wanted * seen / len(kernels)))
        operations += (due - issued) * [launch]
        issued = due
    return Application(application.name, tuple(operations))


def permutations_of(workload: Workload, per_set: int) -> list[Workload]:
    """The applications in random orders, named A1, A2, ... B1, ... as on the K40c."""
    shuffler = random.Random(2016)
    return [
        replace(
            workload,
            name=f"{name}{number}",
            applications=tuple(shuffler.sample(workload.applications, len(workload.applications))),
        )
        for name in SETS
        for number in range(1, per_set + 1)
    ]
