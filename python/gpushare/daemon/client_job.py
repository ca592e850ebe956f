# SPDX-License-Identifier: Apache-2.0
"""A client's job, from its submission to its end, on whichever worker."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpushare.daemon.client_array import ArrayState
from gpushare.daemon.errors import DaemonGoneError, with_source
from gpushare.daemon.kernel_wire import packed_argument
from gpushare.daemon.registered import Registered
from gpushare.job import DEFAULT_TIMEOUT_S
from gpushare.kernel_model import number

if TYPE_CHECKING:
    from gpushare.daemon.client_application import DaemonApplication

MOST_ATTEMPTS = 3
"""Of a job that is run again by itself: one that ends every worker must not do so for ever."""


@dataclass(eq=False)
class Submission:
    """What was submitted, so that it can be submitted again.

    Attributes:
        arguments: arrays as their states.
    """

    application: DaemonApplication
    kernel: Any
    shape: dict[str, Any]
    arguments: Sequence[Any]
    arrays: list[ArrayState] = field(init=False)

    def __post_init__(self) -> None:
        self.arrays = [each for each in self.arguments if isinstance(each, ArrayState)]

    def send(self, registered: Registered, number: int) -> None:
        """Asks that worker to run it.

        Raises:
            InvalidInput: it cannot be; the message names what is wrong.
        """
        name = getattr(self.kernel, "name", self.kernel)
        arguments = [
            packed_argument(f"kernel {name!r}, argument {place}", value, lambda each: _handle(each, registered))
            for place, value in enumerate(self.arguments, 1)
        ]
        kernel, application = registered.kernel(self.kernel), registered.application(self.application)
        fields = {"application": application, "kernel": kernel, "args": arguments, **self.shape}
        with with_source(getattr(self.kernel, "text", "")):
            registered.link.request("submit", job=number, **fields)


def _handle(value: Any, registered: Registered) -> int | None:
    return value.handle_on(registered) if isinstance(value, ArrayState) else None


class DaemonJob:
    """A launch that has been submitted.

    Attributes:
        name: application and kernel, for messages.
        is_replayable: it is run again by itself if its worker is lost.
        attempts: how often it has been submitted.
        error: what it ended with, if not well.
    """

    def __init__(self, submission: Submission, *, is_replayable: bool) -> None:
        self.name = f"{submission.kernel.name!r} of {submission.application.name!r}"
        self.submission = submission
        self.is_replayable = is_replayable
        self.attempts = 0
        self.error: Exception | None = None
        self._ended = threading.Event()
        self._registered: Registered | None = None

    def submit_on(self, registered: Registered, number: int) -> None:
        """Submits it to that worker. If that is lost meanwhile, it ends like a job that had been submitted."""
        self._registered = registered
        self.attempts += 1
        link = registered.link
        try:
            application = registered.application(self.submission.application)
        except DaemonGoneError as error:
            if link.lost is None:
                raise
            return self._end(error)
        link.watch(number, application, self._end)
        try:
            self.submission.send(registered, number)
        except DaemonGoneError:
            if link.lost is None:
                link.unwatch(number)
                raise  # an array was lost, with another worker
        except BaseException:
            link.unwatch(number)
            raise
        return None

    def _end(self, error: Exception | None) -> None:
        retryable = getattr(error, "retryable", False)
        if not (retryable and self.is_replayable):  # else the session runs it again
            self.settle(error)

    def settle(self, error: Exception | None) -> None:
        """It has ended, for good."""
        if not self._ended.is_set():
            self.error = error
            self._ended.set()

    @property
    def application(self) -> DaemonApplication:
        """Whose it is."""
        return self.submission.application

    @property
    def has_ended(self) -> bool:
        """Well or not."""
        return self._ended.is_set()

    def done(self) -> bool:
        """Whether it has ended.

        Raises:
            CudaError: it failed.
            WorkerLostError: the worker ended before it did.
        """
        return self._wait(0)

    def result(self, timeout: float | None = None) -> None:
        """Waits until it has ended; its results are in the arrays that it was given.

        Raises:
            TimeoutError: it has not ended within ``timeout`` seconds.
            CudaError: it failed.
            WorkerLostError: the worker ended before it did; submit it again.
        """
        seconds = DEFAULT_TIMEOUT_S if timeout is None else number("timeout", timeout, 0, 1e6)
        if not self._wait(seconds):
            raise TimeoutError(f"job {self.name} has not ended within {seconds:g} s")

    def _wait(self, seconds: float) -> bool:
        if self._registered is not None and self._registered.link.is_foreign and not self._ended.is_set():
            raise self._registered.link.lost  # nobody tells this process
        if not self._ended.wait(seconds):
            return False
        if self.error is not None:
            raise self.error
        return True

    def __repr__(self) -> str:
        return f"<DaemonJob {self.name}>"
