# SPDX-License-Identifier: Apache-2.0
"""Clients that do not behave: nothing but errors for themselves, and a server that goes on."""

import contextlib
import os
import socket
import struct

import msgpack
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare.daemon.errors import ProtocolError
from gpushare.daemon.protocol import limits
from gpushare.daemon.protocol.arena import Arena
from gpushare.daemon.protocol.wire import Channel, packed

HELLO = {"v": limits.PROTOCOL_VERSION, "id": 0, "do": "hello"}

pytestmark = pytest.mark.usefixtures("goes_on")


def everything_from(connection):
    connection.settimeout(30)
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            data += part
    return data


def error_in(data):
    return msgpack.unpackb(data[4:])["error"]


@pytest.mark.parametrize("version", [0, 3, "4", None, 4.0, True])
def test_another_version_is_refused_naming_both(raw, version):
    connection = raw()
    connection.sendall(packed(HELLO | {"v": version}))
    error = error_in(everything_from(connection))
    assert error["kind"] == "ProtocolError"
    assert (
        f"speaks version {version!r} of the protocol, the server version {limits.PROTOCOL_VERSION}" in error["message"]
    )


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"v": limits.PROTOCOL_VERSION, "id": 0, "do": "status"}, "the first message must be 'hello', got 'status'"),
        (HELLO | {"device": 3}, "key 'device': Input should be a valid string"),
        (HELLO | {"more": 3}, "unknown key 'more'"),
        (HELLO | {"id": -1}, "no id that could be answered: -1"),
        (HELLO | {"name": "x" * 300}, "at most 256 characters"),
        (HELLO | {"name": "x\x1b]0;y"}, "String should match pattern"),
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
def test_half_a_message_harms_no_other_client(raw, kept):
    for first in (b"", packed(HELLO)):
        connection = raw()
        connection.sendall(first + packed(HELLO)[:kept])
        connection.close()


def test_a_silent_client_is_dropped(raw, monkeypatch):
    monkeypatch.setattr("gpushare.daemon.supervisor.supervisor.HELLO_TIMEOUT_S", 0.2)
    connection = raw()
    assert everything_from(connection) == b""


def test_too_many_silent_clients_do_not_block_others(raw, server):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpushare.daemon.supervisor.supervisor.HELLO_TIMEOUT_S", 0.5)
        silent = [raw() for _ in range(limits.MOST_GREETINGS + 20)]
        for connection in silent:
            assert everything_from(connection) == b""
    gs.connect(server).close()


def test_a_client_that_never_reads_is_dropped(raw):
    connection = raw()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.sendall(packed(HELLO))
    connection.settimeout(60)
    request = packed({"v": limits.PROTOCOL_VERSION, "id": 1, "do": "status"})
    many = request * 1_000_000  # far more than the sockets hold answers to
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
    *(("application", {"name": f"a{each}b"}, "String should match pattern") for each in "\0\n\x1b\x7f\x80\x9b\x9f"),
    ("kernel", {"name": "k\x1b[2J", "source_bytes": 10, "file_name": "k.cu"}, "String should match pattern"),
    ("kernel", {"name": "k", "source_bytes": 10, "file_name": "k\x9b.cu"}, "String should match pattern"),
    ("model", {"fields": {"name": "k\n", "threads": 32, "latency_ns": 10}}, "key 'name': String should match pattern"),
    ("kernel", {"name": "k", "source_bytes": 10, "file_name": "k.cu"}, "needs one descriptor beside it, got 0"),
    ("kernel", {"name": "k", "source_bytes": 2**30, "file_name": "k.cu"}, "less than or equal to 16777216"),
    ("arena", {"bytes": 10}, "needs one descriptor beside it, got 0"),
    ("model", {"fields": {"name": "k"}}, "a KernelModel has name, threads"),
    ("model", {"fields": {"name": "k", "threads": 32, "latency_ns": 10, "colour": 3}}, "a KernelModel has name"),
    ("model", {"fields": {"name": "k", "threads": 0, "latency_ns": 10}}, "threads must lie in 1"),
    ("trace", {"seconds": 0.0}, "greater than 0"),
    ("trace", {"seconds": 1.0, "until_s": -1.0}, "greater than or equal to 0"),
    (
        "trace",
        {"seconds": 1.0, "until_s": 1.0},
        "a window that begins 1 s ago cannot end 1 s ago: until must be less than seconds",
    ),
    ("history", {"seconds": -1.0}, "greater than or equal to 0"),
    ("own_priority", {"application": 1, "priority": 0.5}, "valid integer"),
    ("policy", {"policy": "fifi"}, "no policy 'fifi'"),
    ("priority", {"application": "nobody", "priority": 1}, "no application 'nobody'"),
]


@pytest.mark.parametrize(("verb", "fields", "said"), WRONG, ids=lambda value: str(value)[:30])
def test_wrong_requests_are_answered_with_what_is_wrong(ask, verb, fields, said):
    _, message = ask(verb, **fields)
    assert said in message
    assert isinstance(ask("status"), dict)


COPY = {"array": 1, "array_offset": 0, "arena": 1, "arena_offset": 0, "bytes": 4}


def forged(handle):
    return [
        ("shape", {"kernel": handle, "block": [1]}),
        ("read", COPY | {"array": handle}),
        ("write", COPY | {"arena": handle}),
        ("export", {"array": handle}),
        ("free", {"arrays": [handle]}),
        ("drop_arena", {"arena": handle}),
        ("load", {"kernel": handle}),
        ("cancel", {"application": handle}),
        ("own_priority", {"application": handle, "priority": -1}),
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
    assert (
        f"this client has no array {own['array']}"
        in ask("read", **COPY | {"array": own["array"], "arena": own["arena"]})[1]
    )
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
    assert "shared memory has 4096 bytes, expected 4097" in ask("arena", sealed.descriptor, bytes=4097)[1]
    array = ask("array", shape=[2000], dtype="<f4")
    assert ask("arena", sealed.descriptor, bytes=4096) == 1
    own = COPY | {"array": array}
    for wrong, said in [
        ({"bytes": 4097}, "exceed the shared memory of 4096 bytes"),
        ({"arena_offset": 4093}, "exceed the shared memory of 4096 bytes"),
        ({"array_offset": 7997}, "exceed the array of 8000 bytes"),
        ({"bytes": 0}, "bytes"),
        ({"array_offset": -1}, "array_offset"),
    ]:
        for verb in ("read", "write"):
            assert said in ask(verb, **own | wrong)[1]
    assert ask("write", **own | {"arena_offset": 4092, "array_offset": 7996}) is True


def test_only_a_gpu_has_arrays_to_share(ask):
    assert "shared=True is for GPUs" in ask("array", shape=[3], dtype="<f4", shared=True)[1]
    array = ask("array", shape=[3], dtype="<f4")
    assert "was not made with shared=True" in ask("export", array=array)[1]


def test_unexpected_descriptors_are_closed(ask, session):
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


def test_a_message_that_is_too_large_is_not_sent(channel):
    with raises_naming(ProtocolError, 1048576):
        channel.send({"x": b"x" * limits.MOST_MESSAGE_BYTES})


def test_a_client_that_does_not_read_blocks_no_sender(monkeypatch):
    ours, theirs = socket.socketpair()
    channel = Channel(ours, send_timeout_s=0.2)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with raises_naming(TimeoutError, "0.2"):
        channel.send({"x": b"x" * 100_000})
    channel.release()
    theirs.close()
