# SPDX-License-Identifier: Apache-2.0
"""Keys of compilation results in the cache: a hash of all inputs of the compilation."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from gpushare import _core
from gpushare.kernels.compile_request import CompileRequest
from gpushare.kernels.cuda_libraries import cuda_libraries
from gpushare.kernels.included_headers import digest_of_headers

UNTRACKED_OPTIONS = ("-include", "--pre-include", "-include-pch", "--pch", "-pch", "--use-pch")
"""Options that refer to files which the cache cannot hash."""


def cache_key(request: CompileRequest) -> str | None:
    """The key; None where some input cannot be determined.

    It contains no output of a compiler, because the lookup is to avoid compiling.
    """
    libraries = cuda_libraries()
    if any(option.startswith(UNTRACKED_OPTIONS) for option in request.options.nvrtc):
        return None
    headers: str | None = ""
    if not request.source.is_ptx:
        headers = digest_of_headers(request.source.text, request.options.include_folders, libraries.header_folders)
    if headers is None:
        return None
    parts = (
        (request.source.text, request.source.file_name, request.name, request.arch, request.preemptible),
        (request.names, request.spread),
        (request.options.nvrtc, request.options.assembler, headers),
        (libraries.fingerprint(), _fingerprint_of_gpushare()),
    )
    return hashlib.blake2b(repr(parts).encode(errors="surrogatepass"), digest_size=20).hexdigest()


@cache
def _fingerprint_of_gpushare() -> tuple[object, ...]:
    """Changes with every build of the transformation and every change of the worker's code."""
    files = [Path(_core.__file__), *sorted(Path(__file__).parent.glob("*.py"))]
    return tuple((os.fspath(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files)
