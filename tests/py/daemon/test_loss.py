# SPDX-License-Identifier: Apache-2.0
"""What a job is told whose worker has ended, by what the worker has said of it."""

from types import SimpleNamespace

import gpushare as gs
from gpushare._core import JobStatus
from gpushare.daemon.client.loss import Loss
from gpushare.daemon.errors import WorkerLostError

LOST = WorkerLostError("the worker has ended")


class Job:
    """Remembers how it has ended."""

    def __init__(self, application):
        self.application, self.ended_with = SimpleNamespace(name=application), None

    def end(self, error):
        self.ended_with = error


def ended_with(loss, application, status, message):
    job = Job(application)
    loss.tell(job, status, message)
    return job.ended_with


def test_of_an_application_that_does_not_end_every_job_is_to_blame_that_was_told_nothing():
    failure = gs.DeviceError("it does not end")
    loss = Loss(LOST, failure, culprit="stuck")
    assert ended_with(loss, "stuck", None, "") is failure
    assert ended_with(loss, "moves", None, "") is LOST
    assert ended_with(Loss(LOST, failure), "stuck", None, "") is LOST


def test_what_is_said_of_a_job_beside_the_failure_reaches_it():
    failure = gs.DeviceError("broken")
    told = ended_with(Loss(LOST, failure), "alice", JobStatus.RETRYABLE, "this job did not run: broken")
    assert type(told) is WorkerLostError
    assert str(told) == "this job did not run: broken"


def test_a_failure_that_is_about_no_job_comes_with_what_to_do():
    failure = gs.PolicyError("policy 'srtf' raised KeyError")
    assert ended_with(Loss(LOST, failure), "alice", JobStatus.RETRYABLE, "") is LOST
