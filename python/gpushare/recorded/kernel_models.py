# SPDX-License-Identifier: Apache-2.0
"""Kernel models from recorded durations alone, by the staircase model."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gpushare import _core
from gpushare._core import Device, InvalidInput
from gpushare.model.kernel_model import DEFAULT_ISSUE_UTILISATION, LONGEST_BLOCK_NS, KernelModel
from gpushare.recorded.recording import Recording
from gpushare.recorded.trace_format import KernelRecord

ALIKE = 1.25
"""Launches of one shape share a model if the longest takes at most this factor of the shortest."""
LONGEST_NAME = 60


@dataclass(frozen=True)
class Shape:
    """The properties of a launch that are known before it runs."""

    name: str
    blocks: int
    threads: int
    registers_per_thread: int
    shared_bytes: int

    @staticmethod
    def of(kernel: KernelRecord) -> Shape:
        """The shape of a launch."""
        return Shape(
            kernel.name,
            math.prod(kernel.grid),
            math.prod(kernel.block),
            kernel.registers_per_thread,
            kernel.shared_bytes,
        )


class KernelModels:
    """A model for every launch of a recording.

    Args:
        recording: the recording.
        device: the recorded GPU.

    Raises:
        InvalidInput: a launch is too long for a model.
    """

    def __init__(self, recording: Recording, device: Device) -> None:
        self._recording = recording
        self._device = device
        self._models: dict[int, KernelModel] = {}
        self.full_names: dict[str, str] = {}
        """The kernel's source name, by model."""
        by_shape: dict[Shape, list[KernelRecord]] = defaultdict(list)
        for kernel in _kernels(recording):
            by_shape[Shape.of(kernel)].append(kernel)
        for shape, launches in by_shape.items():
            for group in _alike(launches):
                self._add(shape, group)

    def of(self, kernel: KernelRecord) -> KernelModel:
        """The model of this launch."""
        return self._models[id(kernel)]

    def _add(self, shape: Shape, launches: list[KernelRecord]) -> None:
        mean_ns = sum(launch.end - launch.start for launch in launches) / len(launches)
        name = self._unused(short_name(shape.name))
        try:
            model = model_of(shape, mean_ns, self._device, name)
        except InvalidInput as error:
            if mean_ns <= LONGEST_BLOCK_NS:
                raise
            raise self._recording.too_long(launches[-1]) from error
        self.full_names[name] = shape.name
        for launch in launches:
            self._models[id(launch)] = model

    def _unused(self, name: str) -> str:
        number = 2
        chosen = name
        while chosen in self.full_names:
            chosen = f"{name} {number}"
            number += 1
        return chosen


def _kernels(recording: Recording) -> Iterator[KernelRecord]:
    for part in recording.parts:
        yield from (work for work in recording.work_of(part) if isinstance(work, KernelRecord))


def model_of(shape: Shape, duration_ns: float, device: Device, name: str) -> KernelModel:
    """A kernel model with which a launch of this shape takes ``duration_ns`` alone on the device.

    Its blocks run in full steps of as many as fit (SRTF, section 3.1), and a block takes longer the more blocks its SM
    has, as if the issue slots were busy DEFAULT_ISSUE_UTILISATION of the time at full residency.
    """
    needs = fitting(KernelModel(name, shape.threads, shape.registers_per_thread, shape.shared_bytes, 1), device)
    residency = needs.max_residency(device)
    unit_ns = 10**9
    latency, issue = _core.split_block_time(unit_ns, residency, DEFAULT_ISSUE_UTILISATION)
    scale = max(duration_ns, 1) / sum(
        count * block_time(latency, issue, residents) for count, residents in steps_of(shape.blocks, residency, device)
    )
    return KernelModel(
        name,
        threads=needs.threads,
        registers_per_thread=needs.registers_per_thread,
        shared_memory_bytes=needs.shared_memory_bytes,
        latency_ns=max(1, round(latency * scale)),
        issue_ns=round(issue * scale),
    )


def steps_of(blocks: int, residency: int, device: Device) -> list[tuple[int, int]]:
    """The number of steps of a grid, by number of blocks on an SM.

    The first step is spread over the SMs; in later ones the SMs with the earliest ends of blocks are filled first.
    """
    steps, rest = divmod(blocks, residency * device.sms)
    if steps == 0:
        return [(1, -(-blocks // device.sms))]
    return [(steps, residency), (1, min(rest, residency))] if rest else [(steps, residency)]


def fitting(needs: KernelModel, device: Device) -> KernelModel:
    """The resources, without those that the device description lacks although the device has run the kernel."""
    if needs.max_residency(device) > 0:
        return needs
    for shared_bytes, registers in ((0, needs.registers_per_thread), (needs.shared_memory_bytes, 0), (0, 0)):
        less = KernelModel(needs.name, needs.threads, registers, shared_bytes, 1)
        if less.max_residency(device) > 0:
            return less
    return KernelModel(needs.name, 1, 0, 0, 1)


def block_time(latency: float, issue: float, residents: int) -> float:
    """Duration of a block among ``residents`` equal blocks (src/core/simulation/contention.hpp).

    >>> block_time(10, 2, 1)
    10.0
    """
    stall = latency - issue
    whole = stall + issue * residents
    return (whole + math.sqrt(whole * whole - 4 * issue * (residents - 1) * stall)) / 2


def short_name(name: str) -> str:
    """The name without return type, namespaces, template arguments and parameters.

    >>> short_name("void at::native::vectorized_elementwise_kernel<4, at::Add<float> >(int, float*)")
    'vectorized_elementwise_kernel'
    >>> short_name("(anonymous namespace)::softmax(float*)")
    'softmax'
    """
    bare = name.replace("(anonymous namespace)", "")
    before = re.match(r"[^(<]*", bare)
    words = (before[0] if before else "").split()
    last = words[-1].rpartition("::")[2] if words else ""
    return (last or name)[:LONGEST_NAME]


def _alike(launches: list[KernelRecord]) -> Iterator[list[KernelRecord]]:
    """Groups of similar duration, so that a kernel with data-dependent work is not modelled by the mean."""
    group: list[KernelRecord] = []
    for launch in sorted(launches, key=lambda launch: (launch.end - launch.start, launch.start)):
        if group and launch.end - launch.start > ALIKE * max(1, group[0].end - group[0].start):
            yield group
            group = []
        group.append(launch)
    yield group
