# SPDX-License-Identifier: Apache-2.0
"""Jobs of a session: a launch from its submission to its end."""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gpushare import _core
from gpushare.checks import number

if TYPE_CHECKING:
    from gpushare.session.devices import SessionPart

LONGEST_WAIT_S = 1e6
"""Of one wait in the core; a wait without a limit is some of them."""
LEAST_KEPT = 64
_making_states = threading.RLock()


class StateOfFuture:
    """An attribute of a :class:`concurrent.futures.Future`, which is made with the others when it is first read.

    A ``__getattr__`` would do it, but slows every access to attributes of jobs.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, job: LaunchFuture, kind: type[LaunchFuture]) -> Any:
        job._make_state(self._name)
        return vars(job)[self._name]


class LaunchFuture(Future[None]):
    """A future that waits in the core.

    What a :class:`concurrent.futures.Future` has for callbacks and for waits on several futures is made when it is
    first used. Most jobs never need it, and making it for each would cost as much time as submitting does.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """Application and kernel, for messages."""
        raise NotImplementedError

    def done(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self._wait(0)

    def result(self, timeout: float | None = None) -> None:
        """Waits until it has ended; its results are in the arrays among its arguments.

        Args:
            timeout: longest wait in seconds; None, as in every :class:`concurrent.futures.Future`: no limit.

        Raises:
            InvalidInput: ``timeout`` is no number of seconds in 0..1e6.
            TimeoutError: it has not ended within ``timeout`` seconds.
            Cancelled: its application has been cancelled.
            DeviceError: it failed, or another job that was on the device with it; on a GPU a CudaError.
            WorkerLostError: the server's worker ended before it did; submit it again.
        """
        error = self.exception(timeout)
        if error is not None:
            raise error

    def exception(self, timeout: float | None = None) -> Exception | None:
        """Waits until it has ended; returns the exception that :meth:`result` would raise, None after success.

        Args:
            timeout: as for :meth:`result`.

        Raises:
            InvalidInput: ``timeout`` is no number of seconds in 0..1e6.
            TimeoutError: it has not ended within ``timeout`` seconds.
        """
        seconds = LONGEST_WAIT_S if timeout is None else number("timeout", timeout, 0, LONGEST_WAIT_S)
        while not self._wait(seconds):
            if timeout is not None:
                raise TimeoutError(f"job {self.name} has not ended within {seconds:g} s")
        return self._failure()

    def __await__(self) -> Generator[Any, None, None]:
        import asyncio  # an event loop has imported it

        return asyncio.wrap_future(self).__await__()

    def _make_state(self, name: str) -> None:
        """Makes the state of the future, unless another thread has made it.

        All of it appears at once: a thread that held its condition, and waited here for the rest, would stop the one
        that makes it.
        """
        with _making_states:
            is_new = name not in vars(self)
            if is_new:
                made: Future[None] = Future()
                made.set_running_or_notify_cancel()
                vars(self).update(vars(made))
        if is_new:
            self._settle_at_end()

    def _settle(self) -> None:
        """Sets the future's result or exception; the job has ended."""
        error = self._failure()
        with suppress(InvalidStateError):  # another thread has done so
            if error is None:
                self.set_result(None)
            else:
                self.set_exception(error)

    def _settle_at_end(self) -> None:
        """Has :meth:`_settle` called when the job has ended, at once if it has."""
        raise NotImplementedError

    def _wait(self, seconds: float) -> bool:
        """Whether it has ended within this time, successfully or not."""
        raise NotImplementedError

    def _leaves(self, device: int, seconds: float) -> bool:
        """Whether nothing of it is left on the device of this number within this time."""
        raise NotImplementedError

    def _failure(self) -> Exception | None:
        """The exception of a job that has ended, None after success."""
        raise NotImplementedError


for _name in vars(Future()):
    setattr(LaunchFuture, _name, StateOfFuture(_name))


class Job(LaunchFuture):
    """A launch that has been submitted: a :class:`concurrent.futures.Future` that can be awaited.

    A job is not cancelled by itself, but with its application: ``cancel()`` returns False, and the exception of a job
    whose application was cancelled is :class:`gpushare.Cancelled`.
    """

    def __init__(self, part: SessionPart, number: int, kernel: str, application: str, held: Any) -> None:
        self._kernel = kernel
        self._application = application
        self._part = part
        self._number = number
        self._held = held  # until the job has ended; then it is None
        self._error: Exception | None = None

    @property
    def name(self) -> str:
        """Application and kernel, for messages."""
        return f"{self._kernel!r} of {self._application!r}"

    def _settle_at_end(self) -> None:
        if self._wait(0):
            self._settle()
        else:
            self._part.watcher.watch(self._number, self)

    def _wait(self, seconds: float) -> bool:
        if self._error is not None or self._held is None:
            return True
        try:
            ended = self._part.core.wait(self._number, seconds)
        except Exception as error:
            self._error = error
            if isinstance(error, _core.Cancelled):
                self._held = None
            return True
        if ended:
            self._held = None
        return ended

    def _leaves(self, device: int, seconds: float) -> bool:
        return self._part.number != device or self._wait(seconds)

    def _failure(self) -> Exception | None:
        return self._error

    def __repr__(self) -> str:
        return f"<Job {self.name}>"


class UnfinishedJobs:
    """Holds jobs, and with them their arguments, until they have ended, even if the caller drops them.

    Ended jobs are removed when the number of jobs has doubled since the last removal, so that the cost per job is
    constant.
    """

    def __init__(self) -> None:
        self._jobs: list[LaunchFuture] = []
        self._look_at = LEAST_KEPT
        self._lock = threading.Lock()

    @property
    def jobs(self) -> list[LaunchFuture]:
        """They, and some that have ended."""
        with self._lock:
            return list(self._jobs)

    def add(self, job: LaunchFuture) -> None:
        """Adds a submitted job."""
        self._jobs.append(job)
        if len(self._jobs) >= self._look_at:
            with self._lock:
                self._remove_ended()

    def _remove_ended(self) -> None:
        count = len(self._jobs)  # other threads append more meanwhile
        self._jobs[:count] = [each for each in self._jobs[:count] if not each.done()]
        self._look_at = max(LEAST_KEPT, 2 * len(self._jobs))
