# SPDX-License-Identifier: Apache-2.0
"""How a session ends: finished, closed, left by an error or by Ctrl-C, failed with its policy."""

import subprocess
import sys

import numpy as np
import pytest

import gpushare as gs

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

open_session = pytest.mark.parametrize("policy", ["fifo", "srtf", "even"])


def test_after_finish(session, kernels):
    application = session.application("alice")
    kernels.scaled(session, application)()
    late = kernels.scaled(session, application)
    session.finish()
    late()
    with pytest.raises(gs.InvalidInput):
        kernels.scaled(session, application)
    with pytest.raises(gs.InvalidInput):
        session.finish()


def test_after_close(kernels):
    with gs.Session("cuda:0") as session:
        application = session.application("alice")
        kernels.scaled(session, application)()
    with pytest.raises(gs.InvalidInput):
        kernels.scaled(session, application)
    with pytest.raises(gs.InvalidInput):
        session.finish()
    session.close()


def test_close_ends_what_runs_at_a_block_boundary(kernels):
    """Some ten seconds of work on an H100; the array counts the blocks that ran."""
    most = 2_000_000_000
    with gs.Session("cuda:0") as session:
        counter = session.zeros(1, np.uint32)
        job = session.application("long").submit(kernels.spin, grid=most, block=64, args=[counter, 36_000])
        while counter.numpy()[0] == 0:
            with pytest.raises(TimeoutError):
                job.result(timeout=0.1)
    assert 0 < counter.numpy()[0] < most
    with pytest.raises((gs.CudaError, gs.InvalidInput)):
        job.result(timeout=1)
    kernels.run_in_a_session()


def test_an_error_in_the_block_closes_the_session(kernels):
    def fail():
        with gs.Session("cuda:0") as session:
            kernels.scaled(session, session.application("alice"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    kernels.run_in_a_session()


POLICY_FAILS = """
import odd_policies

with gs.Session("cuda:0", getattr(odd_policies, sys.argv[1])()) as session:
    application = session.application("alice")
    values = session.array(np.ones(100, np.float32))
    job = application.submit(kernel("scale"), grid=1, block=128, args=[values, 2.0, 100])
    again = lambda: application.submit(kernel("scale"), grid=1, block=128, args=[values, 2.0, 100])
    for action in (job.result, again, session.finish):
        try:
            action()
        except (gs.CudaError, gs.PolicyError) as error:
            print(error)
        else:
            print("no error from", action)
check_a_new_session()
assert values.numpy().tolist() == [1.0] * 100  # a policy's mistake is no reason to lose what is on the GPU
"""


@pytest.mark.parametrize(
    ("policy", "message"), [("Fails", "not today"), ("Starves", "idle for ever"), ("TooMuch", "it must lie in 0..")]
)
def test_a_policy_that_fails(in_a_process, prelude, policy, message):
    """All that is asked of the session says so, and the process goes on."""
    said = in_a_process(prelude + POLICY_FAILS, policy)
    assert said.count(message) == 3, said


INTERRUPT = """
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background
main = threading.get_ident()


def interrupt():
    # Once the main thread waits for the job: no sooner, for then nothing would be tested.
    while sys._current_frames()[main].f_code.co_name != "_wait":
        pass
    os.kill(os.getpid(), signal.SIGINT)


with gs.Session("cuda:0") as session:
    gate, passed = session.zeros(1, np.int32), session.zeros(1, np.uint32)
    job = session.application("waits").submit(kernel("wait_at_gate"), grid=1, block=1, args=[gate, passed])
    threading.Thread(target=interrupt).start()
    try:
        job.result()
    except KeyboardInterrupt:
        print("interrupted")
    assert not job.done()
    gate.upload([1])
    job.result(30)
    session.finish()
check_a_new_session()
print(passed.numpy()[0])
"""


def test_ctrl_c_ends_the_wait_and_not_the_session(in_a_process, prelude):
    assert in_a_process(prelude + INTERRUPT).split() == ["interrupted", "1"]


LEFT_BEHIND = """
session = gs.Session("cuda:0", sys.argv[1])
counter = session.zeros(1, np.uint32)
session.application("left behind").submit(kernel("spin"), grid=2_000_000_000, block=64, args=[counter, 36_000])
print("ends")
"""


@open_session
def test_the_process_ends_with_a_session_open(in_a_process, prelude, policy):
    assert in_a_process(prelude + LEFT_BEHIND, policy) == "ends\n"


FORKED = """
import ctypes, os, sys
import gpushare as gs

session = gs.Session("cuda:0")
array = session.zeros(1000)
libc = ctypes.CDLL(None)
libc.__cxa_atexit(libc.abort, None, None)  # as the driver's handlers, which are not for other processes
child = os.fork()
if child == 0:
    del array
    try:
        gs.Session("cuda:0")
    except gs.CudaError as error:
        print(error)
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), array.numpy().sum(), flush=True)
session.close()
os._exit(0)
"""


def test_a_forked_process_leaves_session_and_arrays_alone():
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED]  # of threads and forks
    run = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (run.returncode, run.stderr) == (0, "")
    in_child, in_parent = run.stdout.splitlines()
    assert "cuda:0 cannot be used by this process any more, because it was forked from one that used it" in in_child
    assert in_parent == "3 0.0"
