# SPDX-License-Identifier: Apache-2.0
"""Clients that do not behave: nothing but errors for themselves, and a server that goes on."""

import contextlib
import os
import random
import socket
import struct
import time

import msgpack
import pytest

import gpushare as gs
from gpushare.daemon import limits
from gpushare.daemon.arena import Arena
from gpushare.daemon.errors import ProtocolError
from gpushare.daemon.messages import REQUESTS
from gpushare.daemon.wire import Channel, packed

HELLO = {"v": limits.PROTOCOL_VERSION, "id": 0, "do": "hello"}


@pytest.fixture(autouse=True)
def goes_on(server, run, eventually):
    """Whatever a test does, others are served as before, by the same worker."""

    def started():
        with gs.connect(server) as session:
            return session.status()["started_s"]

    before = started()
    yield
    with gs.connect(server) as session:
        array = session.zeros(3)
        run(session.application("healthy"), "add", array, 1).result(30)
        assert array.numpy().tolist() == [1, 1, 1]
        eventually(lambda: len(session.status()["clients"]) == 1)
        assert session.status()["memory"]["used_bytes"] == 12
    assert started() == before


def everything_from(connection):
    connection.settimeout(30)
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            data += part
    return data


def error_in(data):
    return msgpack.unpackb(data[4:])["error"]


@pytest.mark.parametrize("version", [0, 1, "2", None, 2.0, True])
def test_another_version_is_refused_naming_both(raw, version):
    connection = raw()
    connection.sendall(packed(HELLO | {"v": version}))
    error = error_in(everything_from(connection))
    assert error["kind"] == "ProtocolError"
    assert f"speaks version {version!r} of the protocol, the server version 2" in error["message"]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"v": limits.PROTOCOL_VERSION, "id": 0, "do": "status"}, "the first message must be 'hello', got 'status'"),
        (HELLO | {"device": 3}, "key 'device': Input should be a valid string"),
        (HELLO | {"more": 3}, "unknown key 'more'"),
        (HELLO | {"id": -1}, "no id that could be answered: -1"),
        (HELLO | {"name": "x" * 300}, "at most 256 characters"),
        (HELLO | {"device": "sim:other"}, "this server has no device 'sim:other'"),
    ],
)
def test_a_bad_hello_is_refused(raw, message, said):
    connection = raw()
    connection.sendall(packed(message))
    assert said in error_in(everything_from(connection))["message"]


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<I", limits.MOST_MESSAGE_BYTES + 1),
        struct.pack("<I", 2**32 - 1) + b"x" * 100,
        struct.pack("<I", 0),
        struct.pack("<I", 3) + b"\xc1\xc1\xc1",
        struct.pack("<I", 1) + b"\x01",
        struct.pack("<I", 60_000) + b"\x91" * 60_000,
        struct.pack("<I", 5) + b"\xdd\xff\xff\xff\xff",
        packed({"a": 1})[:-1] + b"\xff",
    ],
)
def test_what_is_no_message_ends_the_connection(raw, channel, data):
    connection = raw()
    connection.sendall(data)
    assert error_in(everything_from(connection))["kind"] == "ProtocolError"
    channel._connection.sendall(data)
    answer, _ = channel.receive()
    assert answer["error"]["kind"] == "ProtocolError"
    with pytest.raises((EOFError, OSError)):
        channel.receive()


@pytest.mark.parametrize("kept", [0, 1, 3, 4, 10])
def test_half_a_message_harms_nobody(raw, kept):
    for first in (b"", packed(HELLO)):
        connection = raw()
        connection.sendall(first + packed(HELLO)[:kept])
        connection.close()


def test_who_says_nothing_is_dropped(raw, monkeypatch):
    monkeypatch.setattr("gpushare.daemon.supervisor.HELLO_TIMEOUT_S", 0.2)
    connection = raw()
    began = time.monotonic()
    assert everything_from(connection) == b""
    assert time.monotonic() - began < 5


def test_too_many_who_say_nothing_do_not_keep_others_waiting_for_ever(raw, monkeypatch, server):
    monkeypatch.setattr("gpushare.daemon.supervisor.HELLO_TIMEOUT_S", 0.5)
    silent = [raw() for _ in range(limits.MOST_GREETINGS + 20)]
    for connection in silent:
        everything_from(connection)
    gs.connect(server).close()


def test_a_client_that_never_reads_is_dropped(raw):
    connection = raw()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.sendall(packed(HELLO))
    connection.settimeout(3 * limits.SEND_TIMEOUT_S)
    many = packed({"v": limits.PROTOCOL_VERSION, "id": 1, "do": "status"}) * 1_000_000  # far more than the sockets hold answers to
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        connection.sendall(many)


WRONG = [
    ("nothing", {}, "no request 'nothing'; known: application, kernel"),
    ("submit", {}, "no request 'submit'"),
    ("shape", {}, "key 'kernel' is missing"),
    ("shape", {"kernel": 1, "block": [0]}, "greater than or equal to 1"),
    ("array", {"shape": [-1], "dtype": "<f4"}, "greater than or equal to 0"),
    ("array", {"shape": [2**60], "dtype": "<f4"}, "less than or equal to"),
    ("array", {"shape": [2**40] * 3, "dtype": "<f4"}, "larger than any device's memory"),
    ("array", {"shape": [2**40], "dtype": "<f4"}, "the device has 80000000000 to give out"),
    ("array", {"shape": [1], "dtype": "O"}, "String should match pattern"),
    ("array", {"shape": [1], "dtype": "<f3"}, "no dtype '<f3'"),
    ("array", {"shape": "1", "dtype": "<f4"}, "valid list"),
    ("application", {"name": ""}, "at least 1 character"),
    ("application", {"name": "it's"}, "String should match pattern"),
    ("application", {"name": "a", "priority": 1}, "priority 1 is above 0, the highest that the server permits"),
    ("application", {"name": "a", "weight": float("nan")}, "finite number"),
    ("application", {"name": "a", "weight": 0.0}, "greater than or equal to"),
    ("kernel", {"name": "k", "source_bytes": 10, "file_name": "k.cu"}, "needs one descriptor beside it, got 0"),
    ("kernel", {"name": "k", "source_bytes": 2**30, "file_name": "k.cu"}, "less than or equal to 16777216"),
    ("arena", {"bytes": 10}, "needs one descriptor beside it, got 0"),
    ("model", {"fields": {"name": "k"}}, "a KernelModel has name, threads"),
    ("model", {"fields": {"name": "k", "threads": 32, "latency_ns": 10, "colour": 3}}, "a KernelModel has name"),
    ("model", {"fields": {"name": "k", "threads": 0, "latency_ns": 10}}, "threads must lie in 1"),
    ("trace", {"seconds": 0.0}, "greater than 0"),
    ("policy", {"policy": "fifi"}, "no policy 'fifi'"),
    ("priority", {"application": "nobody", "priority": 1}, "no application 'nobody'"),
]


@pytest.mark.parametrize(("verb", "fields", "said"), WRONG, ids=lambda value: str(value)[:30])
def test_wrong_requests_are_answered_with_what_is_wrong(ask, verb, fields, said):
    _, message = ask(verb, **fields)
    assert said in message
    assert isinstance(ask("status"), dict)


def forged(handle):
    return [
        ("shape", {"kernel": handle, "block": [1]}),
        ("read", {"array": handle, "arena": 1}),
        ("write", {"array": 1, "arena": handle}),
        ("free", {"arrays": [handle]}),
        ("drop_arena", {"arena": handle}),
        ("load", {"kernel": handle}),
        ("cancel", {"application": handle}),
    ]


def test_handles_of_others_mean_nothing(session, ask, run):
    """The session's client has the first of everything; this one has nothing."""
    secret = session.array([42.0] * 3)
    run(session.application("alice"), "add", secret, 0.0).result(30)
    first = 1 << 32  # of a port
    for handle in (1, 2, 3, 2**40, first, first + 1):
        for verb, fields in forged(handle):
            kind, message = ask(verb, **fields)
            assert kind == "InvalidInput"
            assert "this client has no" in message
    assert secret.numpy().tolist() == [42.0] * 3


def own_handles(ask):
    """One of everything."""
    source, shared = Arena.made(1), Arena.made(100)
    return {
        "application": ask("application", name="a"),
        "kernel": ask("kernel", source.descriptor, name="add", source_bytes=0, file_name="k.cu"),
        "array": ask("array", shape=[3], dtype="<f4"),
        "arena": ask("arena", shared.descriptor, bytes=100),
    }


def test_freed_handles_are_not_given_out_again(ask):
    own = own_handles(ask)
    assert ask("free", arrays=[own["array"]]) is True
    assert f"this client has no array {own['array']}" in ask("read", array=own["array"], arena=own["arena"])[1]
    assert ask("array", shape=[3], dtype="<f4") != own["array"]
    assert f"this client has no array {own['array']}" in ask("free", arrays=[own["array"]])[1]


def test_shared_memory_must_be_sealed_and_as_large_as_said(ask, tmp_path):
    unsealed = os.memfd_create("x", os.MFD_ALLOW_SEALING)
    os.ftruncate(unsealed, 4096)
    with (tmp_path / "file").open("wb+") as file:
        file.truncate(4096)
        read, write = os.pipe()
        for descriptor in (unsealed, file.fileno(), read):
            assert "must be a memfd that is sealed against shrinking" in ask("arena", descriptor, bytes=4096)[1]
        for each in (unsealed, read, write):
            os.close(each)
    sealed = Arena.made(4096)
    assert "shared memory of 4096 bytes was said to have 4097" in ask("arena", sealed.descriptor, bytes=4097)[1]
    array = ask("array", shape=[2000], dtype="<f4")
    assert ask("arena", sealed.descriptor, bytes=4096) == 1
    assert "the shared memory has 4096 bytes, too few" in ask("read", array=array, arena=1)[1]


def test_descriptors_nobody_asked_for_are_closed(ask, session):
    before = session.status()["descriptors"]
    read, write = os.pipe()
    for _ in range(50):
        ask("status", read, write, read)
        ask("nothing", read)
        ask("arena", read, write, bytes=10)
    os.close(read)
    os.close(write)
    assert session.status()["descriptors"] < before + 10  # who looks at the status has some open meanwhile


def test_too_many_descriptors_end_the_connection(channel):
    read, write = os.pipe()
    channel.send({"v": limits.PROTOCOL_VERSION, "id": 1, "do": "status"}, [read] * (limits.MOST_DESCRIPTORS + 3))
    answer, _ = channel.receive()
    assert "descriptors came with one message" in answer["error"]["message"]
    os.close(read)
    os.close(write)


def random_value(chance, depth=0):
    simple = [
        lambda: chance.choice([None, True, False, -1, 0, 1, 2**31, 2**63 - 1, -(2**63), 1.5, float("inf")]),
        lambda: chance.randbytes(chance.randrange(20)),
        lambda: "".join(chr(chance.choice([0, 39, 64, 97, 255, 0x1F600])) for _ in range(chance.randrange(10))),
        lambda: msgpack.ExtType(chance.randrange(127), b"x"),
        lambda: chance.choice(["<f4", "add", "a", [1], [3], {"array": 1}]),
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
            fields[name] = chance.randrange(3)
    return {"v": limits.PROTOCOL_VERSION, "id": chance.randrange(9), "do": verb} | fields


@pytest.mark.parametrize("seed", range(3))
def test_random_requests_get_errors_and_nothing_else(ask, channel, seed):
    own_handles(ask)
    chance = random.Random(seed)
    kinds = set()
    for _ in range(500):
        request = random_request(chance)
        if request["do"] in ("policy", "priority"):
            continue  # those would be carried out for everybody
        channel.send(request)
        while "event" in (answer := channel.receive()[0]):
            pass
        kinds.add(answer.get("error", {}).get("kind"))
        assert "bug" not in answer.get("error", {}).get("message", "")
    assert kinds <= {None, "InvalidInput", "RefusedError", "TimeoutError", "CompileError"}


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes_after_a_hello(raw, seed):
    chance = random.Random(seed)
    connection = raw()
    connection.sendall(packed(HELLO))
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for _ in range(50):
            body = chance.randbytes(chance.randrange(200))
            connection.sendall(struct.pack("<I", len(body)) + body)
    assert b"ProtocolError" in everything_from(connection)


def test_a_message_that_is_too_large_is_not_sent(channel):
    with pytest.raises(ProtocolError, match="at most 1048576 can be sent"):
        channel.send({"x": b"x" * limits.MOST_MESSAGE_BYTES})


def test_who_does_not_read_keeps_no_sender(monkeypatch):
    ours, theirs = socket.socketpair()
    channel = Channel(ours, send_timeout_s=0.2)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with pytest.raises(TimeoutError, match=r"has not read for 0\.2 s"):
        channel.send({"x": b"x" * 100_000})
    channel.release()
    theirs.close()
