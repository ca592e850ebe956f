# SPDX-License-Identifier: Apache-2.0
"""A policy in Python runs in the same loop as the built-in ones and sees the same state."""

import pytest

import gpushare as gs

SAMPLING_SM = 0


class Fifo(gs.Policy):
    def decide(self, state):
        return gs.Plan({launch: state.full_quota(launch) for launch in state.running})


class Srtf(gs.Policy):
    """The built-in srtf (Pai et al. 2014, section 5.1.1), written again with what Python offers."""

    def __init__(self):
        self.predictor = gs.SimpleSlicing()

    def observe(self, event, state):
        self.predictor.observe(event, state)

    def wants(self, event):
        return super().wants(event) or self.predictor.changed

    def decide(self, state):
        remaining = {launch: self.predictor.remaining_ns(launch) for launch in state.running}
        sampled = sorted((each for each in state.running if remaining[each] is not None), key=remaining.get)
        new = [launch for launch in state.running if remaining[launch] is None]
        if not new:
            return gs.Plan({launch: launch.max_residency for launch in sampled})
        if not sampled:
            return gs.Plan({new[0]: new[0].max_residency})
        newcomer, others = [0] * state.sms, [sampled[0].max_residency] * state.sms
        newcomer[SAMPLING_SM], others[SAMPLING_SM] = new[0].max_residency, 0
        return gs.Plan({new[0]: newcomer, sampled[0]: others})


def test_fifo_in_python_is_fifo(ercbench_pair):
    assert gs.run(ercbench_pair, Fifo()).trace == gs.run(ercbench_pair, "fifo").trace


@pytest.mark.parametrize("number", [0, 13, 27, 55])
def test_srtf_in_python_takes_the_built_in_ones_decisions(number):
    pair = gs.bundled_workload("ercbench").pairs(36)[number]
    mine, built_in = gs.run(pair, Srtf()), gs.run(pair, "srtf:predictor=simple-slicing")
    assert mine.decisions().equals(built_in.decisions())
    assert mine.trace == built_in.trace


class LeavesRest(gs.Policy):
    """Everything to all, in order of arrival; each leaves what it does not fill."""

    def decide(self, state):
        everybody = list(state.running)
        return gs.Plan({each: each.max_residency for each in everybody}, leaves_rest=everybody)


def beside(registers, residency, policy):
    """First start of b, in ns, and how many blocks of it are there at 2.5 ms, beside a, of which so many fit an SM."""
    kernel = gs.KernelModel("a", threads=64, registers_per_thread=registers, latency_ns=100_000)
    a = gs.Application("a", (gs.Launch(kernel, 15 * residency * 50),))
    b = gs.Launch(gs.KernelModel("b", threads=64, registers_per_thread=16, latency_ns=10_000), 15 * 8 * 800)
    workload = gs.Workload("w", (a, gs.Application("b", (b,), arrival_ns=36)), device="gtx480")
    run = gs.run(workload, policy, device="gtx480")
    blocks = run.blocks()
    blocks = blocks[blocks.application == "b"]
    return blocks.start_ns.min(), ((blocks.start_ns <= 2_500_000) & (blocks.end_ns > 2_500_000)).sum()


# SRTF sections 5.1.2 and 5.2.2: a limit leaves the rest of every SM to the other, also where it is all that a launch
# can have. A block of a takes 100 us; b comes at 36 ns.
@pytest.mark.parametrize(("registers", "residency"), [(200, 2), (160, 3), (120, 4)])
@pytest.mark.parametrize(("policy", "within_ns"), [("mpmax", 36), ("srtf-adaptive", 100_000), (LeavesRest(), 36)])
def test_a_limit_leaves_the_rest_also_at_the_maximum_residency(registers, residency, policy, within_ns):
    first, there = beside(registers, residency, policy)
    assert first <= within_ns
    assert there > 0


def test_a_full_quota_that_is_no_limit_leaves_nothing():
    first, there = beside(200, 2, Fifo())
    assert first > 2_500_000
    assert there == 0


def test_decisions_show_which_shares_leave_the_rest(pair):
    assert gs.run(pair, LeavesRest()).decisions()["leaves_rest"].all()
    assert not gs.run(pair, "fifo").decisions()["leaves_rest"].any()


def test_a_python_policy_beside_built_in_ones(pair):
    built_in = "srtf:predictor=simple-slicing"
    result = gs.compare(pair, ["fifo", Fifo(), Srtf(), built_in])
    metrics = result.metrics()
    assert result.policies == ["fifo", "Fifo", "Srtf", built_in]
    assert metrics.loc["Fifo"].equals(metrics.loc["fifo"])
    assert metrics.loc["Srtf"].equals(metrics.loc[built_in])


class Remembers(Fifo):
    """Keeps everything it is shown."""

    def __init__(self):
        self.seen = []

    def observe(self, event, state):
        self.seen.append((event, state))


class Shows(Remembers):
    """Hands what it has seen to the test: a deep copy keeps the reference to a class attribute."""

    copies: list = []  # noqa: RUF012 - shared on purpose

    def __deepcopy__(self, memo):
        copy = type(self)()
        Shows.copies.append(copy)
        return copy


@pytest.fixture
def seen(pair):
    Shows.copies.clear()
    gs.run(pair, Shows())
    return Shows.copies[0].seen


def test_what_was_seen_outlives_the_run(seen):
    event, state = seen[len(seen) // 2]
    before = (state.now_ns, [launch.done for launch in state.running], repr(state.running))
    gs.run(gs.bundled_workload("ercbench"), "srtf")
    assert (state.now_ns, [launch.done for launch in state.running], repr(state.running)) == before
    assert event.time_ns == state.now_ns
    assert state.device.name == "gtx480"


def test_every_event_of_the_trace_is_observed_in_order(seen, pair):
    trace = gs.run(pair, "fifo").trace
    assert len(seen) == trace.event_count
    times = [event.time_ns for event, _ in seen]
    assert times == sorted(times)
    ended = [event for event, _ in seen if event.kind == gs.EventKind.BLOCK_ENDED]
    blocks = trace.blocks()
    assert [event.time_ns for event in ended] == list(blocks["end_ns"])
    assert [event.started_ns for event in ended] == list(blocks["start_ns"])
    assert [(event.sm, event.block) for event in ended] == list(zip(blocks["sm"], blocks["block"], strict=True))
    assert [event.blocks for event in ended] == list(blocks["blocks"])


def test_the_state_adds_up(seen):
    for _, state in seen:
        for launch in state.running:
            assert launch.done + launch.unfinished == launch.started + launch.unstarted == launch.blocks
            assert launch.resident_per_sm().sum() == launch.started - launch.done
            assert launch.done_per_sm().sum() == launch.done
            assert launch.resident_per_sm().max() <= launch.max_residency


def test_a_launch_knows_its_application(seen):
    names = {(launch.application, launch.kernel) for _, state in seen for launch in state.running}
    assert names == {("long", "kernel"), ("short", "kernel")}


def test_priorities_weights_and_runtimes_alone_are_visible(kernel):
    class Notes(Fifo):
        notes: set = set()  # noqa: RUF012 - shared on purpose

        def decide(self, state):
            self.notes.update((each.application, each.priority, each.weight, each.alone_ns) for each in state.running)
            return super().decide(state)

    application = gs.Application("a", [gs.Launch(kernel, 90)], priority=3, weight=0.25)
    run = gs.run(gs.Workload("w", [application]), Notes(), device="gtx480")
    assert Notes.notes == {("a", 3, 0.25, run.alone_ns["a"])}


class Waits(gs.Policy):
    """Leaves the GPU idle until a given time."""

    def __init__(self, until_ns):
        self.until_ns = until_ns

    def decide(self, state):
        if state.now_ns < self.until_ns:
            return gs.Plan({}, wake_at_ns=self.until_ns)
        return gs.Plan({launch: launch.max_residency for launch in state.running})


def test_wake_at_is_kept_to_the_nanosecond(pair):
    run = gs.run(pair, Waits(123_457))
    assert 123_457 in set(run.decisions()["time_ns"])
    assert run.blocks()["start_ns"].min() >= 123_457


def test_wants_limits_when_decide_is_called(pair):
    class Once(Fifo):
        def wants(self, event):
            return event.kind == gs.EventKind.LAUNCH_ARRIVED

    trace = gs.run(pair, Once()).trace
    assert trace.decision_count == len(trace.launch_arrivals()["time_ns"]) == 2


def test_every_run_gets_its_own_copy(pair):
    class Counts(Fifo):
        def __init__(self):
            self.decisions = 0

        def decide(self, state):
            self.decisions += 1
            assert self.decisions <= 10
            return super().decide(state)

    mine = Counts()
    result = gs.compare(pair, [mine], repeats=20)
    assert result.errors == {}
    assert mine.decisions == 0


def test_a_quota_limits_residency_on_each_sm(pair):
    class Staircase(gs.Policy):
        def decide(self, state):
            return gs.Plan({launch: [sm % 3 for sm in range(state.sms)] for launch in state.running})

    run = gs.run(pair, Staircase())
    assert set(run.blocks()["sm"]) == {sm for sm in range(15) if sm % 3}


def test_launches_and_their_ids_are_the_same_key(pair):
    class ById(gs.Policy):
        def decide(self, state):
            return gs.Plan({launch.id: launch.max_residency for launch in state.running})

    assert gs.run(pair, ById()).trace == gs.run(pair, "fifo").trace


class KeepsAnSm(gs.Policy):
    """Lets in what is short, on the last SM, which nobody else has."""

    def admits(self, launch, state):
        return launch.blocks < 10

    def decide(self, state):
        planned = [launch for launch in state.running if launch.blocks >= 10]
        return gs.Plan({each: [each.max_residency] * (state.sms - 1) + [0] for each in planned})


def test_a_policy_may_admit_what_it_has_kept_room_for():
    kernel = gs.KernelModel("kernel", threads=1024, latency_ns=100_000)
    short = gs.KernelModel("short", threads=256, latency_ns=1_000)
    workload = gs.Workload(
        "urgent",
        [
            gs.Application("long", [gs.Launch(kernel, 3000)]),
            gs.Application("short", [gs.Launch(short, 4)], arrival_ns=250_000),
        ],
    )
    run = gs.run(workload, KeepsAnSm(), device="sim:h100")
    blocks = run.blocks()
    mine = blocks[blocks["application"] == "short"]
    delays = gs.device("sim:h100").delays
    assert set(mine["sm"]) == {131}
    assert set(mine["start_ns"]) == {250_000 + delays.launch_ns}


def test_what_admits_raises_is_told_with_the_policys_name(pair):
    class Breaks(gs.Policy):
        def admits(self, launch, state):
            raise ValueError("no")

        def decide(self, state):
            return gs.Plan()

    result = gs.compare(pair, ["fifo", Breaks()])
    assert "Breaks" in result.errors
    assert "no" in result.errors["Breaks"]
