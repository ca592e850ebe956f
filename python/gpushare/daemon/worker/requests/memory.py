# SPDX-License-Identifier: Apache-2.0
"""Handlers of requests about arrays in device memory and shared memory for copies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np

from gpushare._core import InvalidInput
from gpushare.arguments.device_array import DeviceArray
from gpushare.checks import MOST_BYTES, require
from gpushare.daemon.protocol.arena import Arena
from gpushare.daemon.protocol.limits import LONGEST_WAIT_FOR_MEMORY_S, MOST_ARENA_BYTES
from gpushare.daemon.protocol.messages import AllocateArray, CopyArray, DropArena, FindVariable, FreeArrays, ShareArena
from gpushare.daemon.worker.memory_accounts import Ticket
from gpushare.daemon.worker.requests.shared_arrays import shared_zeros, taken_by_shared
from gpushare.daemon.worker.served_array import ServedArray
from gpushare.daemon.worker.served_client import ServedClient, descriptor_in


def allocate(client: ServedClient, request: AllocateArray, number: int, _descriptors: list[int]) -> int | None:
    """Allocates at once where possible; else a separate thread waits, so that the client can free arrays meanwhile."""
    amount = math.prod(request.shape) * _dtype(request.dtype).itemsize
    require(amount <= MOST_BYTES, f"an array of {amount} bytes is larger than any device's memory")
    if request.shared:
        amount = taken_by_shared(client.worker.session.device, amount)
    accounts = client.worker.accounts
    ticket = accounts.take(client.number, amount, client.grant.memory_bytes)
    if ticket is None:
        return _made(client, request, amount)
    try:
        client.answer_later(lambda: _wait_and_answer(client, request, ticket, number))
    except BaseException:
        accounts.leave(ticket)
        raise
    return None


def _wait_and_answer(client: ServedClient, request: AllocateArray, ticket: Ticket, number: int) -> None:
    try:
        patience_s = min(request.patience_s, LONGEST_WAIT_FOR_MEMORY_S)
        client.worker.accounts.wait_for(ticket, patience_s, client.is_gone.is_set)
        client.answer_with(number, lambda: _made(client, request, ticket.bytes))
    except EOFError:
        pass
    except TimeoutError as error:
        client.refuse(number, error)


def _made(client: ServedClient, request: AllocateArray, amount: int) -> int:
    """The array is zeroed, so that no client can read data of another."""
    accounts = client.worker.accounts
    try:
        array = _zeros(client.worker.session, tuple(request.shape), _dtype(request.dtype), request.shared)
    except BaseException:
        accounts.give_back(client.number, amount)
        raise
    return _served(client, ServedArray(array, lambda: accounts.give_back(client.number, amount)), amount)


def _served(client: ServedClient, served: ServedArray, amount: int) -> int:
    address = client.worker.session.kernels.address_of(served.array)
    try:
        handle = client.port.add_array(address, amount, served.give_up, client.worker.released)
    except BaseException:
        served.give_up()
        raise
    client.arrays.put(handle, served)
    if client.is_gone.is_set():
        client.port.remove_arrays()
    return handle


def find_variable(client: ServedClient, request: FindVariable, _number: int, _descriptors: list[int]) -> dict[str, Any]:
    """Its memory is its module's, and is accounted for with that."""
    served, session = client.kernels[request.kernel], client.worker.session.kernels
    served.module = session.module_of(served.kernel)
    found, array = session.variable(served.kernel, request.name, client.code)
    handle = _served(client, ServedArray(array, lambda: None), found.bytes)
    return {"array": handle, "module": served.module, "variable": asdict(found) | {"extents": list(found.extents)}}


def _zeros(session: Any, shape: tuple[int, ...], dtype: np.dtype, is_shared: bool) -> DeviceArray:
    return shared_zeros(session.device, shape, dtype) if is_shared else session.kernels.zeros(shape, dtype)


def _dtype(text: str) -> np.dtype:
    try:
        return np.dtype(text)
    except TypeError as error:
        raise InvalidInput(f"no dtype {text!r}") from error


def free(client: ServedClient, request: FreeArrays, _number: int, _descriptors: list[int]) -> bool:
    """Frees every array, even if another handle is unknown."""
    unknown = []
    for handle in request.arrays:
        try:
            client.arrays.take(handle)
            client.port.remove_array(handle, request.after)
        except InvalidInput as error:
            unknown.append(error)
    if unknown:
        raise unknown[0]
    return True


def share(client: ServedClient, request: ShareArena, _number: int, descriptors: list[int]) -> int:
    """Maps the client's shared memory."""
    descriptor = descriptor_in(descriptors)
    arena = Arena.received(descriptor, request.bytes)
    try:
        client.worker.pinning.pin(arena)
        require(sum(each.size for each in client.arenas) + arena.size <= MOST_ARENA_BYTES, "too much shared memory")
        return client.arenas.add(arena)
    except BaseException:
        arena.close()
        raise


def drop(client: ServedClient, request: DropArena, _number: int, _descriptors: list[int]) -> bool:
    """Unmaps shared memory."""
    client.arenas.take(request.arena).close()
    return True


def write(client: ServedClient, request: CopyArray, _number: int, _descriptors: list[int]) -> bool:
    """Copies from shared memory to the device."""
    with _both_sides(client, request) as (memory, host):
        memory.upload(host, request.array_offset)
    return True


def read(client: ServedClient, request: CopyArray, _number: int, _descriptors: list[int]) -> bool:
    """Copies from the device to shared memory."""
    with _both_sides(client, request) as (memory, host):
        memory.download(host, request.array_offset)
    return True


@contextmanager
def _both_sides(client: ServedClient, request: CopyArray) -> Iterator[tuple[Any, np.ndarray]]:
    served, arena = client.arrays[request.array], client.arenas[request.arena]
    array = served.use()
    try:
        _require_within("array", array.nbytes, request.array_offset, request.bytes)
        _require_within("shared memory", arena.size, request.arena_offset, request.bytes)
        yield array.memory, np.frombuffer(arena.view, np.uint8, request.bytes, request.arena_offset)
    finally:
        served.used()


def _require_within(what: str, size: int, offset: int, count: int) -> None:
    require(offset + count <= size, f"{count} bytes at offset {offset} exceed the {what} of {size} bytes")
