# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D301 - \b tells click to keep the lines that follow
"""``gpushare profile``: measures kernels on a GPU; stores, lists, exports and imports profiles."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click

import gpushare
from gpushare._core import InvalidInput
from gpushare.backends.cuda.device import cuda_device
from gpushare.checks import require
from gpushare.cli.arguments import json_option
from gpushare.cli.completion import names as completion
from gpushare.cli.files import write_file, written_file
from gpushare.cli.output import print_json, remark
from gpushare.cli.tables.profiles import print_profiles
from gpushare.model.argument_file import HOW_TO_WRITE, argument_from_data
from gpushare.model.load import load
from gpushare.profile.document import to_document
from gpushare.profile.record import DeviceProfile, KernelProfile
from gpushare.profile.store import ProfileStore
from gpushare.profile.stored_fit import with_fit
from gpushare.profile.toml_export import ProfileFile, read_profiles, write_profiles
from gpushare.profiling import targets
from gpushare.profiling.copies import measure_device
from gpushare.profiling.effort import Effort
from gpushare.profiling.measure_and_keep import measure_and_keep
from gpushare.profiling.targets import Target
from gpushare.progress import tracked

SIZES = ("small", "large")


@click.command()
@click.argument("names", nargs=-1, metavar="[KERNEL.cu | NAME...]", shell_complete=completion.profiled)
@click.option(
    "-k", "--kernel", metavar="NAME", help="Kernel of KERNEL.cu: 'ns::saxpy<float>'.", shell_complete=completion.kernel
)
@click.option("--grid", metavar="X[,Y[,Z]]", help="Blocks of the launch to measure; enough to fill the GPU.")
@click.option("--block", metavar="X[,Y[,Z]]", help="Threads per block.")
@click.option("--arg", "args", multiple=True, metavar="VALUE", help="An argument, as in a workload file; repeatable.")
@click.option("--shared", type=int, default=0, metavar="BYTES", help="Dynamic shared memory per block.")
@click.option("--option", "options", multiple=True, metavar="OPTION", help="Option for NVRTC; repeatable.")
@click.option("--suite", is_flag=True, help="Kernels of the suite: the NAMEs, or all.")
@click.option("--size", type=click.Choice(SIZES), default="large", show_default=True, help="Size of the suite's data.")
@click.option(
    "--workload",
    metavar="FILE",
    help="All CUDA kernels that this workload launches.",
    shell_complete=completion.workload,
)
@click.option(
    "--device",
    default="cuda:0",
    show_default=True,
    metavar="DEVICE",
    help="The GPU to measure on.",
    shell_complete=completion.device,
)
@click.option("--no-copies", is_flag=True, help="Do not measure copies (about 2 s).")
@click.option("--fit", is_flag=True, help="Fit the models of all stored profiles again; needs no GPU.")
@click.option("--list", "show_list", is_flag=True, help="List the stored profiles; needs no GPU.")
@click.option("--import", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="First import the profiles of this TOML file into the store.")  # fmt: skip
@written_file("--export", "Write all profiles of the store to this TOML file at the end.")
@json_option()
def profile(names: tuple[str, ...], **choices: Any) -> None:
    """Measure kernels on a GPU and store their profiles: times alone, on parts of the GPU, and per block.

    Also measures copies between host and device. Contents of the store: docs/guide/profile.md. Nothing else should
    use the GPU meanwhile.

    \b
    Examples:
      gpushare profile --suite                      # the whole suite, some minutes
      gpushare profile --suite triad nbody
      gpushare profile --workload saxpy.toml
      gpushare profile saxpy.cu -k 'saxpy<float>' --grid 4096 --block 256 \\
          --arg '{array = "zeros", dtype = "float32", shape = [1048576]}' \\
          --arg '{array = "random", dtype = "float32", shape = [1048576]}' --arg 2.0 --arg 1048576
      gpushare profile --list
      gpushare profile --fit
      gpushare profile --export profiles.toml
    """
    store = ProfileStore()
    targets = _targets(names, choices)
    some = bool(targets) or any(choices[name] for name in ("show_list", "import", "export", "fit"))
    require(some, "name what to profile: KERNEL.cu, --suite or --workload; or --list, --fit, --export, --import")
    shown: ProfileFile | None = None
    failures: dict[str, str] = {}
    if choices["import"] is not None:
        shown = _import(store, choices["import"])
    if targets:
        shown, failures = _measure(targets, store, choices["device"], copies=not choices["no_copies"])
    if choices["fit"]:
        _fit_again(store)
    if choices["show_list"]:
        shown = _everything(store)
    if choices["export"] is not None:
        _export(store, choices["export"])
    _show(shown, store.path, as_json=choices["as_json"])
    if failures:
        raise InvalidInput("\n".join(f"{name}: {why}" for name, why in failures.items()))


def _everything(store: ProfileStore) -> ProfileFile:
    return ProfileFile(tuple(store.kernels()), tuple(store.devices()))


def _import(store: ProfileStore, path: Path) -> ProfileFile:
    content = read_profiles(path)
    everything: list[KernelProfile | DeviceProfile] = [*content.kernels, *content.devices]
    for each in everything:
        store.save(each)
    remark(f"{path}: {len(content.kernels)} kernels and {len(content.devices)} devices imported")
    return content


def _fit_again(store: ProfileStore) -> None:
    kernels = store.kernels()
    kept = [store.replace(each, with_fit(each)) for each in tracked(kernels, len(kernels), "fitting")]
    kept += [store.replace(each, with_fit(each)) for each in store.devices()]
    fitted = sum(each.fit is not None for each in store.kernels())
    remark(f"{store.path}: {fitted} of {len(kernels)} kernels have a model")
    if not all(kept):
        remark(f"{kept.count(False)} were measured again meanwhile, and were not changed")


def _export(store: ProfileStore, path: Path) -> None:
    content = _everything(store)
    write_file(path, lambda to: write_profiles(to, content))
    remark(f"{path}: {len(content.kernels)} kernels and {len(content.devices)} devices exported")


def _measure(
    targets: list[Target], store: ProfileStore, name: str, *, copies: bool
) -> tuple[ProfileFile, dict[str, str]]:
    device = cuda_device(name)
    devices = []
    if copies:
        devices.append(with_fit(measure_device(device, Effort())))
        store.save(devices[0])
    kernels, failures = measure_and_keep(device, targets, store)
    return ProfileFile(tuple(kernels), tuple(devices)), failures


def _targets(names: tuple[str, ...], choices: dict[str, Any]) -> list[Target]:
    ways = [choices["suite"], choices["workload"] is not None, bool(names) and not choices["suite"]]
    require(sum(ways) <= 1, "profile one of these at a time: KERNEL.cu, --suite, --workload")
    of_file = [name for name in ("kernel", "grid", "block", "args", "options") if choices[name]]
    require(not of_file or ways[2], f"--{'arg' if of_file == ['args'] else ''.join(of_file[:1])} goes with KERNEL.cu")
    if choices["suite"]:
        return targets.of_suite(names, choices["size"])
    if choices["workload"] is not None:
        return targets.of_workload(load(choices["workload"]))
    return [_of_file(names, choices)] if names else []


def _of_file(names: tuple[str, ...], choices: dict[str, Any]) -> Target:
    require(len(names) == 1, f"one source file at a time, got {', '.join(names)}; kernels of the suite: --suite NAME")
    for name, flag in (("kernel", "-k NAME"), ("grid", "--grid"), ("block", "--block")):
        require(choices[name] is not None, f"{names[0]}: say {flag}")
    kernel = gpushare.Kernel(Path(names[0]), choices["kernel"], options=choices["options"])
    launch = gpushare.Launch(
        kernel,
        grid=_extent("--grid", choices["grid"]),
        block=_extent("--block", choices["block"]),
        args=[_argument(text) for text in choices["args"]],
        shared_bytes=choices["shared"],
    )
    return Target(kernel.name, lambda: launch)


def _extent(flag: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InvalidInput(f"{flag} must be whole numbers such as 4096 or 64,64, got {text!r}") from error


def _argument(text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"--arg {text}: {HOW_TO_WRITE}") from error
    try:
        return argument_from_data(value)
    except InvalidInput as error:
        raise InvalidInput(f"--arg {text}: {error}") from error


def _show(shown: ProfileFile | None, path: Path, *, as_json: bool) -> None:
    """Prints the profiles; an export alone prints only its remark."""
    if not as_json:
        if shown is not None:
            print_profiles(shown, path)
        return
    print_json(
        {
            "gpushare": gpushare.__version__,
            "store": str(path),
            "kernels": [to_document(each) for each in (shown.kernels if shown else ())],
            "devices": [to_document(each) for each in (shown.devices if shown else ())],
        }
    )
