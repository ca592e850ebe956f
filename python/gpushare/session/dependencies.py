# SPDX-License-Identifier: Apache-2.0
"""Things that jobs wait for outside of their session: futures, and streams and events of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.session.other_libraries import gpu_of_stream

Thing = Callable[["Dependencies", int], None]
"""Has a job, which is given by its number, wait for something."""
NOTHING: tuple[()] = ()
EXPECTED = "a job, another concurrent.futures.Future, or on a GPU a stream or an event of PyTorch or CuPy"


class Dependencies:
    """What the jobs of a session wait for.

    Args:
        session: the session in the core.
        gpu: its GPU; None for a simulated device, which has no streams.
    """

    def __init__(self, session: _core.CoreSession, gpu: _core.CudaDevice | None) -> None:
        self._held: _core.HeldJobs | None = _core.HeldJobs(session, gpu) if gpu is not None else _core.HeldJobs(session)

    def hold(self, job: int, things: list[Thing]) -> None:
        """Lets the job begin when all things have happened; it was submitted as held."""
        held = self._held  # another thread may close the session meanwhile
        if held is not None:
            held.hold(job, len(things))
            for start in things:
                start(self, job)

    def ended(self, job: int, future: Future[Any]) -> None:
        """A future that the job waits for is done."""
        held = self._held
        if held is not None:
            held.happened(job, _failure_of(future))

    def after_spread(self, job: int, other: _core.SpreadJob) -> None:
        """The job waits for one on several devices."""
        held = self._held
        if held is not None:
            held.after_spread(job, other)

    def after_handle(self, job: int, handle: int, is_stream: bool) -> None:
        """The job waits for a stream or an event of the driver."""
        held = self._held
        if held is None:
            return
        try:
            held.after_stream(job, handle) if is_stream else held.after_event(job, handle)
        except _core.CudaError as error:
            held.happened(job, f"the stream that it waits for cannot be used: {error}")

    @property
    def failed(self) -> set[int]:
        """The jobs that never begin, because something that they waited for has failed."""
        held = self._held
        return set(held.failed) if held is not None else set()

    def close(self) -> None:
        """The session has ended: nothing is waited for any more."""
        self._held = None


def _failure_of(future: Future[Any]) -> str:
    try:
        error = future.exception(0)
    except CancelledError:
        return "what it waits for was cancelled"
    return "" if error is None else f"what it waits for has failed: {error}"


def things_in(after: Any, gpu: _core.CudaDevice | None) -> list[Thing]:
    """The things in a job's ``after``, checked.

    Raises:
        InvalidInput: something is no thing to wait for, or a simulated device has no such thing.

    >>> things_in((), None)
    []
    """
    each_thing = after if isinstance(after, list | tuple) else (after,)
    return [_thing(each, gpu) for each in each_thing]


def require_own_streams(after: Any, ordinal: int | None) -> None:
    """Raise InvalidInput for a stream of another GPU than this one: its number may mean another stream here."""
    for each in after if isinstance(after, list | tuple) else (after,):
        found = gpu_of_stream(each)
        if found is not None and found != ordinal and ordinal is not None:
            raise InvalidInput(
                f"after: {each!r} is a stream of cuda:{found}, and the job is on cuda:{ordinal}: record an event in "
                "it, and wait for that"
            )


def _thing(each: Any, gpu: _core.CudaDevice | None) -> Thing:
    if isinstance(each, Future):
        return partial(_wait_for_future, future=each)
    found = _handle_of(each)
    if found is None:
        raise InvalidInput(f"after: {each!r} is nothing to wait for: expected {EXPECTED}")
    if gpu is None:
        raise InvalidInput(f"after: {each!r} is a stream or an event, which a simulated device does not have")
    handle, is_stream = found
    if handle == 0 and not is_stream:
        raise InvalidInput(f"after: the event {each!r} has not been recorded: record it in a stream first")
    return partial(Dependencies.after_handle, handle=handle, is_stream=is_stream)


def _wait_for_future(dependencies: Dependencies, job: int, future: Future[Any]) -> None:
    future.add_done_callback(partial(dependencies.ended, job))


def _handle_of(each: Any) -> tuple[int, bool] | None:
    """The driver's handle, and whether it is that of a stream; None: it is neither a stream nor an event."""
    if hasattr(each, "cuda_event"):  # PyTorch
        return int(each.cuda_event), False
    if hasattr(each, "__cuda_stream__"):
        protocol = each.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1]), True
    if hasattr(each, "cuda_stream"):  # PyTorch
        return int(each.cuda_stream), True
    if type(each).__module__.partition(".")[0] == "cupy" and hasattr(each, "ptr"):
        return int(each.ptr), "Stream" in type(each).__name__
    return None
