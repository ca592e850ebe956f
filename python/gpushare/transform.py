# SPDX-License-Identifier: Apache-2.0
"""Makes kernels preemptible and resizable at thread-block boundary: PTX in, PTX out (docs/transform.md)."""

from __future__ import annotations

from gpushare import _core


def make_preemptible(ptx: str) -> _core.Transformed:
    """Turns the kernels of a PTX module into persistent workers.

    Args:
        ptx: the text of a module, as NVRTC, nvcc, Triton, Numba or CuPy write it.

    Returns:
        ``ptx``: the module with every preemptible kernel made a worker and the others as they were; ``kernels``: one
        verdict per kernel with ``name``, ``preemptible``, and ``refusal`` (``reason``, ``line``) where it is not.

    Raises:
        InvalidInput: the text is no PTX; the message names the line.

    >>> module = make_preemptible('''
    ... .version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .visible .entry ticks(.param .u64 out) { .reg .b32 %r<2>; mov.u32 %r1, %ctaid.x; ret; }
    ... ''')
    >>> [(kernel.name, kernel.preemptible) for kernel in module.kernels]
    [('ticks', True)]
    """
    return _core.make_preemptible(ptx)
