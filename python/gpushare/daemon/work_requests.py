# SPDX-License-Identifier: Apache-2.0
"""Applications, kernels and jobs."""

from __future__ import annotations

from typing import Any

from gpushare._core import InvalidInput
from gpushare.daemon.arena import Arena
from gpushare.daemon.errors import RefusedError
from gpushare.daemon.kernel_wire import kernel_of, model_of, unpacked_argument
from gpushare.daemon.limits import MOST_UNFINISHED_JOBS
from gpushare.daemon.messages import (
    CancelApplication,
    LoadKernel,
    OpenApplication,
    RegisterKernel,
    RegisterModel,
    SubmitJob,
)
from gpushare.daemon.served_application import ServedApplication, WhatRuns
from gpushare.daemon.served_array import ServedArray
from gpushare.daemon.served_client import ServedClient, descriptor_in
from gpushare.kernel_model import require


def open_application(client: ServedClient, request: OpenApplication, _number: int, _descriptors: list[int]) -> int:
    """Its name in the session says whose it is: two clients may use the same one."""
    most = client.grant.highest_priority
    if request.priority > most:
        raise RefusedError(
            f"application {request.name!r}: priority {request.priority} is above {most}, the highest that the server "
            f"permits user {client.grant.user}: its configuration says highest_priority"
        )
    if any(each.name == f"{request.name}@{client.number}" for each in client.applications):
        raise InvalidInput(f"the session has an application {request.name!r} already: take another name")
    application = client.worker.open_application(
        f"{request.name}@{client.number}", request.priority, request.weight, request.deadline_ns
    )
    return client.applications.add(ServedApplication(application, client.jobs_ended, client.worker.is_fatal))


def register_kernel(client: ServedClient, request: RegisterKernel, _number: int, descriptors: list[int]) -> int:
    """The text is copied out of the shared file before anything looks at it."""
    source = Arena.received(descriptor_in(descriptors), max(request.source_bytes, 1))
    try:
        content = source.view[: request.source_bytes]
    finally:
        source.close()
    try:
        kernel = kernel_of(request, content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidInput(f"kernel {request.name!r}: its source is not UTF-8 text") from error
    if not client.grant.may_compile and (not kernel._source.is_ptx or request.options):
        raise RefusedError(
            f"kernel {request.name!r}: sources of other users are not compiled, because they could include any file "
            "that the server can read: hand over PTX, or have the server's sources_of_other_users set"
        )
    return client.kernels.add(kernel)


def register_model(client: ServedClient, request: RegisterModel, _number: int, _descriptors: list[int]) -> int:
    """A kernel for simulated devices."""
    return client.kernels.add(model_of(request))


def load(client: ServedClient, request: LoadKernel, _number: int, _descriptors: list[int]) -> bool:
    """Compiles and loads now."""
    client.worker.session.load(client.kernels[request.kernel])
    return True


def submit(client: ServedClient, request: SubmitJob, _number: int, _descriptors: list[int]) -> bool:
    """To the session; an event tells the client of the end."""
    application = client.applications[request.application]
    kernel = client.kernels[request.kernel]
    require(request.job > client.newest_job, f"job {request.job} does not come after job {client.newest_job}")
    unfinished = sum(each.unfinished for each in client.applications)
    require(unfinished < MOST_UNFINISHED_JOBS, f"a client can have {MOST_UNFINISHED_JOBS} jobs that have not ended")
    used: list[ServedArray] = []
    try:
        arguments = [unpacked_argument(each, lambda handle: _use(client, handle, used)) for each in request.args]
        job = application.application.submit(
            kernel,
            grid=tuple(request.grid),
            block=tuple(request.block),
            args=arguments,
            shared_bytes=request.shared_bytes,
        )
    except BaseException:
        for array in used:
            array.used()
        raise
    client.newest_job = request.job
    alone_ns = client.worker.alone_times.of(kernel, tuple(request.grid), tuple(request.block), request.shared_bytes)
    application.watch(request.job, job, WhatRuns(kernel.name, alone_ns), used)
    return True


def _use(client: ServedClient, handle: int, used: list[ServedArray]) -> Any:
    served = client.arrays[handle]
    array = served.use()
    used.append(served)
    return array


def cancel(client: ServedClient, request: CancelApplication, _number: int, _descriptors: list[int]) -> bool:
    """Its jobs fail."""
    client.applications[request.application].cancel()
    return True
