# SPDX-License-Identifier: Apache-2.0
"""Counters for Prometheus: what is counted, for how long, how many series there can be, and that names follow rules."""

import json
import os
import pathlib
import pwd
import re
from types import SimpleNamespace

import pytest

import gpushare as gs
from gpushare._core import TURNAROUND_BOUNDS_NS
from gpushare.daemon.http.exposition import exposition
from gpushare.daemon.worker.metrics import KEPT_S, OTHERS, JobMetrics

pytest.importorskip("prometheus_client")
from prometheus_client.parser import text_string_to_metric_families

DASHBOARD = pathlib.Path(__file__).parents[3] / "packaging" / "grafana" / "gpushare.json"
NO_JOBS = [0] * (len(TURNAROUND_BOUNDS_NS) + 1)
UNITS = re.compile(r"_(ns|us|ms|milliseconds|microseconds|nanoseconds|minutes|hours|kib|mib|gib|percent)(_|$)")
"""What promtool calls no base unit."""


class Application:
    """What is counted of a served application."""

    def __init__(self, name):
        self.name = name
        self.totals = SimpleNamespace(
            unfinished=0, turnarounds=list(NO_JOBS), turnaround_ns=0, in_system_ns=0, alone_ns=0.0
        )

    def end_jobs(self, count, turnaround_ns, alone_ns):
        totals = self.totals
        place = sum(turnaround_ns > bound for bound in TURNAROUND_BOUNDS_NS)
        totals.turnarounds = [n + count * (number == place) for number, n in enumerate(totals.turnarounds)]
        totals.turnaround_ns += count * turnaround_ns
        totals.in_system_ns += count * turnaround_ns
        totals.alone_ns = None if alone_ns is None else totals.alone_ns + count * alone_ns


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def metrics(clock):
    return JobMetrics(most=4, most_of_user=3, now_s=clock)


def looked_at(**figures):
    """A session's status: SM time and preemptions by the name of an application."""
    applications = [
        SimpleNamespace(name=name, sm_time_ns=sm_time, preemptions=preemptions)
        for name, (sm_time, preemptions) in figures.items()
    ]
    return SimpleNamespace(applications=applications)


def of(metrics, application, user="ann"):
    found = [each for each in metrics.as_dicts() if (each["application"], each["user"]) == (application, user)]
    return found[0] if found else None


def test_applications_of_one_name_and_user_are_one_series(metrics):
    for client, user in enumerate(("ann", "ann", "bob")):
        application = Application(f"train@{client}")
        application.end_jobs(2, 15_000, 1000)
        metrics.opened(user, application)
    assert [sum(each["turnarounds"]) for each in metrics.as_dicts()] == [4, 2]
    assert of(metrics, "train")["turnaround_ns"] == 60_000
    assert of(metrics, "train")["alone_ns"] == 4000


def test_counters_only_grow_when_clients_come_and_go(metrics):
    seen = []
    for client in range(3):
        application = Application(f"train@{client}")
        metrics.opened("ann", application)
        seen.append(of(metrics, "train"))
        application.end_jobs(1, 20_000, 500)
        metrics.looked(looked_at(**{application.name: (700, 2)}))
        seen.append(of(metrics, "train"))
        metrics.looked(looked_at())  # the session has forgotten it
        metrics.closed(application.name)
        seen.append(of(metrics, "train"))
    for key in ("turnaround_ns", "in_system_ns", "alone_ns", "sm_time_ns", "preemptions"):
        values = [each[key] for each in seen]
        assert values == sorted(values), key
    assert (seen[-1]["sm_time_ns"], seen[-1]["preemptions"], sum(seen[-1]["turnarounds"])) == (2100, 6, 3)


def test_a_series_stays_for_a_while_and_then_goes(metrics, clock):
    metrics.opened("ann", Application("short@1"))
    clock.now_s = 10
    metrics.closed("short@1")
    clock.now_s = 10 + KEPT_S
    assert of(metrics, "short") is not None
    clock.now_s += 1
    assert metrics.as_dicts() == []


def test_a_series_that_is_used_again_stays(metrics, clock):
    metrics.opened("ann", Application("short@1"))
    metrics.closed("short@1")
    metrics.opened("ann", Application("short@2"))
    clock.now_s = 2 * KEPT_S
    assert of(metrics, "short") is not None


def test_a_time_alone_that_is_unknown_once_is_unknown_for_good(metrics):
    unknown = Application("a@1")
    metrics.opened("ann", unknown)
    unknown.end_jobs(1, 20_000, None)
    metrics.closed("a@1")
    metrics.opened("ann", Application("a@2"))
    assert of(metrics, "a")["alone_ns"] is None


def test_a_user_with_many_names_leaves_places_for_others(metrics):
    for number in range(1000):
        application = Application(f"hostile{number}@1")
        application.end_jobs(1, 20_000, 1)
        metrics.opened("eve", application)
    metrics.opened("ann", Application("honest@2"))
    assert of(metrics, "honest") is not None
    found = metrics.as_dicts()
    assert len(found) == 5
    assert sum(of(metrics, OTHERS, OTHERS)["turnarounds"]) == 997


def test_users_together_have_a_limit(metrics):
    for number in range(100):
        metrics.opened(f"user{number}", Application(f"a@{number}"))
    assert len(metrics.as_dicts()) == 5


def test_an_application_among_the_others_stays_there_until_it_ends(metrics, clock):
    applications = [Application(f"a{number}@1") for number in range(4)]
    for each in applications:
        metrics.opened("ann", each)
    metrics.closed("a0@1")
    clock.now_s = KEPT_S + 1
    applications[3].end_jobs(5, 20_000, 1)
    assert sum(of(metrics, OTHERS, OTHERS)["turnarounds"]) == 5
    assert of(metrics, "a3") is None
    metrics.closed("a3@1")
    assert sum(of(metrics, OTHERS, OTHERS)["turnarounds"]) == 5
    metrics.opened("ann", Application("a4@2"))
    assert of(metrics, "a4") is not None


@pytest.fixture(scope="module")
def families(start_server, kernel):
    """What a worker's answer becomes, with an application that has an odd name."""
    with start_server() as path, gs.connect(path) as session:
        application = session.application("a\\b{}")
        application.submit(kernel("sleep"), grid=1, block=1, args=(0.02,)).result(30)
        text = exposition({"sim:h100": session.metrics(), "sim:none": None}).decode()
    return {each.name: each for each in text_string_to_metric_families(text)}


def value(families, name, **labels):
    (found,) = [
        sample.value
        for family in families.values()
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    return found


def test_names_follow_the_conventions(families):
    """As promtool check metrics."""
    for family in families.values():
        assert family.documentation.endswith("."), family
        assert re.fullmatch(r"gpushare_[a-z_]+", family.name)
        assert not UNITS.search(family.name)
        for sample in family.samples:
            assert sample.name.endswith("_total") == (family.type == "counter"), sample
            assert ("le" in sample.labels) == sample.name.endswith("_bucket"), sample
            assert not set(sample.labels) & {"job", "instance"}, "Prometheus sets these"
        keys = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples]
        assert len(keys) == len(set(keys))


def test_histograms_are_cumulative_and_end_with_all_jobs(families):
    buckets = [each for each in families["gpushare_job_turnaround_seconds"].samples if each.name.endswith("_bucket")]
    bounds = [float(each.labels["le"]) for each in buckets]
    assert bounds[:-1] == [bound / 1e9 for bound in TURNAROUND_BOUNDS_NS]
    assert bounds[-1] == float("inf")
    counts = [each.value for each in buckets]
    assert counts == sorted(counts)
    assert counts[-1] == value(families, "gpushare_job_turnaround_seconds_count") == 1
    at_20_ms = dict(zip(bounds, counts, strict=True))
    assert at_20_ms[0.01] == 0


def test_labels_are_the_application_and_its_user(families):
    labels = {"device": "sim:h100", "application": "a\\b{}", "user": pwd.getpwuid(os.getuid()).pw_name}
    assert value(families, "gpushare_job_turnaround_seconds_sum", **labels) > 0.02
    assert value(families, "gpushare_unfinished_jobs", **labels) == 0
    assert value(families, "gpushare_sms", device="sim:h100") == 132


def test_a_worker_that_does_not_answer_is_down(families):
    assert value(families, "gpushare_up", device="sim:h100") == 1
    assert value(families, "gpushare_up", device="sim:none") == 0


def test_series_outlive_their_client(serve, folder, run, eventually):
    serve()
    with gs.connect(folder / "socket") as session:
        run(session.application("short"), "sleep", 0.01).result(30)
    with gs.connect(folder / "socket") as session:
        eventually(lambda: len(session.status()["clients"]) == 1)
        (series,) = session.metrics()["series"]
    assert (series["application"], sum(series["turnarounds"]), series["unfinished_jobs"]) == ("short", 1, 0)
    assert series["sm_time_ns"] == 1000  # what standin.py says of one job


def test_a_cancelled_application_is_counted_once(serve, folder, run):
    serve()
    with gs.connect(folder / "socket") as session:
        for number in range(3):
            application = session.application(f"a{number}")
            run(application, "sleep", 0).result(30)
            application.cancel()
        found = {each["application"]: sum(each["turnarounds"]) for each in session.metrics()["series"]}
    assert found == {"a0": 1, "a1": 1, "a2": 1}


def test_the_dashboard_names_metrics_that_exist(families):
    board = json.loads(DASHBOARD.read_text())
    exported = {sample.name for family in families.values() for sample in family.samples}
    exported |= {f"{name}_total" for name, family in families.items() if family.type == "counter"} | set(families)
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked += [each["definition"] for each in board["templating"]["list"] if each["type"] == "query"]
    named = {name for expression in asked for name in re.findall(r"gpushare_\w+", expression)}
    assert len(named) > 10
    assert named <= exported
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
