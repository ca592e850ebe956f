# SPDX-License-Identifier: Apache-2.0
"""Write a sharing policy in Python: subclass :class:`Policy`, override ``decide``, and hand it to ``compare``."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpushare import _core
from gpushare._core import EventKind, InvalidInput, PolicyError
from gpushare.checks import require_name

if TYPE_CHECKING:
    from gpushare._core import Event, RunningLaunch, State

Quota = int | Sequence[int]


@dataclass(frozen=True)
class Plan:
    """What a policy answers: who may have how many blocks on each SM.

    Args:
        shares: maps a launch (an element of ``state.running``, or its ``id``) to its quota in blocks per SM: one int
            for all SMs, or a sequence with one int per SM, each in ``0..launch.max_residency``. The order of the
            mapping is the rank order, first served first. A launch that is left out gets nothing.
        wake_at_ns: ask again at this time (nanoseconds since the start of the run), even if nothing happens.
        whole_up_to_ns: a launch that a GPU expects to end within so many nanoseconds may run as it was written, which
            is faster, and then cannot be preempted. Simulated devices preempt it all the same.
        leaves_rest: launches of ``shares`` whose quotas are limits even where they are ``max_residency``: where such a
            launch has its quota of an SM, lower ranks may use the rest. On a GPU it does not run as it was written.

    On every SM a launch that has blocks left to start and may start them holds the room for itself; lower ranks get
    what is left once its last block has started. A quota below ``max_residency``, and one in ``leaves_rest``, leaves
    room to lower ranks.

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
)


class Policy:
    """Decides who runs where. Override :meth:`decide`; the rest has working defaults.

    A policy is a function of the events it has seen and of the seed that :meth:`begin` hands it: no clock, no threads,
    no random numbers from elsewhere. Every run gets a deep copy of the instance that you hand over, so state from one
    run never reaches another.

    >>> class LatestFirst(Policy):
    ...     def decide(self, state):
    ...         return Plan({launch: state.full_quota(launch) for launch in reversed(state.running)})
    >>> LatestFirst().name
    'LatestFirst'
    """

    @property
    def name(self) -> str:
        """The name in tables and plots; the class's name unless you override it."""
        return type(self).__name__

    def begin(self, seed: int) -> None:
        """Called once at the beginning of a run, before all else; does nothing by default.

        A policy that leaves something to chance makes its generator here, ``self.random = random.Random(seed)``, so
        that equal runs are equal and repeats differ.

        Args:
            seed: 64 bits. It follows from the policy's name and the run's seed: that of :func:`gpushare.run`; in
                repeat ``i`` of :func:`gpushare.compare` ``seed + i``, on a GPU ``i``; in a session 0.
        """

    def decide(self, state: State) -> Plan:
        """The plan for this state. Called when :meth:`wants` says so and at least one launch is running."""
        raise NotImplementedError(f"{type(self).__name__} must override decide(self, state) and return a gpushare.Plan")

    def admits(self, launch: RunningLaunch, state: State) -> bool:
        """May a launch that has just arrived begin at once, ahead of all others and with all that it can have?

        Asked once, before :meth:`observe` hears of the arrival; never by default. The policy has kept room for it, by
        smaller quotas of the others: nobody makes any. :meth:`decide` leaves it out, and a plan that names it holds for
        it from then on. On a GPU it runs as it was written and cannot be preempted; of many that have been admitted
        eight are there at a time, and the others begin when these end.
        """
        return False

    def wants(self, event: Event) -> bool:
        """Is a new plan needed after this event?

        By default when a launch arrives or ends, ``wake_at_ns`` is due, or a priority changes.
        """
        return event.kind in WANTED

    def observe(self, event: Event, state: State) -> None:
        """Called after every event, before :meth:`wants`. For predictors and memory; does nothing by default."""


def policy_name(policy: str | Policy) -> str:
    """The name under which a policy is listed."""
    if isinstance(policy, str):
        return policy
    require_name("a policy's name", policy.name)
    return policy.name


def own_policy(policy: str | Policy) -> str | Policy:
    """What a session keeps for itself: a copy, where it is one of the user's.

    Raises:
        InvalidInput: it is no policy.
    """
    if not isinstance(policy, str | Policy):
        raise InvalidInput(f"a policy must be a name or an instance of gpushare.Policy, got {policy!r}")
    return policy if isinstance(policy, str) else copy.deepcopy(policy)


def oracles() -> set[str]:
    """The built-in policies that are told what no scheduler can know."""
    return {entry.name for entry in _core.policies() if entry.is_oracle}


@contextmanager
def blamed_on(policy: Policy, but_for: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """What a policy raises becomes a PolicyError that names it; Ctrl-C, and what others raise, stays what it is."""
    try:
        yield
    except PolicyError as error:
        raise PolicyError(f"policy {policy.name!r}: {error}") from error
    except but_for:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        raise PolicyError(f"policy {policy.name!r} raised {type(error).__name__}: {error}") from error
