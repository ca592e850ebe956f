# SPDX-License-Identifier: Apache-2.0
"""Kernels of which there is only machine code, made when a test needs them."""

import os
import pathlib
import subprocess
import tempfile

import gpushare as gs


def cubin_of(source, name, arch="sm_90"):
    """A cubin; for the stand-in GPU, which runs no machine code, with its PTX behind the end."""
    made = gs.Kernel(source, name, preemptible=False).compile(arch)
    if made.original.startswith(b"\x7fELF"):
        return made.original
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = pathlib.Path(folder, "k.ptx"), pathlib.Path(folder, "k.cubin")
        ptx.write_text(made.ptx)
        command = [os.environ["GPUSHARE_STAND_IN_PTXAS"], f"-arch={arch}", ptx, "-o", cubin]
        subprocess.run(command, check=True, capture_output=True)
        return cubin.read_bytes() + made.original
