# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare suite``: lists, runs and checks the bundled CUDA kernels, and shows their resources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

import gpushare
from gpushare.cli.arguments import device_option, json_option, timeout_option, to_policy
from gpushare.cli.commands_on_demand import SimilarCommands
from gpushare.cli.completion import names as completion
from gpushare.cli.output import print_json, print_table
from gpushare.cli.schedule import show_run
from gpushare.kernels.assembler import in_words
from gpushare.progress import tracked
from gpushare.suite import KERNELS
from gpushare.suite.arguments import known_geometry, suite_kernel
from gpushare.suite.resources import suite_resources
from gpushare.validation.suite_kernels import check_on_gpu

if TYPE_CHECKING:
    from gpushare.suite import SuiteKernel
    from gpushare.suite.resources import Occupancy, SuiteResources
    from gpushare.validation.suite_kernels import SuiteCheck

size_option = click.option(
    "--size", type=click.Choice(["small", "large"]), default="large", show_default=True, help="Size of their data."
)


@click.group(cls=SimilarCommands)
def suite() -> None:
    """List, run, check or measure the CUDA kernels that come with gpushare: the benchmarks of five papers.

    \b
    Examples:
      gpushare suite list
      gpushare suite run nbody triad_vector --policy srtf --device cuda:0
      gpushare suite run nbody triad_vector --policy even --device sim:h100
      gpushare suite check --device cuda:0
      gpushare suite resources
    """


@suite.command("list")
@json_option()
def list_command(as_json: bool) -> None:
    """List the kernels: what each computes, and the benchmarks of papers that it represents.

    \b
    Examples:
      gpushare suite list
      gpushare suite list --json | jq -r '.kernels[] | select(.field == "graphs").name'
    """
    rows = [_described(kernel) for kernel in KERNELS.values()]
    if as_json:
        print_json({"gpushare": gpushare.__version__, "kernels": rows})
        return
    cells = [
        [row["name"], row["field"], row["summary"], ", ".join(f"{a}: {b}" for a, b in row["stands_for"].items())]
        for row in rows
    ]
    print_table(f"{len(rows)} kernels", ["kernel", "field", "description", "benchmark"], cells, texts=4)


def _described(kernel: SuiteKernel) -> dict[str, Any]:
    grid, block, shared_bytes = known_geometry()[kernel.name]["large"]
    return {
        "name": kernel.name,
        "field": kernel.field,
        "summary": kernel.summary,
        "stands_for": dict(kernel.stands_for),
        "grid": grid,
        "block": block,
        "shared_bytes": shared_bytes,
        "file": kernel.source_path,
    }


@suite.command("run")
@click.argument("names", nargs=-1, required=True, metavar="KERNEL...", shell_complete=completion.suite_kernel)
@click.option(
    "--policy",
    default="srtf",
    show_default=True,
    metavar="P",
    help="Policy, as for gpushare schedule.",
    shell_complete=completion.policy,
)
@size_option
@device_option()
@timeout_option()
@json_option()
def run_command(names: tuple[str, ...], policy: str, size: str, device: str, timeout: float, as_json: bool) -> None:
    """Run kernels at the same time, an application each, under one policy.

    \b
    Examples:
      gpushare suite run nbody triad_vector --device cuda:0
      gpushare suite run nbody triad_vector --policy mpmax --device sim:h100 --json
    """
    applications = [
        gpushare.Application(name if names.count(name) == 1 else f"{name} {number}", [_launch(name, size)])
        for number, name in enumerate(names, 1)
    ]
    workload = gpushare.Workload(" + ".join(names), applications)
    show_run(gpushare.run(workload, to_policy(policy), device=device, timeout=timeout), as_json=as_json)


def _launch(name: str, size: str) -> gpushare.Launch:
    return gpushare.Launch.of_suite(name, size)


@suite.command("check")
@click.argument("names", nargs=-1, metavar="[KERNEL...]")
@click.option(
    "--size", type=click.Choice(["small", "large"]), default="small", show_default=True, help="Size of their data."
)
@click.option("--device", default="cuda:0", show_default=True, metavar="DEVICE", help="The GPU to run on.")
@json_option()
def check_command(names: tuple[str, ...], size: str, device: str, as_json: bool) -> None:
    """Check kernels on a GPU: the original against its reference, and its worker against the original's bytes.

    \b
    Examples:
      gpushare suite check
      gpushare suite check lava_md fft --size large
    """
    kernels = [suite_kernel(name) for name in names or KERNELS]
    checks = (check_on_gpu(kernel, size, device) for kernel in kernels)
    done = list(tracked(checks, len(kernels), "checking"))
    if as_json:
        print_json(
            {"gpushare": gpushare.__version__, "checks": [{**vars(each), "right": each.is_right} for each in done]}
        )
    else:
        title = f"{sum(each.is_right for each in done)} of {len(done)} kernels are right"
        print_table(title, ["kernel", "as it is", "as a worker"], [_verdict(each) for each in done], texts=3)
    if not all(each.is_right for each in done):
        raise SystemExit(1)


def _verdict(check: SuiteCheck) -> list[str]:
    worker = f"refused: {check.refusal}" if check.refusal else "the same bytes"
    return [
        check.name,
        "; ".join(check.mistakes) or "right",
        f"differs: {', '.join(check.differing)}" if check.differing else worker,
    ]


@suite.command("resources")
@click.argument("names", nargs=-1, metavar="[KERNEL...]")
@click.option("--arch", default="sm_90", show_default=True, help="Architecture to compile for.")
@click.option("--device", default="h100", show_default=True, metavar="DEVICE", help="Device for blocks per SM.")
@size_option
@json_option()
def resources_command(names: tuple[str, ...], arch: str, device: str, size: str, as_json: bool) -> None:
    """Show resources of kernels, original -> worker: registers, spills, shared memory, blocks per SM.

    From the assembler's report; needs no GPU. Spilled bytes are per thread, stores and loads together.

    \b
    Examples:
      gpushare suite resources
      gpushare suite resources tpacf ray_trace --json
    """
    kernels, on = [suite_kernel(name) for name in names or KERNELS], gpushare.device(device)
    found = [
        suite_resources(kernel, arch, on, size) for kernel in tracked(kernels, len(kernels), "compiling and assembling")
    ]
    title = f"{len(found)} kernels for {arch} by {in_words()}, blocks per SM of {on.name}"
    rows = [_needs(each) for each in found]
    if as_json:
        print_json(
            {"gpushare": gpushare.__version__, "made_by": in_words(), "kernels": [asdict(each) for each in found]}
        )
    else:
        print_table(title, list(rows[0]), [list(row.values()) for row in rows])


def _needs(kernel: SuiteResources) -> dict[str, str]:
    def both(figure: Callable[[Occupancy], int]) -> str:
        original = figure(kernel.original)
        return str(original) if kernel.worker is None else f"{original} -> {figure(kernel.worker)}"

    return {
        "kernel": f"{kernel.name}: {kernel.refusal}" if kernel.refusal else kernel.name,
        "registers": both(lambda each: each.usage.registers),
        "spilled bytes": both(lambda each: each.usage.spill_stores + each.usage.spill_loads),
        "static shared bytes": both(lambda each: each.usage.shared_bytes),
        "blocks per SM": both(lambda each: each.blocks_per_sm),
    }
