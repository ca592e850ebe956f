# SPDX-License-Identifier: Apache-2.0
"""The devices of a server: one worker each, and a name by which clients and operators know it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gpushare.backends.choice import ALL_GPUS
from gpushare.backends.cuda.device import is_cuda, ordinal_of
from gpushare.checks import require
from gpushare.daemon.settings import PROGRAMS
from gpushare.model.devices import COUNTED, named_devices

GPUS_OF_DRIVER = Path("/proc/driver/nvidia/gpus")
LIST_GPUS = "import json; from gpushare import _core; print(json.dumps(_core.cuda_device_uuids()))"
LIST_TIMEOUT_S = 120.0
VISIBLE = "CUDA_VISIBLE_DEVICES"
OF_CONTAINER = "NVIDIA_VISIBLE_DEVICES"
"""Set by NVIDIA's device plugin for Kubernetes, to UUIDs: a GPU that the container lacks must not be chosen."""
NUMBERED = re.compile(r"(?!cuda|programs)(?P<name>.+):(?P<number>[0-9]{1,9})")
"""One of several simulated devices."""


@cache
def visible_gpus(*, of_all: bool = False) -> list[str]:
    """The UUIDs of the GPUs, in the driver's order, without opening the driver in this process.

    Args:
        of_all: also of those that ``CUDA_VISIBLE_DEVICES`` hides.
    """
    environment = {name: value for name, value in os.environ.items() if not (of_all and name == VISIBLE)}
    try:
        listed = subprocess.run(
            [sys.executable, "-P", "-c", LIST_GPUS], env=environment, capture_output=True, timeout=LIST_TIMEOUT_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:  # a driver that hangs has no GPU to offer
        return []
    return json.loads(listed.stdout) if listed.returncode == 0 else []


def served_devices(texts: Sequence[str]) -> list[str]:
    """The names of all devices, from those in the configuration: several may stand in one.

    Raises:
        InvalidInput: one is named twice, there are GPUs and simulated devices, or there is no such GPU.

    >>> served_devices(["sim:h100*2", "programs"])
    ['sim:h100:0', 'sim:h100:1', 'programs']
    """
    names = [name for text in texts for name in _named(text)]
    kernels = [name for name in names if not is_programs(name)]
    gpus = [ordinal_of(name) for name in kernels if is_cuda(name)]
    for name in names:
        is_twice = names.count(name) > 1 or (is_cuda(name) and gpus.count(ordinal_of(name)) > 1)
        require(not is_twice, f"--device: expected different devices, got {name!r} twice")
        if is_programs(name):
            _require_gpu_of(name)
    require(
        len(gpus) in (0, len(kernels)), f"--device: expected GPUs or simulated devices, got both: {', '.join(kernels)}"
    )
    return names


def is_programs(name: str) -> bool:
    """Whether the device is for unmodified programs.

    >>> is_programs("programs"), is_programs("programs:1"), is_programs("cuda:0")
    (True, True, False)
    """
    return name.partition(":")[0] == PROGRAMS


def opened_as(name: str) -> str:
    """The name by which a worker opens its device.

    >>> opened_as("sim:h100:1"), opened_as("cuda:1")
    ('sim:h100', 'cuda:1')
    """
    numbered = NUMBERED.fullmatch(name)
    return numbered["name"] if numbered else name


def in_group(asked: str | None, names: Sequence[str]) -> list[str]:
    """The devices that a client may mean: without a name those of the kind that the server names first.

    >>> in_group(None, ["cuda:0", "cuda:1", "programs"]), in_group("programs", ["cuda:0", "programs:0", "programs:1"])
    (['cuda:0', 'cuda:1'], ['programs:0', 'programs:1'])
    """
    if asked is None:
        return [name for name in names if is_programs(name) == is_programs(names[0])]
    return [name for name in names if name == asked or (name.startswith(f"{asked}:") and asked != "cuda")]


def gpu_of(name: str) -> str | None:
    """The UUID of the GPU of a device for programs; None where it is for all GPUs."""
    number = name.removeprefix(PROGRAMS).removeprefix(":")
    return visible_gpus()[int(number)] if number else None


def among_gpus(visible: str | None, names: Sequence[str], of_container: str | None = None) -> list[str]:
    """Of the devices for programs, those on GPUs that a program may use.

    Args:
        visible: its CUDA_VISIBLE_DEVICES: numbers among the GPUs of its container, or beginnings of UUIDs; None: it is
            not set.
        names: of the devices.
        of_container: the UUIDs of its container's GPUs, as NVIDIA_VISIBLE_DEVICES has them; None: all.

    Raises:
        InvalidInput: it can use none of these GPUs.
    """
    if len(names) < 2 or visible == "" or (visible is None and of_container is None):
        return list(names)
    there = visible_gpus(of_all=VISIBLE in os.environ)
    if of_container is not None:
        there = _named_among(there, of_container)
    wanted = there if visible is None else _named_among(there, visible)
    found = [name for name in names if gpu_of(name) in wanted]
    said = {VISIBLE: visible, OF_CONTAINER: of_container}
    require(
        len(found) > 0,
        f"{', '.join(f'{name}={value}' for name, value in said.items() if value is not None)} names none of the GPUs "
        f"on which this server schedules programs: {', '.join(str(gpu_of(name)) for name in names)}",
    )
    return found


def _named_among(uuids: Sequence[str], text: str) -> list[str]:
    """Those of the GPUs that this names, in their order."""
    named = [each.strip() for each in text.split(",")]
    return [
        uuid
        for number, uuid in enumerate(uuids)
        if str(number) in named or any(each.startswith("GPU-") and uuid.startswith(each) for each in named)
    ]


def _require_gpu_of(name: str) -> None:
    number = name.removeprefix(PROGRAMS)
    if number:
        there = [f"{PROGRAMS}:{each}" for each in range(len(visible_gpus()))]
        require(name in there, f"--device: no device {name!r}; known: {', '.join([PROGRAMS, *there])}")


def _named(text: str) -> list[str]:
    names: list[str] = []
    for part in text.split(","):
        if part == PROGRAMS:
            names += _of_programs()
        elif part == ALL_GPUS:
            gpus = visible_gpus()
            require(
                len(gpus) > 0, f"--device {ALL_GPUS}: there is no GPU here, or no driver; gpushare doctor says more"
            )
            names += [f"cuda:{number}" for number in range(len(gpus))]
        elif COUNTED.fullmatch(part):
            same = [str(each) for each in named_devices(part)]
            names += [each if is_cuda(each) else f"{each}:{number}" for number, each in enumerate(same)]
        else:
            names.append(part)
    return names


def _of_programs() -> list[str]:
    """A device for each GPU."""
    gpus = [] if _has_one_gpu() else visible_gpus()
    return [f"{PROGRAMS}:{number}" for number in range(len(gpus))] if len(gpus) > 1 else [PROGRAMS]


def _has_one_gpu() -> bool:
    """Whether the driver need not be asked, which takes a second."""
    if "GPUSHARE_LIBCUDA" in os.environ:
        return False
    return not GPUS_OF_DRIVER.is_dir() or len(os.listdir(GPUS_OF_DRIVER)) < 2
