# SPDX-License-Identifier: Apache-2.0
"""A session that computes on the host, with kernels that can also fail, hang, and kill: what no simulated GPU does.

Run as a program it is a worker.
"""

import collections
import itertools
import os
import pathlib
import queue
import signal
import struct
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np

import gpushare as gs
from gpushare import _core
from gpushare._core import JobStatus
from gpushare.daemon.worker.main import main


class Array:
    def __init__(self, session, shape, dtype):
        self.session, self.values = session, np.zeros(shape, dtype)
        self.shape, self.dtype, self.nbytes = self.values.shape, self.values.dtype, self.values.nbytes
        self.address = self.values.ctypes.data
        session.arrays[self.address] = self

    @property
    def memory(self):
        return self

    def upload(self, source, offset):
        self.values.reshape(-1).view(np.uint8)[offset : offset + source.size] = source

    def download(self, target, offset):
        if not self.session.device.core.is_healthy:
            raise gs.CudaError("cuMemcpyDtoHAsync failed: CUDA_ERROR_ILLEGAL_ADDRESS")
        target[...] = self.values.reshape(-1).view(np.uint8)[offset : offset + target.size]

    def free(self):
        self.values = self.session.arrays.pop(self.address, None) and None


class Past:
    """Jobs that have ended, and those at the head of an application; one block on one SM each."""

    def __init__(self, jobs):
        self.now_ns, self.jobs = time.monotonic_ns(), jobs

    def operations(self):
        return {
            "application": [name for name, _, _, _, _ in self.jobs],
            "kernel": [kernel for _, kernel, _, _, _ in self.jobs],
            "submitted_ns": [submitted for _, _, submitted, _, _ in self.jobs],
            "began_ns": [began for _, _, _, began, _ in self.jobs],
            "end_ns": [end or self.now_ns for _, _, _, _, end in self.jobs],
            "state": ["ended" if end else "under way" for _, _, _, _, end in self.jobs],
        }

    def quotas(self):
        return {
            "application": [name for name, _, _, _, _ in self.jobs],
            "quota": ["1" for _ in self.jobs],
            "blocks": [1 for _ in self.jobs],
            "begin_ns": [began for _, _, _, began, _ in self.jobs],
            "end_ns": [end or self.now_ns for _, _, _, _, end in self.jobs],
        }

    def holds(self):
        steps = [step for name, _, _, began, end in self.jobs for step in ((name, 1, began), (name, 0, end)) if step[2]]
        return {name: [step[place] for step in steps] for place, name in enumerate(("application", "sms", "time_ns"))}


class Application:
    """One thread runs its jobs in order."""

    def __init__(self, session, name, priority, number):
        self.session, self.name, self.priority, self.number = session, name, priority, number
        self.jobs, self.changed, self.operations, self.cancelled = [], threading.Condition(), 0, False
        self.came_ns, self.now, self.has_left = {}, None, False
        self.client = None  # known with the first launch
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def submit(self, launch):
        with self.changed:
            if self.cancelled:
                return self.withdraw(launch)
            self.jobs.append(launch)
            self.came_ns[id(launch)] = time.monotonic_ns()
            return self.changed.notify()

    def withdraw(self, launch):
        launch.complete(JobStatus.WITHDRAWN, f"application '{self.name}' has been cancelled")

    def cancel(self):
        with self.changed:
            jobs, self.jobs, self.cancelled, self.has_left = self.jobs, [], True, True
            self.changed.notify()
        for launch in jobs:
            self.withdraw(launch)

    def set_priority(self, priority):
        self.priority = priority

    def status(self):
        jobs = list(self.jobs)
        return SimpleNamespace(
            name=self.name,
            number=self.number,
            priority=self.priority,
            weight=1.0,
            state="running" if jobs else "idle",
            waiting=max(len(jobs) - 1, 0),
            kernel=jobs[0].kernel if jobs else "",
            blocks=1,
            started=len(jobs[:1]),
            done=0,
            quota="1",
            sm_time_ns=1000 * self.operations,
            operations=self.operations,
            preemptions=0,
            elapsed_ns=0,
            remaining_ns=None,
            is_late=False,
        )

    def fail(self, fault):
        """The session has failed: its jobs are told what that means for them."""
        with self.changed:
            jobs, self.jobs = self.jobs, []
        for launch in jobs:
            if self in fault.suspects and launch is jobs[0]:
                launch.complete(JobStatus.CULPRIT if len(fault.suspects) == 1 else JobStatus.SUSPECT, str(fault))
            else:
                launch.complete(JobStatus.RETRYABLE, f"this job did not run, and may be submitted again: {fault}")

    def does_not_end(self, why):
        if self.jobs[0].kernel == "block_session":
            return
        self.session.fail(Fault([self], lambda job: f"job {job} does not end: {why}"))

    def run(self):
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.jobs or self.has_left)
                if not self.jobs:
                    return None
                launch = self.jobs[0]
                submitted_ns = self.came_ns.pop(id(launch))
            self.now = (self.name, launch.kernel, submitted_ns, time.monotonic_ns(), None)
            try:
                KERNELS[launch.kernel](self, *self.session.arguments_of(launch))
            except Fault as fault:
                return self.session.fail(fault)
            except KeyError:
                assert launch not in self.jobs, "an array was freed while a job used it"
            self.operations += 1
            self.session.past.append((*self.now[:4], time.monotonic_ns()))
            self.now = None
            with self.changed:
                is_there = bool(self.jobs) and self.jobs[0] is launch
                if is_there:
                    self.jobs.pop(0)
            if is_there:
                launch.complete(JobStatus.DONE)
            launch = None  # with it go what the port has of its kernel and arrays


def add(application, array, value):
    if array.values is not None:
        array.values += value


def add_to(application, source, target):
    target.values += source.values


def slow_add(application, array, value, seconds):
    application.session.sleep(application, seconds)
    add(application, array, value)


def sleep(application, seconds):
    application.session.sleep(application, seconds)


def add_once_open(application, array, value, gate):
    while application.jobs and not gate.values.any():
        time.sleep(0.002)
    add(application, array, value)


def hold_histories(application, gate):
    """As a past that takes long to go through: who asks for it meanwhile gets it when this has ended."""
    add_once_open(application, gate, 0, gate)


class Fault(gs.CudaError):
    """A device was lost, with these applications' jobs on it."""

    def __init__(self, suspects, words):
        names = (f"'{each.jobs[0].kernel}' of '{each.name}' (launch {each.operations})" for each in suspects)
        super().__init__(words(", ".join(names)))
        self.suspects = suspects


def fault(application):
    raise Fault([application], lambda job: f"job {job} failed: CUDA_ERROR_ILLEGAL_ADDRESS")


def fault_unnoticed(application):
    """As on a GPU: copies may fail before anybody has looked at the kernels."""
    application.session.device.core.is_healthy = False
    time.sleep(0.5)
    fault(application)


def fault_beside_others(application):
    """As on a GPU: nobody knows whose kernel it was."""
    suspects = [each for each in application.session.applications if each.jobs]
    raise Fault(suspects, lambda jobs: f"a job failed, one of: {jobs}: CUDA_ERROR_ILLEGAL_ADDRESS")


def kill(application):
    os.kill(os.getpid(), signal.SIGKILL)


def block_session(application):
    """As a driver's call that does not return: the session tells nobody anything any more."""
    sleep(application, 3600)


ENDING = (fault, fault_unnoticed, fault_beside_others, kill, block_session)
KERNELS = {each.__name__: each for each in (add, add_to, slow_add, add_once_open, hold_histories, sleep, *ENDING)}
"""They get the application and the arguments."""
PARAMETERS = {"add": "pd", "add_to": "pp", "slow_add": "pdd", "add_once_open": "pdp", "hold_histories": "p"} | {
    "sleep": "d",
    **{each.__name__: "" for each in ENDING},
}
"""Pointers and doubles."""


def parameters_of(name):
    """As a compiler would tell of them."""
    kinds = {"p": ("void*", "pointer"), "d": ("double", "float")}
    return [
        {"index": index, "name": None, "type": kinds[each][0], "kind": kinds[each][1], "size": 8, "offset": 8 * index}
        for index, each in enumerate(PARAMETERS[name])
    ]


class Sink(_core.CommandSink):
    """Hands launches to their applications, in a thread of its own: the one that calls must not wait."""

    def __init__(self, session):
        super().__init__()
        self.session, self.calls = session, queue.SimpleQueue()
        threading.Thread(target=self.run, daemon=True).start()

    def launch(self, launch):
        application = self.session.named(launch.application)
        application.client = launch.client
        self.calls.put(lambda: application.submit(launch))

    def client_gone(self, client):
        self.calls.put(lambda: self.session.forget(client))

    def run(self):
        while True:
            self.calls.get()()


def open_device(name):
    """A path names one that is there as long as the file is, and takes its worker along where that is not empty."""
    if name == "sim:none":
        raise gs.InvalidInput("no device 'sim:none'")
    path = pathlib.Path(name.removeprefix("sim:"))
    if path.is_absolute():
        if not path.exists():
            raise gs.CudaError("cuInit failed: CUDA_ERROR_NO_DEVICE")
        if path.read_text():
            os._exit(9)


class StandIn:
    """What a worker needs of a ServedSession."""

    def __init__(self, device, settings):
        open_device(device)
        self.device = SimpleNamespace(name=device, description=gs.device("h100"), core=SimpleNamespace(is_healthy=True))
        self.policy, self.applications, self.numbers = settings.policy, [], itertools.count()
        self.failure, self.failed = None, threading.Event()
        self.sink, self.arrays = Sink(self), {}
        self.past = collections.deque(maxlen=1000)

    def application(self, name, priority, terms, owner, owner_weight):
        application = Application(self, name, priority, next(self.numbers))
        self.applications = [*(each for each in self.applications if each.thread.is_alive()), application]
        return application

    def forget(self, client):
        for each in [each for each in self.applications if each.client == client]:
            each.cancel()
        self.applications = [each for each in self.applications if each.client != client]

    def named(self, name):
        return next(each for each in self.applications if each.name == name)

    def set_priority(self, application, priority):
        application.set_priority(priority)

    def new_code(self, take):
        return None

    loaded_kernels = 0

    @property
    def kernels(self):
        return self

    @property
    def programs(self):
        raise gs.InvalidInput(f"the device {self.device.name!r} runs kernels, and no programs")

    def model(self, kernel, block, shared_bytes, code):
        raise gs.InvalidInput(f"kernel {kernel.name!r} has no profile")

    def module_of(self, kernel):
        return None

    def variable(self, kernel, name, code):
        raise gs.InvalidInput(f"kernel {kernel.name!r} has no variable {name!r}")

    def kernel(self, port, kernel, block, shared_bytes, alone, code, released):
        self.require_alive()
        if kernel.name not in KERNELS:
            raise gs.InvalidInput(f"no kernel {kernel.name!r}")
        parameters = parameters_of(kernel.name)
        return port.add_kernel(kernel.name, 8 * len(parameters), *released), parameters

    def arguments_of(self, launch):
        """KeyError: an array has been freed."""
        places = zip(PARAMETERS[launch.kernel], struct.iter_unpack("8s", launch.arguments), strict=True)
        return [
            struct.unpack("<d", each)[0] if kind == "d" else self.arrays[struct.unpack("<Q", each)[0]]
            for kind, (each,) in places
        ]

    def zeros(self, shape, dtype):
        return Array(self, shape, dtype)

    def address_of(self, array):
        return array.address

    def load(self, kernel, code):
        if "syntax error" in kernel.text:
            raise gs.CompileError("k.cu does not compile", log="k.cu(1): error", text=kernel.text, options=["-w"])

    def set_policy(self, policy):
        _core.require_policy(policy)
        self.policy = policy

    def status(self):
        self.require_alive()
        applications = [each.status() for each in self.applications]
        return SimpleNamespace(now_ns=time.monotonic_ns(), applications=applications)

    def history(self, seconds):
        while any(job.kernel == "hold_histories" for each in self.applications for job in each.jobs[:1]):
            time.sleep(0.002)
        return Past([*self.past, *(now for each in self.applications if (now := each.now))])

    def require_alive(self):
        if self.failure is not None:
            raise self.failure

    def sleep(self, application, seconds):
        """Until the end, or until it is cancelled."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and application.jobs:
            time.sleep(0.002)

    def fail(self, fault):
        self.failure = fault
        for each in self.applications:
            each.fail(fault)
        self.failed.set()

    def raise_failure(self, timeout_s):
        if self.failed.wait(timeout_s):
            raise self.failure


if __name__ == "__main__":
    main(int(sys.argv[1]), StandIn)
