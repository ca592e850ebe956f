# SPDX-License-Identifier: Apache-2.0
"""Chooses a device for each client that names none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpushare.checks import require
from gpushare.daemon.protocol.limits import MOST_GPUS
from gpushare.daemon.supervisor.worker_process import WorkerProcess

PLACEMENTS: Mapping[str, str] = {
    "least-loaded": "the device with the fewest clients",
    "first-fit": "the first device with enough free memory",
}
"""Those that need not know a client's kernels, of which there are none when it connects."""


def require_served_placement(place: str) -> None:
    """Raise InvalidInput, listing those there are, unless a server can place clients so."""
    why = ", as it goes by kernels and a client has none when it connects" if place.startswith("predicted") else ""
    require(place in PLACEMENTS, f"--place: no placement {place!r} for a server{why}; known: {', '.join(PLACEMENTS)}")


def chosen_worker(place: str, workers: Sequence[WorkerProcess], memory_bytes: int) -> WorkerProcess:
    """The worker for a new client, one that can be used where there is one.

    Args:
        place: one of PLACEMENTS.
        workers: those that the client may have, in order.
        memory_bytes: device memory that it says it will need; 0: it does not say.

    Raises:
        InvalidInput: no device has so much memory.
    """
    usable = [each for each in workers if each.is_usable] or list(workers)
    large = [each for each in usable if memory_bytes <= each.load.total_bytes]
    require(
        len(large) > 0,
        f"the client needs {memory_bytes} bytes of device memory, and the largest device has "
        f"{max(each.load.total_bytes for each in usable)}",
    )
    with_room = [each for each in large if max(memory_bytes, 1) <= each.load.free_bytes] or large
    return with_room[0] if place == "first-fit" else min(with_room, key=lambda each: each.load.clients)


def worker_of_gpu(workers: Sequence[WorkerProcess], gpu: int) -> WorkerProcess:
    """The worker that schedules a program on one of the GPUs that it keeps.

    Args:
        workers: those of all its GPUs, in order.
        gpu: number of the GPU among them.

    Raises:
        InvalidInput: it has no such GPU, or too many.
    """
    require(
        len(workers) <= MOST_GPUS,
        f"--all-gpus: a program is scheduled on {MOST_GPUS} GPUs at most, and it may use {len(workers)}: set "
        "CUDA_VISIBLE_DEVICES",
    )
    require(gpu < len(workers), f"the program has {len(workers)} GPUs here, and asks for number {gpu}")
    return workers[gpu]
