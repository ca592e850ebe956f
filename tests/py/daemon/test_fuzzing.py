# SPDX-License-Identifier: Apache-2.0
"""Random requests, requests with wrong bytes, and bytes that are no requests: errors for who sends them, nothing else.

GPUSHARE_FUZZ_SEEDS says how many streams of each there are.
"""

import contextlib
import os
import random
import struct

import msgpack
import pytest

from gpushare.daemon.protocol import limits
from gpushare.daemon.protocol.arena import Arena
from gpushare.daemon.protocol.messages import REQUESTS
from gpushare.daemon.protocol.wire import Channel, packed

FUZZ_SEEDS = int(os.environ.get("GPUSHARE_FUZZ_SEEDS", "3"))
HELLO = {"v": limits.PROTOCOL_VERSION, "id": 0, "do": "hello"}
FIRST = 1 << 32
"""Of the handles of applications and arrays."""

pytestmark = pytest.mark.usefixtures("goes_on")


@pytest.fixture
def owner(ask, channel):
    """The channel of a client that has one of everything."""
    source, shared = Arena.made(1), Arena.made(100)
    assert ask("application", name="a") == FIRST
    assert ask("kernel", source.descriptor, name="add", source_bytes=0, file_name="k.cu") == 1
    assert ask("array", shape=[3], dtype="<f4") == FIRST
    assert ask("arena", shared.descriptor, bytes=100) == 1
    return channel


def random_value(chance, depth=0):
    simple = [
        lambda: chance.choice([None, True, False, -1, 0, 1, 2**31, 2**63 - 1, -(2**63), 1.5, float("inf")]),
        lambda: chance.randbytes(chance.randrange(20)),
        lambda: "".join(chr(chance.choice([0, 39, 64, 97, 255, 0x1F600])) for _ in range(chance.randrange(10))),
        lambda: msgpack.ExtType(chance.randrange(127), b"x"),
        lambda: chance.choice(["<f4", "add", "a", [1], [3], {"array": FIRST}]),
    ]
    nested = [
        lambda: [random_value(chance, depth + 1) for _ in range(chance.randrange(4))],
        lambda: {str(random_value(chance, 3)): random_value(chance, depth + 1) for _ in range(chance.randrange(4))},
    ]
    return chance.choice(simple if depth > 2 else simple + nested)()


def random_request(chance):
    verb = chance.choice(list(REQUESTS))
    fields = {name: random_value(chance) for name in REQUESTS[verb].model_fields if chance.random() < 0.9}
    for name in ("application", "kernel", "array", "arena", "job"):
        if name in fields and chance.random() < 0.7:
            fields[name] = chance.choice([0, 1, 2, FIRST, FIRST + 1])
    return {"v": limits.PROTOCOL_VERSION, "id": chance.randrange(9), "do": verb} | fields


@pytest.mark.parametrize("seed", range(FUZZ_SEEDS))
def test_random_requests_get_errors_and_nothing_else(owner, hear, seed):
    chance = random.Random(seed)
    kinds = set()
    for _ in range(500):
        request = random_request(chance)
        if request["do"] in ("policy", "priority"):
            continue  # those would be carried out for everybody
        owner.send(request)
        while "event" in (answer := hear(owner)):
            pass
        kinds.add(answer.get("error", {}).get("kind"))
        assert "bug" not in answer.get("error", {}).get("message", "")
    assert kinds <= {None, "InvalidInput", "RefusedError", "TimeoutError", "CompileError"}


def spoilt(chance, message):
    """A message with some bytes changed, left out or put in between."""
    body = bytearray(packed(message)[4:])
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(body))
        how = chance.randrange(3)
        if how == 0:
            body[place] ^= 1 << chance.randrange(8)
        elif how == 1 and len(body) > 1:
            del body[place]
        else:
            body.insert(place, chance.randrange(256))
    return struct.pack("<I", len(body)) + bytes(body)


def sound_request(chance):
    return {"v": limits.PROTOCOL_VERSION, "id": 1} | chance.choice([
        {"do": "array", "shape": [3], "dtype": "<f4"},
        {"do": "shape", "kernel": 1, "block": [1], "shared_bytes": chance.randrange(2**20)},
        {"do": "free", "arrays": [FIRST]},
        {"do": "unload", "kernels": [1], "after": chance.randrange(3)},
        {"do": "application", "name": "b"},
        {"do": "kernel", "name": "add", "source_bytes": 0, "file_name": "k.cu"},
        {"do": "cancel", "application": FIRST},
        {"do": "own_priority", "application": FIRST, "priority": -1},
        {"do": "read", "array": FIRST, "array_offset": 0, "arena": 1, "arena_offset": 0, "bytes": 4},
        {"do": "status"},
    ])  # fmt: skip


@pytest.mark.parametrize("seed", range(FUZZ_SEEDS))
def test_spoilt_requests_are_answered_or_end_the_connection(raw, hear, seed):
    chance = random.Random(seed)
    channel = None
    for _ in range(200):
        if channel is None:
            connection = raw()
            channel = Channel(connection)
            channel.send(HELLO)
            hear(channel)
        try:
            connection.sendall(spoilt(chance, sound_request(chance)))
            answer = hear(channel)
        except (EOFError, OSError):
            channel = None
            continue
        assert "bug" not in answer.get("error", {}).get("message", "")
        if answer.get("event") == "dropped":
            channel = None


@pytest.mark.parametrize("seed", range(FUZZ_SEEDS + 2))
def test_random_bytes_after_a_hello(raw, seed):
    chance = random.Random(seed)
    connection = raw()
    connection.sendall(packed(HELLO))
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for _ in range(50):
            body = chance.randbytes(chance.randrange(200))
            connection.sendall(struct.pack("<I", len(body)) + body)
    connection.settimeout(30)
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            said += part
    assert b"ProtocolError" in said
