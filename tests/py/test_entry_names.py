# SPDX-License-Identifier: Apache-2.0
"""Symbols that are hard to read: on a server they may be anybody's."""

import signal

import numpy as np
import pytest

import gpushare as gs
from gpushare.compiler import COMPILER
from gpushare.compiler_process import limited
from gpushare.entry_names import MOST_HARMLESS_REFERENCES, demangled, entry_named


def reference(part):
    """To an earlier part of a mangled name."""
    return "S_" if part == 0 else f"S{np.base_repr(part - 1, 36)}_"


def nested(levels):
    """A function of an A<int, int>, of an A of two of these, of an A of two of those, and so on."""
    return "_Z1f1AIiiE" + "".join(f"S_I{reference(level)}{reference(level)}E" for level in range(1, levels + 1))


def test_those_of_many_parts_are_read_elsewhere():
    flat = "_Z1f1AIiiE" + "S0_" * (MOST_HARMLESS_REFERENCES + 1)
    assert demangled(flat) == "f(" + ", ".join(["A<int, int>"] * (MOST_HARMLESS_REFERENCES + 2)) + ")"
    assert demangled("_Z" + "1001" + "k" * 1001 + "v") == "k" * 1001 + "()"


def test_one_that_stands_for_more_than_there_is_room_for_has_no_signature():
    assert demangled(nested(12)) == "", "139 KB"
    assert demangled(nested(60)) == "", "more than there are atoms"
    assert COMPILER.demangled("_Z1kPf") == "k(float*)", "the compiler is there again"


def test_no_alarm_outlasts_what_it_was_set_for():
    """It would end the process in the middle of somebody's compilation."""
    with pytest.raises(MemoryError), limited(64 << 20, seconds=60):
        bytearray(1 << 30)
    assert signal.alarm(0) == 0, "seconds that were left"


def test_a_kernel_of_such_a_name_is_found_by_its_symbol():
    hostile = nested(60)
    assert entry_named(hostile, [hostile, "k"], "k.ptx") == hostile
    with pytest.raises(gs.InvalidInput, match=r"k\.ptx has no kernel 'other'; it has: _Z1f1AIiiES_I.*; k"):
        entry_named("other", [hostile, "k"], "k.ptx")
