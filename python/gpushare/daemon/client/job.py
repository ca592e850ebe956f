# SPDX-License-Identifier: Apache-2.0
"""Jobs of a client, from submission to end, across workers."""

from __future__ import annotations

import time
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

from gpushare._core import WorkerGone
from gpushare.arguments.launch_geometry import MOST_TASKS, grid_of
from gpushare.daemon.client.array import ArrayState, DaemonArray
from gpushare.daemon.client.array_mapping import array_of
from gpushare.daemon.client.registrations import Registered
from gpushare.daemon.errors import DaemonGoneError
from gpushare.session.job import LaunchFuture
from gpushare.session.submission_forms import Launched

if TYPE_CHECKING:
    from gpushare.daemon.client.application import DaemonApplication

MOST_ATTEMPTS = 3
"""Limit of attempts of a repeated job: a job that ends every worker must not be repeated for ever."""
MOST_SUSPICIONS = 1
"""Limit of failures, of this or another kernel, during which a repeated job was on the GPU."""
NUMBERS = (int, float)


class Submission:
    """The data of a submission, so that it can be repeated.

    Attributes:
        arguments: the arguments, with arrays as their states.
        arrays: the array states among them.
    """

    __slots__ = ("application", "arguments", "arrays", "block", "grid", "kernel", "shared_bytes")

    def __init__(
        self,
        application: DaemonApplication,
        launch: Launched,
    ) -> None:
        self.application = application
        self.kernel, self.grid, self.block, arguments, self.shared_bytes = launch
        self.arguments = [each if type(each) in NUMBERS else _argument(each) for each in arguments]
        self.arrays = [each for each in self.arguments if type(each) is ArrayState]

    def send(self, registered: Registered, job: DaemonJob) -> int:
        """Submits it to this worker; returns the number of the job there.

        Raises:
            InvalidInput: it is not valid; the message names the cause.
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


class DaemonJob(LaunchFuture):
    """A launch that has been submitted: a future that can be awaited, like :class:`gpushare.session.job.Job`.

    Attributes:
        is_replayable: it is repeated automatically if its worker is lost.
        repeats: an ended job; this one restores its results.
        attempts: number of submissions.
        suspicions: number of times that it was on the GPU with other jobs when one of them failed.
        error: its error after a failure.
        has_ended: whether it has ended, successfully or not, as of the last poll.
    """

    __slots__ = (
        "_is_future", "_number", "_registered", "attempts", "error", "has_ended", "is_replayable", "repeats",
        "submission", "suspicions",
    )  # fmt: skip

    def __init__(self, submission: Submission, *, is_replayable: bool, repeats: DaemonJob | None = None) -> None:
        self.submission = submission
        self.is_replayable = is_replayable
        self.repeats = repeats
        self.attempts = 0
        self.suspicions = 0
        self.error: Exception | None = None
        self.has_ended = False
        self._is_future = False  # whether the state of a future has been made, which has to be settled
        self._number = 0
        self._registered: Registered | None = None

    @property
    def name(self) -> str:
        """Application and kernel, for messages."""
        return f"{self.submission.kernel.name!r} of {self.submission.application.name!r}"

    def submit_on(self, registered: Registered) -> None:
        """Submits it to this worker. If the worker is lost meanwhile, the job ends like any submitted job."""
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
        """Ends it on this worker."""
        retryable = error is not None and getattr(error, "retryable", False)
        if not (retryable and self.is_replayable):  # otherwise the session repeats it
            self.settle(error)

    def suspect(self, failure: Exception, lost: Exception) -> None:
        """Handles a failure of a kernel while several jobs were on the GPU, where the failing one is not known.

        If the job may be repeated it is, as if only the worker had been ``lost``; but a kernel that always fails must
        not affect other jobs for ever, so after another such event it ends with the ``failure``.
        """
        first = self if self.repeats is None else self.repeats
        first.suspicions += 1
        may_try_again = (self.is_replayable or self.repeats is not None) and first.suspicions <= MOST_SUSPICIONS
        self.end(lost if may_try_again else failure)

    def settle(self, error: Exception | None) -> None:
        """Ends it finally."""
        if self.has_ended:
            return
        self.error = error
        self.has_ended = True
        if self._is_future:
            self._settle()

    def _settle_at_end(self) -> None:
        self._is_future = True  # from now on settle() does it
        try:
            has_ended = self._wait(0)
        except Exception as error:  # a forked process is told of no ends
            self.set_exception(error)
            return
        if has_ended:
            self._settle()

    @property
    def application(self) -> DaemonApplication:
        """The application of the job."""
        return self.submission.application

    def has_ended_by_now(self) -> bool:
        """Polls for the end without raising errors."""
        return self.has_ended or self._wait_for_end(0)

    def _wait(self, seconds: float) -> bool:
        if self.has_ended:
            return True
        if self._registered is not None and self._registered.link.is_foreign:
            lost = self._registered.link.lost  # a forked process receives no notifications
            assert lost is not None  # it is set with is_foreign
            raise lost
        return self._wait_for_end(seconds)

    def _failure(self) -> Exception | None:
        return self.error

    def _wait_for_end(self, seconds: float) -> bool:
        """Waits in the core; unusual ends are reported by the reading thread."""
        end = time.monotonic() + seconds
        if self._registered is not None and not self._registered.link.wait_for(self._number, seconds):
            return self.has_ended
        if self.has_ended or seconds <= 0:
            return self.has_ended
        wait([self], max(end - time.monotonic(), 0))
        return self.has_ended

    def __repr__(self) -> str:
        return f"<DaemonJob {self.name}>"


def _argument(value: Any) -> Any:
    return value._state if type(value) is DaemonArray else array_of(value)
