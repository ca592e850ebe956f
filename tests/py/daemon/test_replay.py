# SPDX-License-Identifier: Apache-2.0
"""What is kept to be done again, and what is not."""

from types import SimpleNamespace

import numpy as np
import pytest

import gpushare as gs
from gpushare.daemon.client import replay_log
from gpushare.daemon.client.array import ArrayState
from gpushare.daemon.client.job import DaemonJob
from gpushare.daemon.client.replay_log import ReplayLog, Upload


def durable():
    return ArrayState((2,), np.dtype(np.float32), is_durable=True)


class Job(DaemonJob):
    def __init__(self, *arrays):
        application = SimpleNamespace(name="a")
        super().__init__(
            SimpleNamespace(arrays=list(arrays), kernel=SimpleNamespace(name="k"), application=application),
            is_replayable=True,
        )


@pytest.fixture
def log():
    return ReplayLog()


def submitted(log, *arrays, ended=True):
    assert log.can_replay(list(arrays), idempotent=True)
    job = Job(*arrays)
    log.submitted(job)
    if ended:
        job.settle(None)
    return job


def kept(log):
    return [each.array if isinstance(each, Upload) else each for each in log.steps()]


def test_an_upload_replaces_what_was_before(log):
    array = durable()
    log.uploaded(array, np.zeros(2))
    submitted(log, array)
    log.uploaded(array, np.ones(2))
    (upload,) = log.steps()
    assert upload.values.tolist() == [1, 1]


def test_uploads_are_copies(log):
    array, values = durable(), np.zeros(2)
    log.uploaded(array, values)
    values += 1
    assert log.steps()[0].values.tolist() == [0, 0]


def test_jobs_stay_as_long_as_an_array_of_theirs_is_needed(log):
    source, target, other = durable(), durable(), durable()
    for array in (source, target, other):
        log.uploaded(array, None)
    first = submitted(log, source, target)
    log.uploaded(source, np.ones(2))  # the old one is still needed for target
    second = submitted(log, other)
    assert kept(log) == [source, target, other, first, source, second]
    other.is_freed = True
    assert kept(log) == [source, target, first, source]
    target.is_freed = True
    assert kept(log) == [source]


def test_a_job_that_has_not_ended_stays_with_what_it_needs(log):
    array = durable()
    log.uploaded(array, None)
    job = submitted(log, array, ended=False)
    array.is_freed = True
    assert log.has_unfinished
    assert kept(log) == [array, job]
    job.settle(None)
    assert kept(log) == []
    assert not log.has_unfinished


def test_a_download_is_as_good_as_an_upload_once_all_jobs_have_ended(log):
    array = durable()
    log.uploaded(array, None)
    job = submitted(log, array)
    log.downloaded(array, np.ones(2), None)
    assert kept(log) == [array, job]
    log.downloaded(array, np.full(2, 5), array.uses)
    (upload,) = log.steps()
    assert upload.values.tolist() == [5, 5]


def test_a_download_is_not_if_something_else_came_meanwhile(log):
    array = durable()
    log.uploaded(array, np.zeros(2))
    before = array.uses
    log.uploaded(array, np.ones(2))
    log.downloaded(array, np.zeros(2), before)
    assert log.steps()[0].values.tolist() == [1, 1]
    before = array.uses
    job = submitted(log, array)
    log.downloaded(array, np.ones(2), before)
    assert kept(log) == [array, job]
    assert not log.can_replay([array], idempotent=False)
    log.downloaded(array, np.ones(2), before)
    assert array.spoiled


def test_what_cannot_be_run_again_spoils_its_arrays(log):
    array, other, passing = durable(), durable(), ArrayState((2,), np.dtype(np.float32), is_durable=False)
    for each in (array, other, passing):
        log.uploaded(each, np.zeros(2))
    assert not log.can_replay([array], idempotent=False)
    assert not log.can_replay([other, array], idempotent=True)  # for array is spoiled
    assert array.spoiled
    assert other.spoiled
    assert kept(log) == []
    log.uploaded(array, np.zeros(2))
    assert not log.can_replay([array, passing], idempotent=True)
    log.uploaded(array, np.zeros(2))
    assert kept(log) == [array]


def test_a_refused_job_is_no_step(log):
    array = durable()
    log.uploaded(array, None)
    log.refused(submitted(log, array, ended=False))
    assert kept(log) == [array]


LOST = gs.WorkerLostError("the worker has ended")
FAILURE = gs.CudaError("a kernel of 'a', 'b' failed")


def test_jobs_present_at_a_failure_are_run_once_more():
    job = Job()
    job.suspect(FAILURE, LOST)
    assert not job.has_ended
    job.end(LOST)  # that others' workers end is no fault of its own
    assert not job.has_ended
    job.suspect(FAILURE, LOST)
    assert job.error is FAILURE


def test_jobs_that_may_not_be_repeated_fail_at_the_first_suspicion():
    job = Job()
    job.is_replayable = False
    job.suspect(FAILURE, LOST)
    assert job.error is FAILURE


def test_a_repetition_is_suspected_in_the_name_of_the_job_that_it_repeats():
    job = Job()
    job.settle(None)
    repetitions = [DaemonJob(job.submission, is_replayable=False, repeats=job) for _ in range(2)]
    for each in repetitions:
        each.suspect(FAILURE, LOST)
    assert [each.error for each in repetitions] == [LOST, FAILURE]
    assert job.error is None


def test_the_log_does_not_grow_for_ever(log, monkeypatch):
    monkeypatch.setattr(replay_log, "MOST_STEPS", 100)
    array, untouched = durable(), durable()
    log.uploaded(untouched, None)
    log.uploaded(array, None)
    for _ in range(1000):
        if not log.can_replay([array], idempotent=True):
            break
        job = Job(array)
        log.submitted(job)
        job.settle(None)
    else:
        raise AssertionError("it keeps them all")
    assert kept(log) == [untouched]
