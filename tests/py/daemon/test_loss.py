# SPDX-License-Identifier: Apache-2.0
"""What a job is told whose worker has ended, by what the worker has said of it."""

from types import SimpleNamespace

import gpushare as gs
from gpushare.daemon.errors import WorkerLostError
from gpushare.daemon.loss import Loss

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
