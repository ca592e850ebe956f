# SPDX-License-Identifier: Apache-2.0
"""A session that computes on the host, with kernels that can also fail, hang, and kill: what no simulated GPU does.

Run as a program it is a worker.
"""

import collections
import os
import signal
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np

import gpushare as gs
from gpushare import _core
from gpushare.daemon.worker_main import main


class Array:
    def __init__(self, shape, dtype):
        self.values = np.zeros(shape, dtype)
        self.shape, self.dtype, self.nbytes = self.values.shape, self.values.dtype, self.values.nbytes

    @property
    def memory(self):
        return self

    def upload(self, source, offset):
        self.values.reshape(-1).view(np.uint8)[offset : offset + source.size] = source

    def download(self, target, offset):
        target[...] = self.values.reshape(-1).view(np.uint8)[offset : offset + target.size]

    def free(self):
        self.values = None


class Job:
    def __init__(self):
        self.ended, self.error = threading.Event(), None

    def result(self, timeout=None):
        if not self.ended.wait(timeout):
            raise TimeoutError
        if self.error is not None:
            raise self.error


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
        return dict(zip(("application", "sms", "time_ns"), map(list, zip(*steps, strict=True)), strict=True))


class Application:
    """One thread runs its jobs in order."""

    def __init__(self, session, name, priority):
        self.session, self.name, self.priority = session, name, priority
        self.jobs, self.changed, self.operations, self.now = [], threading.Condition(), 0, None
        threading.Thread(target=self.run, daemon=True).start()

    def submit(self, kernel, *, grid, block, args=(), shared_bytes=0):
        self.session.require_alive()
        if kernel.name not in KERNELS:
            raise gs.InvalidInput(f"no kernel {kernel.name!r}")
        job = Job()
        with self.changed:
            self.jobs.append((job, kernel.name, list(args), time.monotonic_ns()))
            self.changed.notify()
        return job

    def cancel(self):
        with self.changed:
            for job, *_ in self.jobs:
                job.error = gs.Cancelled(f"application '{self.name}' has been cancelled")
                job.ended.set()
            self.jobs.clear()

    def set_priority(self, priority):
        self.priority = priority

    def status(self):
        jobs = list(self.jobs)
        return SimpleNamespace(
            name=self.name,
            priority=self.priority,
            weight=1.0,
            state="running" if jobs else "idle",
            waiting=max(len(jobs) - 1, 0),
            kernel=jobs[0][1] if jobs else "",
            blocks=1,
            started=len(jobs[:1]),
            done=0,
            quota="1",
            sm_time_ns=1000 * self.operations,
            operations=self.operations,
            preemptions=0,
            elapsed_ns=0,
            remaining_ns=None,
        )

    def run(self):
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.jobs)
                job, name, args, submitted_ns = self.jobs[0]
            began_ns = time.monotonic_ns()
            self.now = (self.name, name, submitted_ns, began_ns, None)
            try:
                KERNELS[name](self, *args)
            except gs.CudaError as error:
                return self.session.fail(error)
            except TypeError:
                assert job.ended.is_set(), "an array was freed while a job used it"  # unless that was cancelled
            with self.changed:
                if self.jobs and self.jobs[0][0] is job:
                    self.jobs.pop(0)
            self.operations += 1
            self.session.past.append((*self.now[:4], time.monotonic_ns()))
            self.now = None
            job.ended.set()


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


def fault(application):
    raise gs.CudaError(f"a kernel of '{application.name}' failed: CUDA_ERROR_ILLEGAL_ADDRESS")


def kill(application):
    os.kill(os.getpid(), signal.SIGKILL)


KERNELS = {each.__name__: each for each in (add, add_to, slow_add, sleep, fault, kill)}
"""They get the application and the arguments."""


class StandIn:
    """What a worker needs of a gpushare.Session."""

    def __init__(self, device, policy):
        if device == "sim:none":
            raise gs.InvalidInput("no device 'sim:none'")
        self.device = SimpleNamespace(description=gs.device("h100"), core=SimpleNamespace(is_healthy=True))
        self.policy, self.applications, self.failure = policy, [], None
        self.past = collections.deque(maxlen=1000)

    def application(self, name, priority=0, weight=1.0, deadline_ns=None):
        application = Application(self, name, priority)
        self.applications.append(application)
        return application

    def zeros(self, shape, dtype):
        return Array(shape, dtype)

    def load(self, kernel):
        if "syntax error" in kernel.text:
            raise gs.CompileError("k.cu does not compile", log="k.cu(1): error", text=kernel.text, options=["-w"])

    def set_policy(self, policy):
        _core.require_policy(policy)
        self.policy = policy

    def status(self):
        self.require_alive()
        return SimpleNamespace(applications=[each.status() for each in self.applications])

    def history(self, seconds):
        return Past([*self.past, *(now for each in self.applications if (now := each.now))])

    def require_alive(self):
        if self.failure is not None:
            raise self.failure

    def sleep(self, application, seconds):
        """Until the end, or until it is cancelled."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and application.jobs:
            time.sleep(0.002)

    def fail(self, error):
        self.failure = error
        for application in self.applications:
            with application.changed:
                for job, *_ in application.jobs:
                    job.error = error
                    job.ended.set()


if __name__ == "__main__":
    main(int(sys.argv[1]), StandIn)
