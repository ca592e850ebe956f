# SPDX-License-Identifier: Apache-2.0
"""A module of kernels and their workers.

Of the possible workers of a kernel the first is taken that costs it neither residency nor spills.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.compile_error import CompileError
from gpushare.resource_usage import ResourceUsage

REGISTERS_PER_SM = 65_536
THREADS_PER_SM = {75: 1024, 86: 1536, 87: 1536, 88: 1536, 89: 1536, 120: 1536, 121: 1536}
MOST_THREADS_PER_SM = 2048
ERROR = re.compile(r"\berror\b", re.IGNORECASE)


@dataclass(frozen=True)
class Assembled:
    """PTX and what became of it.

    Attributes:
        usages: of the kernels that were asked about, by symbol.
    """

    ptx: str
    cubin: bytes
    usages: Mapping[str, ResourceUsage]


@dataclass(frozen=True)
class Worker:
    """The worker that was taken, or why there is none."""

    refusal: str | None = None
    symbol: str | None = None
    usage: ResourceUsage | None = None
    register_limit: int | None = None


@dataclass(frozen=True)
class BuiltModule:
    """Kernels as they are, and beside them their workers.

    Attributes:
        assembled: all of it.
        workers: by the kernels' symbols.
    """

    assembled: Assembled
    workers: Mapping[str, Worker]


Assemble = Callable[[str, Sequence[str]], Assembled]
"""Of PTX and of the symbols whose usage is asked for."""


def build_module(ptx: str, entries: Sequence[str], arch: str, assemble: Assemble) -> BuiltModule:
    """These kernels, each with its first worker that costs neither residency nor spills, or else the first of all.

    Raises:
        CompileError: they cannot be assembled, even without workers.
    """
    try:
        transformed = _core.make_preemptible(ptx, list(entries))
    except InvalidInput as error:
        return _without_workers(ptx, dict.fromkeys(entries, f"its PTX is not understood: {error}"), assemble)
    refusals = {each.name: _why_refused(each.refusal) for each in transformed.kernels if each.refusal is not None}
    workers = {each.name: each.worker for each in transformed.kernels if each.refusal is None}
    text = transformed.ptx
    while workers:
        try:
            return _with_workers(text, workers, refusals, arch, assemble)
        except CompileError as error:
            said = error.log.strip() or str(error)
        # The assembler names those that are to blame; else it may be any.
        blamed = "".join(line for line in said.splitlines() if ERROR.search(line))
        failed = {name: each for name, each in workers.items() if f"'{each}'" in blamed} or dict(workers)
        refusals |= dict.fromkeys(failed, _why_not_assembled(said))
        workers = {name: each for name, each in workers.items() if name not in failed}
        text = _without_entries(text, list(failed.values()))
    return _without_workers(ptx, refusals, assemble)


def _without_workers(ptx: str, refusals: Mapping[str, str], assemble: Assemble) -> BuiltModule:
    return BuiltModule(assemble(ptx, list(refusals)), {name: Worker(why) for name, why in refusals.items()})


def _with_workers(
    text: str, workers: Mapping[str, str], refusals: Mapping[str, str], arch: str, assemble: Assemble
) -> BuiltModule:
    """Tries all without a limit, then those that do not fit with one, and keeps the limits that help."""
    symbols = [*refusals, *workers, *workers.values()]
    made = assemble(text, symbols)
    originals = {name: made.usages[name] for name in workers}
    budgets = {name: register_budget(usage, arch) for name, usage in originals.items()}

    def fits(name: str, by: Assembled) -> bool:
        return _fits(by.usages[workers[name]], originals[name], budgets[name])

    too_large = {name: budgets[name] for name in workers if not fits(name, made)}
    limited = _all_limited(text, workers, too_large)
    limits: dict[str, int] = {}
    if limited is not None:
        tried = assemble(limited, symbols)
        limits = {name: budget for name, budget in too_large.items() if fits(name, tried)}
        if limits:
            made = tried if limits == too_large else assemble(_all_limited(text, workers, limits) or text, symbols)
    taken = {name: Worker(None, each, made.usages[each], limits.get(name)) for name, each in workers.items()}
    return BuiltModule(made, taken | {name: Worker(why) for name, why in refusals.items()})


def _all_limited(text: str, workers: Mapping[str, str], limits: Mapping[str, int]) -> str | None:
    """None where nothing can be limited."""
    found = False
    for name, limit in limits.items():
        limited = _limited(text, workers[name], limit)
        found |= limited is not None
        text = limited or text
    return text if found else None


def _without_entries(text: str, symbols: Sequence[str]) -> str:
    """The same without these; they end, as gpushare writes them, with a brace at the beginning of a line."""
    for symbol in symbols:
        entry = rf"^[^\n]*\.entry\s+{re.escape(symbol)}(?![\w$]).*?^\}}"
        text = re.sub(entry, "", text, count=1, flags=re.MULTILINE | re.DOTALL)
    return text


def register_budget(original: ResourceUsage, arch: str) -> int:
    """Registers that a worker may have: what the original has, or what a full SM leaves each of its threads.

    >>> register_budget(ResourceUsage(12, 0, 0, 0, 0, 0), "sm_90")
    32
    >>> register_budget(ResourceUsage(50, 0, 0, 0, 0, 0), "sm_90")
    56
    """
    threads = THREADS_PER_SM.get(int(re.sub(r"\D", "", arch)), MOST_THREADS_PER_SM)
    return max(original.allocated_registers, REGISTERS_PER_SM // threads // 8 * 8)


def _why_not_assembled(log: str) -> str:
    """A worker needs a little of what its kernel may have used up."""
    if "uses too much shared data" in log:
        return "its shared memory leaves no room for that of a worker"
    if "uses too much parameter space" in log:
        return "its parameters leave no room for that of a worker"
    return f"its worker cannot be assembled, which is a bug in gpushare: {log.splitlines()[0]}"


def _why_refused(refusal: _core.Refusal) -> str:
    where = f" (line {refusal.line} of the PTX)" if refusal.line else ""
    return refusal.reason + where


def _fits(usage: ResourceUsage, original: ResourceUsage, budget: int) -> bool:
    # Launch bounds make the assembler spill where gpushare has set no limit.
    spilled = (usage.spill_stores, usage.spill_loads, usage.local_bytes)
    allowed = (original.spill_stores, original.spill_loads, original.local_bytes)
    return usage.allocated_registers <= budget and all(map(int.__le__, spilled, allowed))


def _limited(ptx: str, symbol: str, limit: int) -> str | None:
    """With a limit of this entry's own: assemblers ignore -maxrregcount where the entry has launch bounds."""
    found = re.search(rf"\.entry\s+{re.escape(symbol)}(?![\w$])[^{{]*", ptx)
    if found is None or ".maxnreg" in found[0]:
        return None
    return f"{ptx[: found.end()]}.maxnreg {limit}\n{ptx[found.end() :]}"
