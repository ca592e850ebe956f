# SPDX-License-Identifier: Apache-2.0
"""Which of the possible workers of a kernel is taken: the first that costs it neither residency nor spills."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.compile_error import CompileError
from gpushare.resource_usage import ResourceUsage

REGISTERS_PER_SM = 65_536
THREADS_PER_SM = {75: 1024, 86: 1536, 87: 1536, 88: 1536, 89: 1536, 120: 1536, 121: 1536}
MOST_THREADS_PER_SM = 2048


@dataclass(frozen=True)
class Assembled:
    """PTX and what became of it."""

    ptx: str
    cubin: bytes
    usage: ResourceUsage


@dataclass(frozen=True)
class Worker:
    """The worker that was taken, or why there is none."""

    refusal: str | None = None
    ptx: str | None = None
    cubin: bytes | None = None
    usage: ResourceUsage | None = None
    register_limit: int | None = None


Assemble = Callable[[str], Assembled]


def best_worker(ptx: str, symbol: str, original: ResourceUsage, arch: str, assemble: Assemble) -> Worker:
    """The first candidate that costs neither residency nor spills, or the first of all if each costs something."""
    try:
        transformed = _core.make_preemptible(ptx)
        refusal = _refusal(transformed, symbol)
        if refusal is not None:
            return Worker(refusal=refusal)
        budget = register_budget(original, arch)
        candidates = _candidates(transformed.ptx, symbol, budget, assemble)
        first = next(candidates)
        fitting = (each for each in chain([first], candidates) if _fits(each, original, budget))
        return next(fitting, first)
    except CompileError as error:
        return Worker(refusal=_why_not_assembled(error.log.strip() or str(error)))
    except InvalidInput as error:
        return Worker(refusal=f"its PTX is not understood: {error}")


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


def _refusal(transformed: _core.Transformed, symbol: str) -> str | None:
    (verdict,) = (each for each in transformed.kernels if each.name == symbol)
    if verdict.refusal is None:
        return None
    where = f" (line {verdict.refusal.line} of the PTX)" if verdict.refusal.line else ""
    return verdict.refusal.reason + where


def _candidates(text: str, symbol: str, budget: int, assemble: Assemble) -> Iterator[Worker]:
    """Most wanted first; each is made only when the ones before it did not fit."""
    for limit in (None, budget):
        limited = text if limit is None else _limited(text, symbol, limit)
        if limited is None:
            continue
        made = assemble(limited)
        yield Worker(None, made.ptx, made.cubin, made.usage, limit)


def _fits(worker: Worker, original: ResourceUsage, budget: int) -> bool:
    usage = worker.usage
    assert usage is not None
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
