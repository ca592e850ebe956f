# SPDX-License-Identifier: Apache-2.0
"""Builds modules of kernels and their workers.

Of the possible workers of a kernel, the first one that costs neither residency nor spills is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.kernels.compile_error import CompileError
from gpushare.kernels.compiled_kernel import ANY_BLOCKS
from gpushare.kernels.resource_usage import ResourceUsage

REGISTERS_PER_SM = 65_536
THREADS_PER_SM = {75: 1024, 86: 1536, 87: 1536, 88: 1536, 89: 1536, 120: 1536, 121: 1536}
MOST_THREADS_PER_SM = 2048
WORTH_SPILLS = 1.25
"""A worker's registers relative to the original's, from which on a limit may make it spill: a fifth of its residency is
at stake."""
MOST_SPILLED_BYTES = 256
"""Bytes that a thread may store and load in a task; they stay in the L1 cache. More may cost more than the residency
gains."""
ERROR = re.compile(r"\berror\b", re.IGNORECASE)


@dataclass(frozen=True)
class Assembled:
    """PTX and its machine code.

    Attributes:
        usages: resource usage of the requested kernels, by symbol.
    """

    ptx: str
    cubin: bytes
    usages: Mapping[str, ResourceUsage]


@dataclass(frozen=True)
class Worker:
    """The chosen worker, or the reason why there is none.

    Attributes:
        blocks: block shapes for which it is correct; launches with others run as original kernels.
        needs_all_blocks: whether the kernel ends only if all blocks of the grid fit the GPU at once.
    """

    refusal: str | None = None
    symbol: str | None = None
    usage: ResourceUsage | None = None
    register_limit: int | None = None
    blocks: _core.BlockShapes = ANY_BLOCKS
    needs_all_blocks: bool = False


@dataclass(frozen=True)
class BuiltModule:
    """Original kernels and their workers.

    Attributes:
        assembled: the machine code of all of them.
        workers: workers by the kernels' symbols.
    """

    assembled: Assembled
    workers: Mapping[str, Worker]


Assemble = Callable[[str, Sequence[str]], Assembled]
"""Arguments: PTX, and the symbols to report the usage of."""


def build_module(
    ptx: str,
    entries: Sequence[str],
    arch: str,
    assemble: Assemble,
    reach: _core.Reach = _core.Reach.ONE_DEVICE,
) -> BuiltModule:
    """Builds these kernels, each with the worker that costs the least residency and spills.

    Raises:
        CompileError: they cannot be assembled, even without workers.
    """
    try:
        transformed = _core.make_preemptible(ptx, list(entries), reach)
    except InvalidInput as error:
        refused = Worker(f"its PTX is not understood: {error}")
        return _without_workers(ptx, dict.fromkeys(entries, refused), assemble)
    wanted = {
        each.name: Worker(symbol=each.worker, blocks=each.blocks)
        for each in transformed.kernels
        if each.worker and each.blocks is not None
    }
    others = {each.name: _refused(each.refusal) for each in transformed.kernels if each.refusal is not None}
    text = transformed.ptx
    while wanted:
        try:
            return _with_workers(text, wanted, others, arch, assemble)
        except CompileError as error:
            said = error.log.strip() or str(error)
        # The assembler's message names the kernels that fail; without a name all are taken as failed.
        blamed = "".join(line for line in said.splitlines() if ERROR.search(line))
        failed = {name for name, each in wanted.items() if f"'{each.symbol}'" in blamed} or set(wanted)
        text = _without_entries(text, [str(wanted[name].symbol) for name in failed])
        others |= {name: Worker(_why_not_assembled(said)) for name in failed}
        wanted = {name: each for name, each in wanted.items() if name not in failed}
    return _without_workers(ptx, others, assemble)


def _without_workers(ptx: str, workers: Mapping[str, Worker], assemble: Assemble) -> BuiltModule:
    return BuiltModule(assemble(ptx, list(workers)), workers)


def _with_workers(
    text: str, wanted: Mapping[str, Worker], others: Mapping[str, Worker], arch: str, assemble: Assemble
) -> BuiltModule:
    """Builds all workers without a limit, then those that do not fit with limits, and keeps the limits that pay off."""
    symbols_of = {name: str(each.symbol) for name, each in wanted.items()}
    symbols = [*others, *wanted, *symbols_of.values()]
    free = assemble(text, symbols)
    originals = {name: free.usages[name] for name in wanted}
    limits: dict[str, int] = {}
    best = {name: free.usages[symbol] for name, symbol in symbols_of.items()}
    made = free
    budgets = {name: register_budget(usage, arch) for name, usage in originals.items()}
    for limits_of in (register_budget, tolerable_limit):
        tried_limits = {}
        for name in (each for each, usage in best.items() if not _fits(usage, originals[each], budgets[each])):
            limit = limits_of(originals[name], arch)
            if limit <= max(best[name].allocated_registers - 1, budgets[name]):
                tried_limits[name] = limit
        limited = _all_limited(text, symbols_of, limits | tried_limits)
        if not tried_limits or limited is None:
            continue
        tried = assemble(limited, symbols)
        for name, limit in tried_limits.items():
            if _pays(tried.usages[symbols_of[name]], best[name], originals[name]):
                limits[name], best[name] = limit, tried.usages[symbols_of[name]]
        if limits == limits | tried_limits:
            made = tried
    wanted_text = _all_limited(text, symbols_of, limits) or text if limits else text
    if made.ptx != wanted_text:
        made = assemble(wanted_text, symbols)
    taken = {
        name: replace(each, usage=made.usages[symbols_of[name]], register_limit=limits.get(name))
        for name, each in wanted.items()
    }
    return BuiltModule(made, taken | dict(others))


def _all_limited(text: str, workers: Mapping[str, str], limits: Mapping[str, int]) -> str | None:
    """The PTX with limits; None where nothing can be limited."""
    found = False
    for name, limit in limits.items():
        limited = _limited(text, workers[name], limit)
        found |= limited is not None
        text = limited or text
    return text if found else None


def _without_entries(text: str, symbols: Sequence[str]) -> str:
    """The PTX without these entries; gpushare writes the closing brace of an entry at the beginning of a line."""
    for symbol in symbols:
        entry = rf"^[^\n]*\.entry\s+{re.escape(symbol)}(?![\w$]).*?^\}}"
        text = re.sub(entry, "", text, count=1, flags=re.MULTILINE | re.DOTALL)
    return text


def register_budget(original: ResourceUsage, arch: str) -> int:
    """Registers available to a worker: the original's number, or a thread's part of a full SM.

    >>> register_budget(ResourceUsage(12, 0, 0, 0, 0, 0), "sm_90")
    32
    >>> register_budget(ResourceUsage(50, 0, 0, 0, 0, 0), "sm_90")
    56
    """
    threads = THREADS_PER_SM.get(int(re.sub(r"\D", "", arch)), MOST_THREADS_PER_SM)
    return max(original.allocated_registers, REGISTERS_PER_SM // threads // 8 * 8)


def tolerable_limit(original: ResourceUsage, arch: str) -> int:
    """Registers with which a worker has about four fifths of the original's residency.

    >>> tolerable_limit(ResourceUsage(12, 0, 0, 0, 0, 0), "sm_90")
    40
    """
    return register_budget(original, arch) * 5 // 4 // 8 * 8


def _why_not_assembled(log: str) -> str:
    """The reason: a worker needs some resources that its kernel may have used up."""
    if "uses too much shared data" in log:
        return "its shared memory leaves no room for that of a worker"
    if "uses too much parameter space" in log:
        return "its parameters leave no room for that of a worker"
    return f"its worker cannot be assembled, which is a bug in gpushare: {log.splitlines()[0]}"


def _refused(refusal: _core.Refusal) -> Worker:
    where = f" (line {refusal.line} of the PTX)" if refusal.line else ""
    return Worker(refusal.reason + where, needs_all_blocks=refusal.needs_all_blocks)


def _fits(usage: ResourceUsage, original: ResourceUsage, budget: int) -> bool:
    # Launch bounds make the assembler spill where gpushare has set no limit.
    spilled = (usage.spill_stores, usage.spill_loads, usage.local_bytes)
    allowed = (original.spill_stores, original.spill_loads, original.local_bytes)
    return usage.allocated_registers <= budget and all(map(int.__le__, spilled, allowed))


def _pays(limited: ResourceUsage, free: ResourceUsage, original: ResourceUsage) -> bool:
    """Whether the residency that the limit keeps is worth its spills.

    Spills that the original has too do not count. The others are counted as bytes that a thread stores and loads.
    """

    def added(usage: ResourceUsage) -> int:
        return max(usage.spill_stores + usage.spill_loads - original.spill_stores - original.spill_loads, 0)

    saved = free.allocated_registers > limited.allocated_registers
    more_spills = added(limited) - added(free)
    if more_spills <= 0:
        return saved or more_spills < 0
    ratio = free.allocated_registers / limited.allocated_registers
    return saved and ratio > WORTH_SPILLS and more_spills <= MOST_SPILLED_BYTES


def _limited(ptx: str, symbol: str, limit: int) -> str | None:
    """The PTX with a limit in this entry: assemblers ignore -maxrregcount where the entry has launch bounds."""
    found = re.search(rf"\.entry\s+{re.escape(symbol)}(?![\w$])[^{{]*", ptx)
    if found is None or ".maxnreg" in found[0]:
        return None
    return f"{ptx[: found.end()]}.maxnreg {limit}\n{ptx[found.end() :]}"
