# SPDX-License-Identifier: Apache-2.0
"""Requests of clients: one schema per request, named as in its field ``do``. Unknown fields are refused."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from gpushare._core import InvalidInput
from gpushare.checks import MOST_BYTES
from gpushare.daemon.errors import ProtocolError
from gpushare.daemon.protocol import limits
from gpushare.files.schema import Schema, checked
from gpushare.model.service_level import DEADLINES_NS, LATENCIES_NS, MIN_SPEEDS, WEIGHTS, Terms
from gpushare.model.workload import PRIORITIES

Handle = Annotated[int, Field(ge=0, lt=2**63)]
Bytes = Annotated[int, Field(ge=0, le=MOST_BYTES)]
CONTROLS = r"\x00-\x1f\x7f-\x9f"
"""Control characters of terminals, on which names are printed: C0, DEL and C1."""
Name = Annotated[str, Field(min_length=1, max_length=limits.MOST_NAME, pattern=rf"^[^{CONTROLS}]+$")]
Text = Annotated[str, Field(max_length=4096)]
Extent = Annotated[list[Annotated[int, Field(ge=1, le=2**31 - 1)]], Field(min_length=1, max_length=3)]
Priority = Annotated[int, Field(ge=PRIORITIES[0], le=PRIORITIES[1])]


class Hello(Schema):
    """The first message of a connection."""

    device: Name | None = None
    """One of the server's, or what several have in common; none: those that the server names first."""
    name: Name = "client"
    memory_bytes: Bytes = 0
    """Device memory that it will need, for its placement."""
    watches: bool = False
    """It runs nothing, so that it counts for no placement."""
    gpus: Text | None = None
    """CUDA_VISIBLE_DEVICES of a program."""
    gpus_of_container: Text | None = None
    """NVIDIA_VISIBLE_DEVICES of a program's container, where it names GPUs by their UUIDs."""
    gpu: Annotated[int, Field(ge=0, lt=limits.MOST_GPUS)] | None = None
    """A program that keeps all these GPUs is to be scheduled on the one of this number, too."""


class OpenApplication(Schema):
    """Opens an application; the answer is its handle. Messages quote its name, so it must have no quotes."""

    name: Annotated[str, Field(min_length=1, max_length=limits.MOST_NAME, pattern=rf"^[^{CONTROLS}'\"]+$")]
    priority: Priority = 0
    weight: Annotated[float, Field(ge=WEIGHTS[0], le=WEIGHTS[1])] = 1.0
    deadline_ns: Annotated[float, Field(ge=DEADLINES_NS[0], le=DEADLINES_NS[1])] | None = None
    min_speed: Annotated[float, Field(ge=MIN_SPEEDS[0], le=MIN_SPEEDS[1])] | None = None
    latency_ns: Annotated[float, Field(ge=LATENCIES_NS[0], le=LATENCIES_NS[1])] | None = None

    @property
    def terms(self) -> Terms:
        """Its service level, which has all but the priority."""
        return Terms(self.weight, self.deadline_ns, self.min_speed, self.latency_ns)


class RegisterKernel(Schema):
    """Registers a kernel. Its source or cubin comes in a shared file with the message; the answer is its handle."""

    name: Name
    source_bytes: Annotated[int, Field(ge=0, le=limits.MOST_CUBIN_BYTES)]
    file_name: Name
    folder: Text | None = None
    is_cubin: bool = False
    parameters: Annotated[list[Text], Field(max_length=limits.MOST_ARGUMENTS)] | None = None
    preemptible: bool = True
    names: Annotated[list[Text], Field(default_factory=list, max_length=limits.MOST_NAMES)]
    options: Annotated[list[Text], Field(default_factory=list, max_length=limits.MOST_OPTIONS)]


class RegisterModel(Schema):
    """Registers a kernel model for a simulated device; the answer is its handle."""

    fields: Annotated[dict[str, str | int | float | None], Field(max_length=64)]


class LoadKernel(Schema):
    """Compiles and loads a kernel now. The answer has the identity of its variables' module, if it has any."""

    kernel: Handle


class UnloadKernels(Schema):
    """Unloads kernels, each once its launches have ended, up to this number in the ring."""

    kernels: Annotated[list[Handle], Field(max_length=4096)]
    after: Handle = 0


class AllocateArray(Schema):
    """Allocates zeroed device memory; waits up to ``patience_s`` for free memory. The answer is its handle."""

    shape: Annotated[list[Bytes], Field(max_length=64)]
    dtype: Annotated[str, Field(pattern=r"^[<>|=]?[biufcV][0-9]{1,9}$")]
    shared: bool = False
    patience_s: Annotated[float, Field(ge=0, le=1e6)] = 60.0


class FreeArrays(Schema):
    """Frees arrays, each once its jobs have ended, up to this number in the ring."""

    arrays: Annotated[list[Handle], Field(max_length=4096)]
    after: Handle = 0


class ShareArena(Schema):
    """Registers shared memory. Its file comes with the message; the answer is its handle."""

    bytes: Annotated[int, Field(ge=1, le=limits.MOST_ARENA_BYTES)]


class DropArena(Schema):
    """Drops shared memory."""

    arena: Handle


class CopyArray(Schema):
    """Copies bytes of an array from or to shared memory."""

    array: Handle
    array_offset: Bytes
    arena: Handle
    arena_offset: Bytes
    bytes: Annotated[int, Field(ge=1, le=MOST_BYTES)]


class ExportArray(Schema):
    """Exports a shared array for the client's CUDA context: the descriptor, with its size and GPU."""

    array: Handle


class ShapeKernel(Schema):
    """Announces launches of a kernel with this block through the ring.

    The answer is the number to use there, and the kernel's parameters, where arguments are checked.
    """

    kernel: Handle
    block: Extent
    shared_bytes: Annotated[int, Field(ge=0, le=2**20)] = 0


class FindVariable(Schema):
    """Finds a variable of a kernel's source, of which the client has its own copy.

    The answer is its handle as an array, and its description.
    """

    kernel: Handle
    name: Text


class CancelApplication(Schema):
    """Drops queued jobs of an application; a running one stops at the next block boundary.

    Attributes:
        after: the last job in the ring that may belong to it.
    """

    application: Handle
    after: Handle = 0


class AttachProgram(Schema):
    """Attaches a program that gpushare run has started as the application. Its shared memory comes with the message."""

    application: Handle


class AskStatus(Schema):
    """Asks for the server's status."""


class AskMetrics(Schema):
    """Asks for counters of all users' applications, for Prometheus."""


class SetPolicy(Schema):
    """Changes the policy."""

    policy: Name


class SetPriority(Schema):
    """Changes the priority of any client's application, by its name in the status."""

    application: Name
    priority: Priority


class SetOwnPriority(Schema):
    """Changes the priority of an application of this client, within its limit."""

    application: Handle
    priority: Priority


class TakeHistory(Schema):
    """Asks for the recent history, which comes in a shared file.

    Attributes:
        of_all: of the applications of all clients, for operators; else of this client's.
    """

    seconds: Annotated[float, Field(ge=0, le=1e6)]
    of_all: bool = False


class TakeTrace(Schema):
    """Asks for a Perfetto trace of a window, in seconds before now, which comes in a shared file."""

    seconds: Annotated[float, Field(gt=0, le=1e6)]
    until_s: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    part: Annotated[int, Field(ge=0, le=64)] = 0
    """Of a trace of several devices, counted from 1, whose tracks are named after their devices."""


REQUESTS: dict[str, type[Schema]] = {
    "application": OpenApplication,
    "kernel": RegisterKernel,
    "model": RegisterModel,
    "load": LoadKernel,
    "unload": UnloadKernels,
    "array": AllocateArray,
    "free": FreeArrays,
    "arena": ShareArena,
    "drop_arena": DropArena,
    "write": CopyArray,
    "read": CopyArray,
    "export": ExportArray,
    "shape": ShapeKernel,
    "variable": FindVariable,
    "cancel": CancelApplication,
    "own_priority": SetOwnPriority,
    "program": AttachProgram,
    "history": TakeHistory,
    "status": AskStatus,
    "metrics": AskMetrics,
    "policy": SetPolicy,
    "priority": SetPriority,
    "trace": TakeTrace,
}


class Named(Schema):
    """The fields of a kernel model that are printed."""

    name: Name


def require_version(message: dict[str, Any]) -> None:
    """Raises ProtocolError, naming both versions, unless the message has this protocol's version."""
    spoken = message.get("v")
    if type(spoken) is not int or spoken != limits.PROTOCOL_VERSION:
        raise ProtocolError(
            f"the client speaks version {spoken!r} of the protocol, the server version {limits.PROTOCOL_VERSION}: "
            "install the same release of gpushare for both"
        )


def number_of(message: dict[str, Any]) -> int:
    """The id that the answer will have.

    Raises:
        ProtocolError: the message has none.
    """
    number = message.get("id")
    if type(number) is not int or not 0 <= number < 2**63:
        raise ProtocolError(f"a request has no id that could be answered: {number!r}")
    return number


def hello_in(message: dict[str, Any]) -> Hello:
    """The first message, checked."""
    require_version(message)
    if message.get("do") != "hello":
        raise ProtocolError(f"the first message must be 'hello', got {message.get('do')!r}")
    return checked(_fields(message), Hello)


def request_in(message: dict[str, Any]) -> tuple[str, Schema]:
    """A request, checked.

    Raises:
        InvalidInput: there is no such request, or a field is wrong; the message names it.
    """
    verb = message.get("do")
    if not isinstance(verb, str) or verb not in REQUESTS:
        raise InvalidInput(f"no request {verb!r}; known: {', '.join(REQUESTS)}")
    return verb, checked(_fields(message), REQUESTS[verb])


def _fields(message: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key not in ("v", "id", "do")}
