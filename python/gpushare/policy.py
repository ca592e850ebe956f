# SPDX-License-Identifier: Apache-2.0
"""Base class of sharing policies in Python: subclass :class:`Policy`, override ``decide``, pass an instance."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_tb
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Self

from gpushare import _core
from gpushare._core import EventKind, InvalidInput, PolicyError
from gpushare.checks import did_you_mean, require, require_name

if TYPE_CHECKING:
    from gpushare._core import Event, OptionEntry, OrderingEntry, PolicyEntry, RunningLaunch, State

    Entry = PolicyEntry | OrderingEntry

Quota = int | Sequence[int]
PACKAGE = f"{Path(__file__).parent}{os.sep}"
"""Folder of gpushare's own code."""


@dataclass(frozen=True)
class Plan:
    """A policy's decision: the quota of each launch, in blocks per SM.

    Args:
        shares: maps a launch (an element of ``state.running``, or its ``id``) to its quota in blocks per SM: one int
            for all SMs, or a sequence with one int per SM, each in ``0..launch.max_residency``. The order of the
            mapping is the rank order, highest rank first. A launch that is left out gets no SM.
        wake_at_ns: ask for a new plan at this time (nanoseconds since the start of the run), even without an event.
        whole_up_to_ns: a launch with an expected remaining time on a GPU of at most this many nanoseconds may run as
            the original kernel, which is faster and cannot be preempted. Simulated devices preempt it all the same.
        leaves_rest: launches of ``shares`` with quotas that are limits even where they equal ``max_residency``: on an
            SM where such a launch has reached its quota, lower ranks may use the remaining room. On a GPU it does not
            run as the original kernel.

    On every SM a launch that has blocks left to start, and quota for them, reserves the room for itself; lower ranks
    get the remaining room once its last block has started. A quota below ``max_residency``, and one in ``leaves_rest``,
    leaves room to lower ranks.

    >>> Plan({0: 4, 1: [2, 2, 0]}).shares[1]
    [2, 2, 0]
    """

    shares: Mapping[RunningLaunch | int, Quota] = field(default_factory=dict)
    wake_at_ns: int | None = None
    whole_up_to_ns: int = 0
    leaves_rest: Collection[RunningLaunch | int] = ()


WANTED = (
    EventKind.LAUNCH_ARRIVED,
    EventKind.LAUNCH_ENDED,
    EventKind.DEADLINE_REACHED,
    EventKind.PRIORITY_CHANGED,
    EventKind.BLOCKS_EXPECTED,
)


class Policy:
    """Decides which launches get which SMs. Subclasses override :meth:`decide`; the rest has working defaults.

    A policy is a function of its events and of the seed that :meth:`begin` receives: it reads no clock, starts no
    threads and takes no random numbers from elsewhere. Every run gets a deep copy of the instance, so no state passes
    from one run to another.

    >>> class LatestFirst(Policy):
    ...     def decide(self, state):
    ...         return Plan({launch: state.full_quota(launch) for launch in reversed(state.running)})
    >>> LatestFirst().name
    'LatestFirst'
    """

    _name: str | None = None

    @property
    def name(self) -> str:
        """The name in tables and plots; by default the class's name."""
        return type(self).__name__ if self._name is None else self._name

    @property
    def has_default_name(self) -> bool:
        """Whether it is named after its class."""
        return self._name is None and type(self).name is Policy.name

    def named(self, name: str) -> Self:
        """A copy of this policy under another name.

        Raises:
            InvalidInput: its class chooses the name.
        """
        require(type(self).name is Policy.name, f"policy {self.name!r}: its class chooses the name")
        require_name("a policy's name", name)
        renamed = copy.copy(self)
        renamed._name = name
        return renamed

    def begin(self, seed: int) -> None:
        """Called once at the beginning of a run, before all other methods; does nothing by default.

        A policy with random choices creates its generator here, ``self.random = random.Random(seed)``, so that equal
        runs are equal and repeats differ.

        Args:
            seed: 64 bits. It follows from the policy's name and the run's seed: the seed of :func:`gpushare.run`; in
                repeat ``i`` of :func:`gpushare.compare` ``seed + i``, on a GPU ``i``; in a session 0.
        """

    def decide(self, state: State) -> Plan:
        """The plan for this state. Called when :meth:`wants` is true and at least one launch is running."""
        raise NotImplementedError(f"{type(self).__name__} must override decide(self, state) and return a gpushare.Plan")

    def admits(self, launch: RunningLaunch, state: State) -> bool:
        """Whether a launch that has just arrived starts at once, ahead of all others and at its full residency.

        Asked once, before :meth:`observe` is called for the arrival; by default False. The policy is responsible for
        the room, by smaller quotas of the other launches: no launch is preempted for it. :meth:`decide` leaves it out;
        a plan that names it applies to it from then on. On a GPU it runs as the original kernel and cannot be
        preempted; at most eight admitted launches are resident at a time, and the others start when these end.
        """
        return False

    def wants(self, event: Event) -> bool:
        """Whether a new plan is needed after this event.

        By default when a launch arrives or ends, ``wake_at_ns`` is due, a priority changes, or other devices run more
        or fewer blocks of a launch than was expected.
        """
        return event.kind in WANTED

    def observe(self, event: Event, state: State) -> None:
        """Called after every event, before :meth:`wants`, for policies that predict or store.

        Does nothing by default.
        """


def policy_name(policy: str | Policy) -> str:
    """The name under which a policy is listed.

    Raises:
        InvalidInput: it is no name, or the policy's own property raised.
    """
    if isinstance(policy, str):
        return policy
    try:
        name = policy.name
    except Exception as error:
        what = f"{type(error).__name__}: {error}{_place(policy, error)}"
        raise InvalidInput(f"the name of a {type(policy).__name__} cannot be had: {what}") from error
    require_name("a policy's name", name)
    return name


def require_built_in(text: str, others: Collection[str] = (), also: str = "") -> None:
    """Raise InvalidInput unless this names a built-in policy, with options and an ordering that it may have.

    Args:
        text: as in ``cumas:window=12+srtf:remember=no``.
        others: names of what else could have been meant, for the message.
        also: what the message about an unknown name ends with, before the known name that is most like it.
    """
    try:
        _core.require_policy(text)
    except InvalidInput as error:
        ordering, plus, policy = text.rpartition("+")
        meant = _meant(ordering, _core.orderings(), _core.ordering_options) if plus else ""
        meant = meant or _meant(policy, _core.policies(), _core.policy_options, others)
        is_known = policy.partition(":")[0] in {each.name for each in _core.policies()}
        raise InvalidInput(f"{error}{'' if is_known else also}{meant}") from None


def require_open_ordering(text: str) -> None:
    """Raise InvalidInput unless this names an ordering that a session can have."""
    try:
        _core.require_open_ordering(text)
    except InvalidInput as error:
        raise InvalidInput(f"{error}{_meant(text, _core.orderings(), _core.ordering_options)}") from None


def _meant(
    text: str, entries: Sequence[Entry], options_of: Callable[[str], list[OptionEntry]], others: Collection[str] = ()
) -> str:
    """What could have been meant by an unknown name, or by an unknown option of a known one."""
    name, *options = text.split(":")
    known = [each.name for each in entries]
    if name not in known:
        return did_you_mean(name, [*known, *others])
    keys = [each.name for each in options_of(name)]
    unknown = [key for key in (each.partition("=")[0] for each in options) if key not in keys]
    return did_you_mean(unknown[0], keys) if unknown else ""


def own_policy(policy: str | Policy) -> str | Policy:
    """The policy as a session stores it: a copy of a :class:`Policy` instance, or the name.

    Raises:
        InvalidInput: it is neither, or there is no policy of this name.
    """
    if not isinstance(policy, str | Policy):
        raise InvalidInput(f"a policy must be a name or an instance of gpushare.Policy, got {policy!r}")
    if isinstance(policy, str):
        require_built_in(policy)
        return policy
    return copy.deepcopy(policy)


def oracles() -> set[str]:
    """The built-in policies that are told what no scheduler can know."""
    return {entry.name for entry in _core.policies() if entry.is_oracle}


@dataclass(frozen=True)
class BlamedOn(AbstractContextManager[None]):
    """Turns an exception of a policy into a PolicyError that names it and the line; Ctrl-C and ``but_for`` pass.

    It is a class because ``contextlib.contextmanager`` would let a StopIteration pass.
    """

    policy: Policy
    but_for: tuple[type[Exception], ...] = ()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        name = self.policy.name
        if isinstance(error, PolicyError):
            raise PolicyError(f"policy {name!r}: {error}{_place(self.policy, error)}") from error
        if isinstance(error, Exception | SystemExit | GeneratorExit) and not isinstance(error, self.but_for):
            what = f"raised {type(error).__name__}: {error}{_place(self.policy, error)}"
            raise PolicyError(f"policy {name!r} {what}") from error


def _place(policy: Policy, error: BaseException) -> str:
    """Where the policy raised the error; for a plan that cannot be, where its ``decide`` begins."""
    raised = place_of(error, {code.co_filename for cls in type(policy).__mro__ for code in _codes(cls)})
    if raised:
        return raised
    decide = getattr(type(policy).decide, "__code__", None)
    if decide is None or _is_own(decide.co_filename):
        return ""
    return f" (decide: {_shown(decide.co_filename)}:{decide.co_firstlineno})"


def place_of(error: BaseException, files: Collection[str]) -> str:
    """File and line of a user's code that raised the error, in parentheses; empty where there is none.

    Args:
        error: what was raised.
        files: where the code is; its innermost line there says more than one of a library that it calls.
    """
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    outside = [each for each in frames if not _is_own(each[0])]
    for file, line in [*reversed([each for each in outside if each[0] in files]), *reversed(outside)]:
        return f" ({_shown(file)}:{line})"
    return ""


def _codes(cls: type) -> Iterator[CodeType]:
    for each in vars(cls).values():
        code = getattr(each, "__code__", None)
        if code is not None and not _is_own(code.co_filename):
            yield code


def _is_own(file: str) -> bool:
    return file.startswith(PACKAGE)


def _shown(file: str) -> str:
    """Relative to the working directory where the file is below that."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
