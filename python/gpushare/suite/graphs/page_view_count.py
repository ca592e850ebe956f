# SPDX-License-Identifier: Apache-2.0
"""Visits per page, counted from the lines of a web server's log.

Source: Page View Count of Mars (B. He et al., Mars: a MapReduce framework on graphics processors, PACT 2008), with
atomic counters in place of sort and reduction; the hash is FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo, 1991).
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over
from gpushare.suite.graphs.ranges import ranges
from gpushare.suite.segments import offsets_of
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
COUNTERS = {"small": 1 << 10, "large": 1 << 20}
PAGES = {"small": 300, "large": 100_000}
DISTINCT_LINES = {"small": 2_000, "large": 750_000}
REPEATS = {"small": 1, "large": 16}
TAB, NEWLINE = b"\t\n"
OFFSET_BASIS, PRIME = np.uint32(2166136261), np.uint32(16777619)
LINES_AT_ONCE = 1 << 16


def visits(log: np.ndarray, line_starts: np.ndarray, counters: int) -> np.ndarray:
    """The reference: the number of lines that hash to each counter."""
    counts = np.zeros(counters, np.uint32)
    for first in range(0, line_starts.size - 1, LINES_AT_ONCE):
        hashes = hashes_of(log, line_starts[first : first + LINES_AT_ONCE + 1])
        counts += np.bincount(hashes % np.uint32(counters), minlength=counters).astype(np.uint32)
    return counts


def hashes_of(log: np.ndarray, line_starts: np.ndarray) -> np.ndarray:
    """The hash of the address of every line, all lines a character at a time."""
    hashes = np.full(line_starts.size - 1, OFFSET_BASIS)
    lines, places, ends = np.arange(hashes.size), line_starts[:-1], line_starts[1:] - 1
    while lines.size:
        characters = log[places]
        go_on = (places < ends) & (characters != TAB)
        lines, places, ends = lines[go_on], places[go_on] + 1, ends[go_on]
        hashes[lines] = (hashes[lines] ^ characters[go_on]) * PRIME
    return hashes


def _letters(random: np.random.Generator, count: int) -> np.ndarray:
    return random.integers(ord("a"), ord("z"), count, np.uint8, endpoint=True)


def _log(size: Size, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Lines of address, tab and visitor, and where they start. In one of a hundred the tab is missing."""
    pages, lines = PAGES[size], DISTINCT_LINES[size]
    address_starts = offsets_of(random.integers(0, 80, pages))
    addresses = _letters(random, int(address_starts[-1]))
    page = (pages * random.random(lines) ** 3).astype(np.int32)  # few are popular
    address_lengths = np.diff(address_starts)[page]
    line_starts = offsets_of(address_lengths + random.integers(10, 36, lines) + 2)
    log = _letters(random, int(line_starts[-1]))
    log[ranges(line_starts[:-1], address_lengths)] = addresses[ranges(address_starts[page], address_lengths)]
    tabs = line_starts[:-1] + address_lengths
    log[tabs[random.random(lines) >= 0.01]] = TAB
    log[line_starts[1:] - 1] = NEWLINE
    return log, line_starts


def _build(size: Size, random: np.random.Generator) -> Case:
    counters, repeats = COUNTERS[size], REPEATS[size]
    log, line_starts = _log(size, random)
    lines = repeats * DISTINCT_LINES[size]
    line_starts = offsets_of(np.tile(np.diff(line_starts), repeats))
    log = np.tile(log, repeats)
    return Case(
        grid=grid_over((lines,), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            Argument("visits", np.zeros(counters, np.uint32), is_output=True, is_updated=True),
            Argument("log", log),
            Argument("line_starts", line_starts),
            Argument("lines", np.int32(lines)),
            Argument("counters", np.int32(counters)),
        ],
        reference=lambda: {"visits": visits(log, line_starts, counters)},
    )


KERNEL = SuiteKernel(
    "page_view_count",
    "Visits per page: hashing of text, global atomics",
    _build,
    {"CD-search": "PVC"},
    is_layerable=False,
)
