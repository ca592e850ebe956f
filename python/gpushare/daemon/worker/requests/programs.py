# SPDX-License-Identifier: Apache-2.0
"""Handlers for unmodified programs: their launches do not come through a ring."""

from __future__ import annotations

import os

from gpushare._core import InvalidInput
from gpushare.daemon.protocol.limits import MOST_PROGRAMS
from gpushare.daemon.protocol.messages import AttachProgram
from gpushare.daemon.protocol.wire import Message
from gpushare.daemon.worker.served_client import ServedClient, descriptor_in


def attach(client: ServedClient, request: AttachProgram, _number: int, descriptors: list[int]) -> Message:
    """Attaches a program as the application; its shared page comes with the message."""
    application = client.applications[request.application]
    session = client.worker.session.programs
    if len(client.programs) >= MOST_PROGRAMS:
        raise InvalidInput(f"this client has {MOST_PROGRAMS} programs, as many as a client may have: connect anew")
    page = descriptor_in(descriptors)
    try:
        application.program = session.attach(application.application, page, client.gang)
        client.programs.append(application.program)
    finally:
        os.close(page)
    return {"environment": client.grant.program_environment, "gpus": client.grant.gpus}
