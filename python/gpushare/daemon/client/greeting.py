# SPDX-License-Identifier: Apache-2.0
"""The client's side of a connection's first messages."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from gpushare import _core
from gpushare.daemon.errors import WorkerLostError, from_message
from gpushare.daemon.protocol.limits import PROTOCOL_VERSION, WELCOME_TIMEOUT_S
from gpushare.daemon.protocol.wire import Channel, Message, close_all
from gpushare.printable import own_name


@dataclass(frozen=True)
class Wish:
    """The device that a client asks for.

    Attributes:
        device: one of the server's, or what several have in common; None: those that the server names first.
        memory_bytes: device memory that it will need; 0: it does not say.
        watches: it runs nothing, so that it counts for no placement.
        gpus: CUDA_VISIBLE_DEVICES of a program; None: it is not set.
        gpus_of_container: NVIDIA_VISIBLE_DEVICES of a program's container; None: all.
        gpu: for a program that keeps all these GPUs, the number of one of them; None: the server chooses the only one.
    """

    device: str | None = None
    memory_bytes: int = 0
    watches: bool = False
    gpus: str | None = None
    gpus_of_container: str | None = None
    gpu: int | None = None


ANY_DEVICE = Wish()


def greeted(channel: Channel, path: Path, wish: Wish) -> tuple[Message, _core.ClientPort]:
    """The worker's welcome, and the rings that come with it.

    Raises:
        WorkerLostError: no answer arrives.
        RefusedError: the server refuses; or another error that it sends.
    """
    answer, descriptors = _answer(channel, path, wish)
    if "error" in answer or len(descriptors) != 2:
        close_all(descriptors)
        raise from_message(answer.get("error", {"kind": "ProtocolError", "message": "the worker sent no rings"}))
    return answer["ok"], _core.ClientPort(*descriptors)


def _answer(channel: Channel, path: Path, wish: Wish) -> tuple[Message, list[int]]:
    name = own_name(Path(sys.argv[0]).name) or "python"
    ends_s = time.monotonic() + WELCOME_TIMEOUT_S
    timer = threading.Timer(WELCOME_TIMEOUT_S, channel.close)
    timer.daemon = True
    timer.start()
    try:
        channel.send({"v": PROTOCOL_VERSION, "id": 0, "do": "hello", "name": name, **asdict(wish)})
        return channel.receive()
    except (EOFError, OSError) as error:
        why = f"no answer for {WELCOME_TIMEOUT_S:g} s" if time.monotonic() >= ends_s else str(error)
        raise WorkerLostError(f"the server at {path} does not answer: {why}") from error
    finally:
        timer.cancel()
