# SPDX-License-Identifier: Apache-2.0
"""Kernels that are made to cost whoever compiles them."""

import gpushare as gs

MEMORY_BOMB = "__device__ int a[1 << 28] = {1}; __global__ void k(int* x) { *x = a[*x]; }"
"""A hundred bytes, of which NVRTC makes gigabytes of PTX."""


def one_line(number):
    return gs.Kernel(f"__global__ void k(int* x) {{ *x += {number}; }}", "k")


def slow(steps=20_000):
    """Each division follows from those before it, and ptxas writes them all out: it takes minutes."""
    lines = [f"div.rn.f64 %f{i}, %f{i - 1}, %f{max(0, i - 7)};" for i in range(1, steps)]
    head = f".reg .b64 %d<2>; .reg .f64 %f<{steps}>; ld.param.u64 %d1, [p]; ld.global.f64 %f0, [%d1];"
    body = "\n".join((head, *lines, f"st.global.f64 [%d1], %f{steps - 1}; ret;"))
    ptx = f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n{body}\n}}\n"
    return gs.Kernel(ptx, "k")
