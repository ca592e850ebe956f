# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare compile``: compiles kernels and shows whether they are preemptible, and the cost in registers."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

import gpushare
from gpushare import _core
from gpushare._core import Device, InvalidInput
from gpushare.checks import require, whole
from gpushare.cli.arguments import json_option
from gpushare.cli.completion import names
from gpushare.cli.files import require_distinct, writable_path
from gpushare.cli.output import print_document, print_json, print_table, remark, say
from gpushare.files.atomic_write import write_atomically
from gpushare.kernels.compiled_kernel import CompiledKernel
from gpushare.kernels.cubin import Cubin
from gpushare.kernels.kernel import Kernel
from gpushare.kernels.resource_usage import ResourceUsage
from gpushare.kernels.source import kernel_source
from gpushare.kernels.worker_build import register_budget

MOST_THREADS = 1024
NEED_A_NAME = ("arch", "options", "block", "shared", "device")
"""Options that need one kernel."""


@click.command("compile")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=names.source)
@click.option(
    "-k",
    "--kernel",
    metavar="NAME",
    help="Kernel name or C++ expression: 'ns::saxpy<float>'.",
    shell_complete=names.kernel,
)
@click.option("--arch", default="sm_90", show_default=True, help="Architecture to compile for.")
@click.option("--option", "options", multiple=True, metavar="OPTION", help="NVRTC option, e.g. -std=c++20; repeatable.")
@click.option("--block", type=int, metavar="THREADS", help="Also show the blocks of this size per SM.")
@click.option("--shared", type=int, default=0, metavar="BYTES", help="Dynamic shared memory per block.")
@click.option("--device", default="h100", show_default=True, help="Device for --block.", shell_complete=names.device)
@click.option("--ptx", "show_ptx", is_flag=True, help="Print the transformed PTX.")
@click.option("-o", "--out", type=click.Path(path_type=Path), callback=writable_path,
              help="Write the worker: .cubin, or .ptx for its PTX.")  # fmt: skip
@json_option()
@click.pass_context
def compile_command(context: click.Context, /, file: Path, kernel: str | None, **choices: Any) -> None:
    """Compile a kernel, and make it preemptible at thread-block boundary.

    Shows the resources of the kernel and its worker, or why there is no worker: such a kernel still runs, without
    preemption. Needs no GPU. Without -k, PTX is not assembled: every kernel in it gets its verdict.

    \b
    Examples:
      gpushare compile saxpy.cu -k 'saxpy<float>'
      gpushare compile saxpy.cu -k 'saxpy<float>' --block 256 --option -use_fast_math
      gpushare compile saxpy.ptx
      gpushare compile saxpy.ptx -k saxpy --ptx
    """
    _require_used(context, file, kernel)
    if kernel is None:
        _show_verdicts(file, choices["out"], choices["as_json"], choices["show_ptx"])
    else:
        _show_kernel(file, kernel, **choices)


def _require_used(context: click.Context, file: Path, kernel: str | None) -> None:
    """Refuses options that would have no effect."""
    given = context.params
    require_distinct([file], out=given["out"])
    told = [name for name in NEED_A_NAME if context.get_parameter_source(name) is not ParameterSource.DEFAULT]
    if kernel is None and file.suffix == ".ptx" and told:
        raise InvalidInput(f"--{told[0].removesuffix('s')} needs one kernel: name it with -k NAME")
    require(given["block"] is not None or "shared" not in told, "--shared needs --block")
    suffixes = (".ptx",) if kernel is None else (".cubin", ".ptx")
    if given["out"] is not None and given["out"].suffix not in suffixes:
        why = "; machine code is of one kernel: name it with -k NAME" if given["out"].suffix == ".cubin" else ""
        raise InvalidInput(f"{given['out']}: the name must end in {' or '.join(suffixes)}{why}")


def _show_kernel(
    file: Path,
    name: str,
    *,
    arch: str,
    options: tuple[str, ...],
    block: int | None,
    shared: int,
    device: str,
    show_ptx: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    on = gpushare.device(device)
    compiled = Kernel(file, name, options=options).compile(arch)
    usages = {"original": compiled.original_usage, "worker": compiled.worker_usage}
    rows = {key: _usage_row(usage, on, block, shared) for key, usage in usages.items() if usage is not None}
    if out is not None:
        _write(compiled, out)
    if as_json:
        print_json(_document(compiled, file, rows) | ({"ptx": compiled.worker_ptx} if show_ptx else {}))
    elif show_ptx:
        remark(f"{compiled.signature}: {_outcome(compiled, on)}")
        print_document(compiled.worker_ptx or "")
    else:
        columns = ["", *(key.replace("_", " ") for key in rows["original"])]
        cells = [[key, *(str(value) for value in row.values())] for key, row in rows.items()]
        print_table(f"{compiled.signature} for {arch}", columns, cells)
        say(_outcome(compiled, on))


def _usage_row(usage: ResourceUsage, device: Device, block: int | None, shared: int) -> dict[str, int]:
    row = asdict(usage)
    if block is None:
        return row
    whole("--block", block, 1, MOST_THREADS)
    return {**row, "blocks_per_sm": usage.blocks_per_sm(device, block, shared)}


def _outcome(compiled: CompiledKernel, device: Device) -> str:
    if compiled.worker_usage is None:
        fits = "; all blocks of a launch have to fit the GPU at once" if compiled.needs_all_blocks else ""
        return f"runs as a whole: {compiled.refusal}{fits}"
    words = ["preemptible" + _blocks(compiled.worker_blocks)]
    if compiled.register_limit is not None:
        words.append(f"registers limited to {compiled.register_limit}")
    if compiled.worker_usage.allocated_registers > register_budget(compiled.original_usage, compiled.arch):
        words.append("the worker needs more registers than the kernel and may lose residency")
    kernel, worker = (
        _blocks_by_shared_memory(each, device) for each in (compiled.original_usage, compiled.worker_usage)
    )
    if worker < kernel:
        words.append(f"by shared memory an SM holds {worker} blocks of the worker and {kernel} of the kernel")
    return "; ".join(words)


def _blocks_by_shared_memory(usage: ResourceUsage, device: Device) -> int:
    """With one thread and one register per block, so that shared memory is the only limit."""
    return replace(usage, registers=1).blocks_per_sm(device, threads=1)


def _blocks(shapes: _core.BlockShapes | None) -> str:
    """The block shapes for which the worker is correct, as a suffix; empty for all shapes."""
    kinds = _core.BlockKind
    kind = kinds.ANY if shapes is None else shapes.kind
    width = 0 if shapes is None else shapes.width
    words = {
        kinds.ANY: "",
        kinds.FLAT: " in blocks of one layer or a multiple of 32 threads wide",
        kinds.LINES: " in blocks of one dimension or a multiple of 32 threads wide",
        kinds.WHOLE_WARPS: " in blocks a multiple of 32 threads wide",
        kinds.ONE_WIDTH: f" in blocks {width} threads wide",
    }
    return words[kind]


def _document(compiled: CompiledKernel, file: Path, rows: dict[str, dict[str, int]]) -> dict[str, object]:
    return {
        "gpushare": gpushare.__version__,
        "file": str(file),
        "kernel": compiled.name,
        "symbol": compiled.symbol,
        "signature": compiled.signature,
        "arch": compiled.arch,
        "parameters": [asdict(parameter) for parameter in compiled.parameters],
        "preemptible": compiled.worker is not None,
        "refusal": compiled.refusal,
        "needs_all_blocks": compiled.needs_all_blocks,
        "blocks": _block_document(compiled.worker_blocks),
        "register_limit": compiled.register_limit,
        "cached": compiled.cached,
        **{key: rows.get(key) for key in ("original", "worker")},
    }


def _write(compiled: CompiledKernel, out: Path) -> None:
    if compiled.worker is None or compiled.worker_ptx is None:
        raise InvalidInput(f"{out}: there is no worker to write: {compiled.refusal}")
    if out.suffix == ".ptx":
        write_atomically(out, compiled.worker_ptx)
    else:
        write_atomically(out, compiled.worker)


def _show_verdicts(file: Path, out: Path | None, as_json: bool, show_ptx: bool) -> None:
    transformed = gpushare.make_preemptible(_read(file))
    if out is not None:
        write_atomically(out, transformed.ptx)
    if as_json:
        kernels = [_verdict_row(each) for each in transformed.kernels]
        print_json({"gpushare": gpushare.__version__, "file": str(file), "kernels": kernels, "ptx": transformed.ptx})
    elif show_ptx:
        remark("; ".join(f"{each.name}: {_verdict(each)}" for each in transformed.kernels))
        print_document(transformed.ptx)
    else:
        cells = [[each.name, _verdict(each)] for each in transformed.kernels]
        print_table(f"kernels of {file}", ["kernel", "verdict"], cells, texts=2)


def _read(file: Path) -> str:
    if file.suffix == ".cubin":
        listed = ", ".join(Cubin(kernel_source(file, "").content, file.name).kernels)
        raise InvalidInput(f"{file}: name the kernel with -k NAME; it has: {listed}")
    if file.suffix in (".cu", ".cuh"):
        raise InvalidInput(f"{file}: name the kernel with -k NAME; templates need their arguments: -k 'saxpy<float>'")
    return kernel_source(file, "").text


def _block_document(shapes: _core.BlockShapes) -> dict[str, object]:
    return {"kind": shapes.kind.name.lower(), "width": shapes.width or None}


def _verdict(kernel: _core.KernelVerdict) -> str:
    if kernel.refusal is not None:
        where = f" (line {kernel.refusal.line})" if kernel.refusal.line else ""
        return f"runs as it is: {kernel.refusal.reason}{where}"
    words = "preemptible" + _blocks(kernel.blocks)
    if kernel.single_barrier_site:
        return f"{words}; threads may return before others meet, so all barriers go through one site"
    return words + ("; one barrier between tasks" if kernel.barrier_between_tasks else "")


def _verdict_row(kernel: _core.KernelVerdict) -> dict[str, object]:
    return {
        "name": kernel.name,
        "preemptible": kernel.preemptible,
        "single_barrier_site": kernel.single_barrier_site,
        "barrier_between_tasks": kernel.barrier_between_tasks,
        "blocks": None if kernel.blocks is None else _block_document(kernel.blocks),
        "refusal": kernel.refusal and {"reason": kernel.refusal.reason, "line": kernel.refusal.line},
    }
