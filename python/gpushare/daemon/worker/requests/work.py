# SPDX-License-Identifier: Apache-2.0
"""Handlers of requests about applications and kernels. Jobs come through the rings."""

from __future__ import annotations

from typing import Any

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.arguments.launch_geometry import block_of
from gpushare.daemon.errors import RefusedError
from gpushare.daemon.protocol.arena import Arena
from gpushare.daemon.protocol.kernel_wire import kernel_of, model_of, require_size
from gpushare.daemon.protocol.messages import (
    CancelApplication,
    LoadKernel,
    OpenApplication,
    RegisterKernel,
    RegisterModel,
    SetOwnPriority,
    ShapeKernel,
    UnloadKernels,
)
from gpushare.daemon.worker.served_application import ServedApplication
from gpushare.daemon.worker.served_client import ServedClient, descriptor_in
from gpushare.model.service_level import Terms

ROUNDING = 1e-9
"""Tolerance: in floating point 0.1 + 0.2 is more than 0.3."""


def open_application(client: ServedClient, request: OpenApplication, _number: int, _descriptors: list[int]) -> int:
    """Opens an application; the client's number in its name keeps names of different clients apart."""
    _require_permitted(client, request.name, request.priority)
    client.forget_cancelled()
    with client.worker.opening:  # otherwise two clients of a user could both get the remaining part of its limit
        return _open(client, request)


def _open(client: ServedClient, request: OpenApplication) -> int:
    _require_permitted_terms(client, request.name, request.terms)
    name = f"{request.name}{client.suffix}"
    if client.applications.has_name(name):
        raise InvalidInput(f"the session has an application {request.name!r} already: take another name")
    owner, owner_weight = client.grant.user, client.grant.weight
    application = client.worker.session.application(name, request.priority, request.terms, owner, owner_weight)
    account = _core.ApplicationAccount()
    in_session = application if isinstance(application, _core.ServedApplication) else None
    handle = client.port.add_application(application.name, in_session, account)
    served = ServedApplication(application, account, request.min_speed or 0, request.priority, request.weight)
    client.applications.put(handle, served)
    client.worker.job_metrics.opened(client.grant.user, served)
    return handle


def set_priority(client: ServedClient, request: SetOwnPriority, _number: int, _descriptors: list[int]) -> bool:
    """Changes the priority of an application of this client."""
    application = client.applications[request.application]
    _require_permitted(client, application.name.removesuffix(client.suffix), request.priority)
    application.set_priority(client.worker.session, request.priority)
    return True


def _require_permitted(client: ServedClient, name: str, priority: int) -> None:
    most = client.grant.highest_priority
    if priority > most:
        raise RefusedError(
            f"application {name!r}: priority {priority} is above {most}, the highest that the server permits user "
            f"{client.grant.user}: its configuration says highest_priority"
        )


def _require_permitted_terms(client: ServedClient, name: str, terms: Terms) -> None:
    """Checks a service level. Least speeds take a part of the GPU from others, so they are limited per user."""
    most = client.grant.highest_min_speed
    of_user = (each.applications for each in client.worker.clients if each.grant.user == client.grant.user)
    min_speeds = 0.0 if terms.min_speed is None else terms.min_speed + sum(each.min_speeds for each in of_user)
    if min_speeds > most + ROUNDING:
        raise RefusedError(
            f"application {name!r}: with it, minimum speeds are {min_speeds:g} in all, above {most:g}, the most that "
            f"the server permits user {client.grant.user}: its configuration says highest_min_speed"
        )
    if terms.latency_ns is not None and client.grant.highest_priority <= 0:
        raise RefusedError(
            f"application {name!r}: a latency bound needs the right to priorities above 0, which user "
            f"{client.grant.user} does not have: the server's configuration says highest_priority"
        )


def register_kernel(client: ServedClient, request: RegisterKernel, _number: int, descriptors: list[int]) -> int:
    """Registers a kernel. The content is copied out of the shared file before it is read."""
    require_size(request.name, request.source_bytes, is_cubin=request.is_cubin)
    source = Arena.received(descriptor_in(descriptors), max(request.source_bytes, 1))
    try:
        content = bytes(source.view[: request.source_bytes])
    finally:
        source.close()
    kernel = kernel_of(request, content)
    is_assembled = kernel._source.is_ptx or request.is_cubin
    if not client.grant.may_compile and (not is_assembled or request.options):
        raise RefusedError(
            f"kernel {request.name!r}: sources of other users are not compiled, because they could include any file "
            "that the server can read: pass PTX or a cubin, or have the server's sources_of_other_users set"
        )
    amount = request.source_bytes + sum(map(len, (*request.options, *request.names)))
    return client.kernels.add(kernel, amount)


def register_model(client: ServedClient, request: RegisterModel, _number: int, _descriptors: list[int]) -> int:
    """Registers a kernel model for simulated devices."""
    return client.kernels.add(model_of(request), 0)


def load(client: ServedClient, request: LoadKernel, _number: int, _descriptors: list[int]) -> dict[str, Any]:
    """Compiles and loads a kernel now."""
    return {"module": client.kernels.loaded(request.kernel).module}


def unload(client: ServedClient, request: UnloadKernels, _number: int, _descriptors: list[int]) -> bool:
    """Unloads every kernel, even if another one cannot be unloaded."""
    refused = []
    for number in request.kernels:
        try:
            client.kernels.unload(number, request.after)
        except InvalidInput as error:
            refused.append(error)
    if refused:
        raise refused[0]
    return True


def shape(client: ServedClient, request: ShapeKernel, _number: int, _descriptors: list[int]) -> dict[str, Any]:
    """Announces launches of a kernel with this block to the client's port."""
    name = client.kernels[request.kernel].kernel.name
    block = block_of(f"launch of {name!r}: block", request.block)
    return client.kernels.shaped(request.kernel, block, request.shared_bytes)


def cancel(client: ServedClient, request: CancelApplication, _number: int, _descriptors: list[int]) -> bool:
    """Cancels an application: its jobs fail, and then it is removed."""
    if client.applications.cancel(request.application):
        client.port.remove_application(request.application, request.after)
    client.forget_cancelled()
    return True
