# SPDX-License-Identifier: Apache-2.0
"""What a worker does about applications does not grow with how many others there are."""

from types import SimpleNamespace

from gpushare.daemon.worker.application_table import ApplicationTable
from gpushare.daemon.worker.history import History, Look, look_at


def test_the_history_keeps_no_idle_applications():
    """Of thousands; but that one has nothing to do any more it says once."""
    history = History()
    for time_ns, unfinished in enumerate([{"a": 2}, {"a": 1, "b": 1}, {"b": 1}, {}, {}, {"a": 1}]):
        history.looked(Look(time_ns, "fifo", 0, unfinished, {}))
    found = [each.unfinished for each in history.between(0, 9)]
    assert found == [{"a": 2}, {"a": 1, "b": 1}, {"a": 0, "b": 1}, {"b": 0}, {}, {"a": 1}]


def test_a_look_has_those_that_work():
    def application(name, jobs, kernel):
        return SimpleNamespace(name=name, totals=SimpleNamespace(unfinished=jobs), kernel=kernel, done=3)

    present = [application("works", 2, "k"), application("waits", 1, ""), application("idle", 0, "k")]
    worker = SimpleNamespace(
        clients=[SimpleNamespace(applications=present)],
        policy="fifo",
        accounts=SimpleNamespace(used_bytes=7),
        job_metrics=SimpleNamespace(looked=lambda _: None),
        session=SimpleNamespace(status=lambda: SimpleNamespace(applications=present)),
    )
    look = look_at(worker)
    assert (look.policy, look.used_bytes) == ("fifo", 7)
    assert (look.unfinished, look.blocks_done) == ({"works": 2, "waits": 1}, {"works": 3})


class Counting:
    """An application that counts how often somebody looks at it."""

    min_speed, is_cancelled, looks = 0.0, False, 0

    def __init__(self, name):
        self._name = name

    @property
    def name(self):
        Counting.looks += 1
        return self._name

    @property
    def totals(self):
        Counting.looks += 1
        return SimpleNamespace(unfinished=1)

    def cancel(self):
        self.is_cancelled = True


def test_adding_an_application_does_not_visit_all_others():
    table = ApplicationTable()
    for number in range(1000):
        table.forget_cancelled()
        assert not table.has_name(f"{number}")
        table.put(number, Counting(f"{number}"))
    assert Counting.looks == 1000
    assert table.has_name("999")
    assert (table.cancel(7), table.cancel(7)) == (True, False)
    table.forget_cancelled()  # it has a job
    assert table.has_name("7")
    assert len(table) == 1000
