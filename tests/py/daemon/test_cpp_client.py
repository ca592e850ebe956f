# SPDX-License-Identifier: Apache-2.0
"""The C++ client, installed and found as users do: against servers that compute, that fail, and that are none.

Built once, in build/client. With CXXFLAGS=-fsanitize=address,undefined everything runs under sanitizers. GPUSHARE_KILLS
says how many clients are killed.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest
import stand_in_gpu
from messages import assert_names

import gpushare as gs
from gpushare.daemon.protocol.limits import PROTOCOL_VERSION
from gpushare.daemon.protocol.wire import Channel, close_all

ROOT = stand_in_gpu.ROOT
FLAGS = os.environ.get("CXXFLAGS", "")
BUILD = ROOT / "build" / ("client" + (f"-{hashlib.sha256(FLAGS.encode()).hexdigest()[:8]}" if FLAGS else ""))
KILLS = int(os.environ.get("GPUSHARE_KILLS", "100"))
PATIENCE_S = 60

pytestmark = [
    pytest.mark.timeout(600),  # for the build on a busy machine
    pytest.mark.xdist_group("C++ client"),
    pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake"),
]


def made(source, folder, *options):
    """Builds a project of CMake."""
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_UNITY_BUILD=ON", *options]
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    for command in (["cmake", "-S", source, "-B", folder, *generator, *options], ["cmake", "--build", folder, "-j2"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def programs():
    """The folder of the programs of tests/client, which use the installed client."""
    installed = BUILD / "installed"
    made(ROOT / "src/client", BUILD / "library", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -Werror")
    shutil.rmtree(installed, ignore_errors=True)
    subprocess.run(
        ["cmake", "--install", BUILD / "library", "--prefix", installed], check=True, stdout=subprocess.DEVNULL
    )
    made(ROOT / "tests/client", BUILD / "programs", f"-DCMAKE_PREFIX_PATH={installed}")
    return BUILD / "programs"


def output_of(*command, **environment):
    """What a program prints. It has to succeed."""
    done = subprocess.run(
        [str(each) for each in command],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def probe(programs):
    """The lines that the probe prints about a server, by subject."""

    def ask(*arguments, **environment):
        lines = output_of(programs / "probe", *arguments, **environment).splitlines()
        return [tuple(line.split(": ", 2)) for line in lines]

    return ask


SERVE = """
import os, pathlib, sys
import stand_in_gpu
folder = pathlib.Path(sys.argv[1])
stand_in_gpu.use(folder / "log")
import gpushare as gs
from cubins import cubin_of
source = "__global__ void add(const float* a, const float* b, float* sum, int count) {" + '''
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) sum[i] = a[i] + b[i];
}'''
(folder / "add.ptx").write_text(gs.Kernel(source, "add", preemptible=False).compile("sm_90").ptx)
(folder / "add.cubin").write_bytes(cubin_of(source, "add"))
line = ["-m", "gpushare", "serve", "--device", "cuda:0", "--policy", "fifo", "--socket", str(folder / "socket")]
os.execv(sys.executable, [sys.executable, *line])
"""


@contextlib.contextmanager
def serving(folder, *command):
    """A server's process and its socket. What it says is shown with a test that fails."""
    paths = os.pathsep.join(
        [str(pathlib.Path(gs.__file__).parents[1]), str(ROOT / "tests/py"), os.environ.get("PYTHONPATH", "")]
    )
    with subprocess.Popen(
        [sys.executable, *command],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": paths, "GPUSHARE_CACHE_DIR": str(folder / "kernels")},
    ) as process:
        said = ""
        while "serving" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        log = subprocess.Popen(["cat"], stdin=process.stderr, stdout=sys.stderr.fileno())
        try:
            yield process
        finally:
            process.terminate()
    log.wait()


@pytest.fixture(scope="module")
def computing(tmp_path_factory):
    """The environment of programs whose server runs kernels, on the stand-in GPU."""
    stand_in_gpu.require_library()
    folder = pathlib.Path(subprocess.check_output(["mktemp", "-d", "/tmp/gpushareXXXXXX"], text=True).strip())
    with serving(folder, "-c", SERVE, folder):
        yield {
            "GPUSHARE_SOCKET": str(folder / "socket"),
            "GPUSHARE_TEST_PTX": str(folder / "add.ptx"),
            "GPUSHARE_TEST_CUBIN": str(folder / "add.cubin"),
        }
    log = folder / "log"
    misuse = [line for line in log.read_text().splitlines() if line.startswith("misuse: ")] if log.exists() else []
    shutil.rmtree(folder)
    assert not misuse


def test_the_example(programs, computing):
    assert_names(output_of(programs / "example/vector_add", **computing), "cuda:0", 19998)


@pytest.mark.parametrize("suite", ["Copies", "Launches", "Errors"])
def test_on_a_server_that_computes(programs, computing, suite):
    said = output_of(programs / "client_tests", "--gtest_brief=1", f"--gtest_filter={suite}.*", **computing)
    assert "PASSED" in said
    with gs.connect(computing["GPUSHARE_SOCKET"]) as session:
        deadline = time.monotonic() + PATIENCE_S
        while len(session.status()["clients"]) > 1 or session.status()["memory"]["used_bytes"] > 0:
            assert time.monotonic() < deadline, session.status()
            time.sleep(0.05)


def test_copies_on_a_simulated_device(programs, folder):
    line = ["-m", "gpushare", "serve", "--device", "sim:h100", "--socket", folder / "socket"]
    with serving(folder, *line):
        where = {"GPUSHARE_SOCKET": str(folder / "socket")}
        assert "PASSED" in output_of(programs / "client_tests", "--gtest_brief=1", "--gtest_filter=Copies.*", **where)


def test_where_there_is_no_server(probe, folder):
    ((_, kind, message),) = probe("connect", folder / "socket")
    assert kind == "DaemonGoneError"
    assert_names(message, folder / "socket")
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as dead:
        dead.bind(str(folder / "socket"))
    ((_, kind, _),) = probe("connect", folder / "socket")
    assert kind == "DaemonGoneError"
    ((_, kind, message),) = probe("connect", folder / ("long" * 40))
    assert kind == "InvalidInput"
    assert_names(message, 107)


def test_folders_that_cannot_be_are_left_out(probe, folder):
    (folder / "loop").symlink_to(folder / "loop")
    no_folder = {"XDG_RUNTIME_DIR": str(folder / "loop"), "GPUSHARE_SOCKET": ""}
    ((_, kind, message),) = probe("connect-to-default", "-", TMPDIR=str(folder), **no_folder)
    assert kind == "DaemonGoneError"
    assert_names(message, folder / f"gpushare-{os.getuid()}.sock")
    assert len(probe("connect-to-default", "-", TMPDIR=str(folder / "loop"), **no_folder)) == 1


@contextlib.contextmanager
def listening(path, answer):
    """A listener that is no server, and answers its clients like this."""
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as listener:
        listener.bind(str(path))
        listener.listen()

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(OSError):
                        answer(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def welcome(connection, version):
    """A welcome with rings of this version."""
    channel = Channel(connection)
    channel.receive()
    port = os.memfd_create("port", os.MFD_ALLOW_SEALING)
    os.write(port, struct.pack("<8sII", b"gpushare", version, 48) + bytes(1 << 12))
    fcntl.fcntl(port, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    bell = os.dup(port)
    channel.send({"id": 0, "ok": {"device": "none"}}, [port, bell])
    close_all([port, bell])


def refuse_version(connection):
    """As a server of another release."""
    channel = Channel(connection)
    message, _ = channel.receive()
    text = f"the client speaks version {message['v']} of the protocol, the server version 99"
    channel.send({"id": 0, "error": {"kind": "ProtocolError", "message": text}})


ANSWERS = {
    "text": (lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "ProtocolError", ()),
    "another kind of message": (lambda each: each.sendall(b"\4\0\0\0\xc1\xc1\xc1\xc1"), "ProtocolError", ()),
    "a list": (lambda each: each.sendall(b"\1\0\0\0\x90"), "ProtocolError", ()),
    "no rings": (lambda each: Channel(each).send({"id": 0, "ok": {}}), "ProtocolError", ()),
    "an error that is none": (lambda each: Channel(each).send({"id": 0, "error": 7}), "ProtocolError", ()),
    "another version": (refuse_version, "ProtocolError", (PROTOCOL_VERSION, 99)),
    "rings of another version": (lambda each: welcome(each, 2), "ProtocolError", (2, 3)),
    "the end": (lambda connection: None, "WorkerLostError", (2,)),
    "nothing": (lambda connection: connection.settimeout(None) or wait_for_end(connection), "WorkerLostError", (2,)),
}


def wait_for_end(connection):
    while connection.recv(1 << 16):
        pass


@pytest.mark.parametrize("answer", ANSWERS)
def test_where_something_else_listens(probe, folder, answer):
    talk, expected, named = ANSWERS[answer]
    with listening(folder / "socket", talk):
        ((_, kind, message),) = probe("connect", folder / "socket")
    assert kind == expected
    assert_names(message, *named)


@pytest.mark.skipif(os.getuid() != 0, reason="needs to become another user")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_server_of_another_user_has_to_be_named(probe, folder):
    folder.chmod(0o777)
    path = folder / "gpushare.sock"
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(path))
            listener.listen()
            os.write(write, b"listening")
            signal.pause()
    try:
        assert os.read(read, 100) == b"listening"
        ((_, kind, message),) = probe("connect-to-default", "-", XDG_RUNTIME_DIR=str(folder), GPUSHARE_SOCKET="")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)
    assert kind == "RefusedError"
    assert_names(message, path, 65534)


@pytest.mark.parametrize(
    ("kernel", "of_culprit", "of_bystander"),
    [
        ("fault", "CudaError", "WorkerLostError"),
        ("fault_beside_others", "CudaError", "CudaError"),
        ("kill", "WorkerLostError", "WorkerLostError"),
    ],
)
def test_the_loss_of_a_worker(serve, folder, probe, kernel, of_culprit, of_bystander):
    serve()
    ends = probe("fail", folder / "socket", kernel)
    kinds = [(subject, kind) for subject, kind, *_ in ends]
    # It says no more than that all launches have ended, which a worker about to end may still answer.
    of_fence = dict(kinds)["synchronize"]
    assert of_fence in ("WorkerLostError", "ok")
    assert kinds == [
        ("culprit", of_culprit),
        ("bystander", of_bystander),
        ("bystander", of_bystander),
        ("memory", "WorkerLostError"),
        ("synchronize", of_fence),
        ("again", "ok"),
    ]
    if kernel == "fault":
        assert_names(ends[0][2], "CUDA_ERROR_ILLEGAL_ADDRESS", "fault", "culprit")


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_ends_in_the_middle(programs, folder, sign):
    """The worker ends with it."""
    command = [sys.executable, "-m", "gpushare", "serve", "--device", "sim:h100", "--socket", folder / "socket"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        while "serving" not in server.stderr.readline():
            pass
        client = subprocess.Popen([programs / "probe", "hold", folder / "socket"], stdout=subprocess.PIPE, text=True)
        assert client.stdout.readline() == "works\n"
        server.send_signal(sign)
        said = client.communicate(timeout=PATIENCE_S)[0]
    assert client.returncode == 0
    assert [line.split(": ")[:2] for line in said.splitlines()] == [["hold", "DaemonGoneError"]]


def started(programs, path):
    return subprocess.Popen([programs / "probe", "loop", path], stdout=subprocess.PIPE, text=True)


def test_killed_clients_leave_the_server_healthy(programs, serve, folder, eventually):
    worker = serve().workers["sim:h100"]
    path = folder / "socket"
    chance = random.Random(7)
    with gs.connect(path) as session:

        def descriptors():
            return len(os.listdir(f"/proc/{worker.pid}/fd"))

        before = descriptors()
        first = worker.pid
        alive = [started(programs, path) for _ in range(2)]
        at_work = 0
        for _ in range(KILLS):
            victim = alive.pop(0)
            alive.append(started(programs, path))
            if chance.random() < 0.7:
                at_work += victim.stdout.readline() == "works\n"
            time.sleep(chance.uniform(0, 0.03))
            victim.kill()
            victim.communicate()
        for victim in alive:
            victim.kill()
            victim.communicate()
        assert at_work > KILLS / 2
        eventually(lambda: len(session.status()["clients"]) == 1, words=lambda: str(session.status()))
        assert session.status()["memory"]["used_bytes"] == 0
        assert session.status()["applications"] == []
        eventually(lambda: descriptors() <= before, words=lambda: f"{descriptors()} descriptors, {before} before")
        array = session.zeros(3)
        session.application("healthy").submit(
            gs.Kernel("__global__ void k() {}", "add"), grid=1, block=1, args=[array, 1]
        ).result(PATIENCE_S)
        assert array.numpy().tolist() == [1, 1, 1]
        assert worker.pid == first
