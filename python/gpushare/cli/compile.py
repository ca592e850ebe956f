# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare compile``: can these kernels be preempted, and what do they look like then?"""

from __future__ import annotations

from pathlib import Path

import click

import gpushare
from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.cli.arguments import json_option
from gpushare.cli.output import print_json, print_table, remark


@click.command("compile")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-k", "--kernel", help="Only this kernel; prints its module's transformed PTX unless --out is given.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the transformed PTX here.")
@json_option()
def compile_command(file: Path, kernel: str | None, out: Path | None, as_json: bool) -> None:
    """Make the kernels of a PTX file preemptible at thread-block boundary.

    Says of each kernel whether that is possible, or why not. A kernel that is refused still runs, as a whole. Compile
    CUDA source to PTX first, with nvcc -ptx or NVRTC.

    \b
    Examples:
      gpushare compile saxpy.ptx
      gpushare compile saxpy.ptx -k saxpy
      gpushare compile saxpy.ptx -o saxpy.worker.ptx
    """
    transformed = gpushare.make_preemptible(_read(file))
    kernels = _chosen(transformed.kernels, kernel, file)
    if out is not None:
        out.write_text(transformed.ptx, encoding="utf-8")
    if as_json:
        document = {"gpushare": gpushare.__version__, "file": str(file), "kernels": [_row(each) for each in kernels]}
        print_json(document | {"ptx": transformed.ptx})
    elif kernel is not None and out is None:
        remark("; ".join(_words(each) for each in kernels))
        click.echo(transformed.ptx, nl=False)
    else:
        cells = [[each.name, _words(each)] for each in kernels]
        print_table(f"kernels of {file}", ["kernel", "verdict"], cells, texts=2)


def _read(file: Path) -> str:
    if file.suffix in (".cu", ".cuh"):
        raise InvalidInput(f"{file}: this version takes PTX, not CUDA source; make it with: nvcc -ptx {file.name}")
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file}: cannot be read as text: {error}") from error


def _chosen(kernels: list[_core.KernelVerdict], name: str | None, file: Path) -> list[_core.KernelVerdict]:
    chosen = [each for each in kernels if name in (None, each.name)]
    if name is not None and not chosen:
        raise InvalidInput(f"{file}: no kernel {name!r}; it has: {', '.join(each.name for each in kernels) or 'none'}")
    return chosen


def _words(kernel: _core.KernelVerdict) -> str:
    if kernel.refusal is not None:
        where = f" (line {kernel.refusal.line})" if kernel.refusal.line else ""
        return f"runs as it is: {kernel.refusal.reason}{where}"
    if kernel.single_barrier_site:
        return "preemptible; threads may return before others meet, so all barriers go through one site"
    return "preemptible" + ("; one barrier between tasks" if kernel.barrier_between_tasks else "")


def _row(kernel: _core.KernelVerdict) -> dict[str, object]:
    return {
        "name": kernel.name,
        "preemptible": kernel.preemptible,
        "single_barrier_site": kernel.single_barrier_site,
        "barrier_between_tasks": kernel.barrier_between_tasks,
        "refusal": kernel.refusal and {"reason": kernel.refusal.reason, "line": kernel.refusal.line},
    }
