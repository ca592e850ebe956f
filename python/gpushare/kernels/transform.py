# SPDX-License-Identifier: Apache-2.0
"""Makes kernels preemptible and resizable at thread-block boundaries: PTX in, PTX out (docs/internals/transform.md)."""

from __future__ import annotations

from collections.abc import Sequence

from gpushare import _core


def make_preemptible(ptx: str, entries: Sequence[str] = ()) -> _core.Transformed:
    """Adds a preemptible worker for each kernel of a PTX module.

    Args:
        ptx: the text of a module, as NVRTC, nvcc, Triton, Numba or CuPy write it.
        entries: the kernels to keep, by their names in the PTX; by default all.

    Returns:
        ``ptx``: the module with the original kernels and the workers of those that are preemptible. Kernel and worker
            share their variables. ``kernels``: one verdict per kernel with ``name``, ``preemptible``, ``worker`` (its
            name in the module), and ``refusal`` (``reason``, ``line``) where there is none.

    Raises:
        InvalidInput: the text is not PTX (the message names the line), or it has no such kernel.

    >>> module = make_preemptible('''
    ... .version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .visible .entry ticks(.param .u64 out) { .reg .b32 %r<2>; mov.u32 %r1, %ctaid.x; ret; }
    ... ''')
    >>> [(kernel.name, kernel.preemptible, kernel.worker) for kernel in module.kernels]
    [('ticks', True, 'ticks$worker')]
    """
    return _core.make_preemptible(ptx, list(entries))
