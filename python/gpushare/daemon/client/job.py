# SPDX-License-Identifier: Apache-2.0
"""A client's job, from its submission to its end, on whichever worker."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpushare._core import WorkerGone
from gpushare.arguments.launch_geometry import MOST_TASKS, Extent, grid_of
from gpushare.daemon.client.array import ArrayState, DaemonArray
from gpushare.daemon.client.array_mapping import array_of
from gpushare.daemon.client.registrations import Registered
from gpushare.daemon.errors import DaemonGoneError
from gpushare.session.job import FutureLike

if TYPE_CHECKING:
    from gpushare.daemon.client.application import DaemonApplication

MOST_ATTEMPTS = 3
"""Of a job that is run again by itself: one that ends every worker must not do so for ever."""
MOST_SUSPICIONS = 1
"""So often a job that is run again by itself may have been on the GPU when a kernel, its own or another's, failed."""
NUMBERS = (int, float)
_making_events = threading.Lock()


class Submission:
    """What was submitted, so that it can be submitted again.

    Attributes:
        arguments: arrays as their states.
        arrays: those among them.
    """

    __slots__ = ("application", "arguments", "arrays", "block", "grid", "kernel", "shared_bytes")

    def __init__(
        self,
        application: DaemonApplication,
        kernel: Any,
        grid: int | Extent,
        block: int | Extent,
        arguments: Sequence[Any],
        shared_bytes: int,
    ) -> None:
        self.application = application
        self.kernel = kernel
        self.grid = grid
        self.block = block
        self.shared_bytes = shared_bytes
        self.arguments = [each if type(each) in NUMBERS else _argument(each) for each in arguments]
        self.arrays = [each for each in self.arguments if type(each) is ArrayState]

    def send(self, registered: Registered, job: DaemonJob) -> int:
        """Has that worker run it; returns the number that it knows the job by.

        Raises:
            InvalidInput: it cannot be; the message names what is wrong.
        """
        application = registered.application(self.application)
        launcher = registered.launcher(self.kernel, self.block, self.shared_bytes)
        if launcher.module is not None:
            registered.variables.require_there(launcher.module, registered.place, self.kernel.name)
        grid = self.grid
        if type(grid) is int and 0 < grid <= MOST_TASKS:
            grid = (grid, 1, 1)
        else:
            grid = grid_of(f"launch of {self.kernel.name!r}: grid", grid)
        return launcher.launch(application, grid, self.arguments, job)


class DaemonJob(FutureLike):
    """A launch that has been submitted.

    Attributes:
        is_replayable: it is run again by itself if its worker is lost.
        repeats: the job that had ended, whose results this one brings back.
        attempts: how often it has been submitted.
        suspicions: how often it was on the GPU with others when one of them failed.
        error: what it ended with, if not well.
        has_ended: well or not, as far as anybody has looked.
    """

    __slots__ = (
        "__weakref__", "_event", "_number", "_registered", "attempts", "error", "has_ended", "is_replayable",
        "repeats", "submission", "suspicions",
    )  # fmt: skip

    def __init__(self, submission: Submission, *, is_replayable: bool, repeats: DaemonJob | None = None) -> None:
        self.submission = submission
        self.is_replayable = is_replayable
        self.repeats = repeats
        self.attempts = 0
        self.suspicions = 0
        self.error: Exception | None = None
        self.has_ended = False
        self._event: threading.Event | None = None
        self._number = 0
        self._registered: Registered | None = None

    @property
    def name(self) -> str:
        """Application and kernel, for messages."""
        return f"{self.submission.kernel.name!r} of {self.submission.application.name!r}"

    def submit_on(self, registered: Registered) -> None:
        """Submits it to that worker. If that is lost meanwhile, it ends like a job that had been submitted."""
        self._number = 0
        self._registered = registered
        self.attempts += 1
        try:
            self._number = self.submission.send(registered, self)
        except WorkerGone:
            self.end(registered.link.wait_lost())
        except DaemonGoneError as error:
            if registered.link.lost is None:
                raise  # an array was lost, with another worker
            self.end(error)

    def end(self, error: Exception | None) -> None:
        """It has ended at this worker."""
        retryable = error is not None and getattr(error, "retryable", False)
        if not (retryable and self.is_replayable):  # else the session runs it again
            self.settle(error)

    def suspect(self, failure: Exception, lost: Exception) -> None:
        """It was on the GPU, as were others, when a kernel failed: whose it was nobody knows.

        If it may be run again it is, as if only the worker had been ``lost``; but a kernel that fails every time must
        not take others along for ever, so if that happens again the ``failure`` is its own.
        """
        first = self if self.repeats is None else self.repeats
        first.suspicions += 1
        may_try_again = (self.is_replayable or self.repeats is not None) and first.suspicions <= MOST_SUSPICIONS
        self.end(lost if may_try_again else failure)

    def settle(self, error: Exception | None) -> None:
        """It has ended, for good."""
        if self.has_ended:
            return
        self.error = error
        self.has_ended = True
        if self._event is not None:
            self._event.set()

    @property
    def application(self) -> DaemonApplication:
        """Whose it is."""
        return self.submission.application

    def has_ended_by_now(self) -> bool:
        """Looks, and raises nothing."""
        return self.has_ended or self._wait_for_end(0)

    def _wait(self, seconds: float) -> bool:
        if self.has_ended:
            return True
        if self._registered is not None and self._registered.link.is_foreign:
            raise self._registered.link.lost  # nobody tells this process
        return self._wait_for_end(seconds)

    def _failure(self) -> Exception | None:
        return self.error

    def _wait_for_end(self, seconds: float) -> bool:
        """By itself, while nothing unusual happens; else somebody tells."""
        end = time.monotonic() + seconds
        if self._registered is not None and not self._registered.link.wait_for(self._number, seconds):
            return self.has_ended
        if self.has_ended or seconds <= 0:
            return self.has_ended
        with _making_events:
            if self._event is None:
                self._event = threading.Event()
        return self.has_ended or self._event.wait(end - time.monotonic()) or self.has_ended

    def __repr__(self) -> str:
        return f"<DaemonJob {self.name}>"


def _argument(value: Any) -> Any:
    return value._state if type(value) is DaemonArray else array_of(value)
