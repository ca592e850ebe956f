# SPDX-License-Identifier: Apache-2.0
"""What a client's kernels may take of the worker's memory."""

import os
from types import SimpleNamespace

import pytest

import gpushare as gs
from gpushare.daemon.arena import Arena
from gpushare.daemon.handles import HandleTable
from gpushare.daemon.limits import MOST_BYTES_OF_KERNELS
from gpushare.daemon.messages import RegisterKernel
from gpushare.daemon.wire import close_all
from gpushare.daemon.work_requests import register_kernel

SOURCE = b"// nothing"
OPTION = "-lineinfo"


@pytest.fixture
def client():
    return SimpleNamespace(
        kernels=HandleTable("kernel"),
        bytes_of_kernels=0,
        grant=SimpleNamespace(may_compile=True, user="u"),
        compiled=None,
    )


@pytest.fixture
def register(client):
    shared = Arena.made(len(SOURCE))
    shared.view[: len(SOURCE)] = SOURCE
    request = RegisterKernel(name="k", source_bytes=len(SOURCE), file_name="k.cu", options=[OPTION])

    def register():
        descriptors = [os.dup(shared.descriptor)]
        try:
            return register_kernel(client, request, 1, descriptors)
        finally:
            close_all(descriptors)  # unless it has been taken

    yield register
    shared.close()


def test_sources_and_options_count(client, register):
    assert [register(), register()] == [1, 2]
    assert client.bytes_of_kernels == 2 * (len(SOURCE) + len(OPTION))


def test_whoever_has_too_many_gets_no_more(client, register):
    size = len(SOURCE) + len(OPTION)
    client.bytes_of_kernels = MOST_BYTES_OF_KERNELS - size
    register()
    with pytest.raises(
        gs.InvalidInput, match=f"kernel 'k': with it, the sources .* are {MOST_BYTES_OF_KERNELS + size} "
    ):
        register()
    assert len(client.kernels) == 1
