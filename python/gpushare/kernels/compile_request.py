# SPDX-License-Identifier: Apache-2.0
"""Compile requests: the cache looks them up, the compiler builds them."""

from __future__ import annotations

from dataclasses import dataclass

from gpushare.kernels.source import CompileOptions, KernelSource


@dataclass(frozen=True)
class CompileRequest:
    """A kernel of a source, for an architecture.

    Attributes:
        names: names of the kernels that share the source's variables with it, where they have to be given.
        spread: whether its workers run on several GPUs at a time.
    """

    source: KernelSource
    name: str
    options: CompileOptions
    preemptible: bool
    arch: str
    names: tuple[str, ...] = ()
    spread: bool = False

    @property
    def words(self) -> str:
        """The request in words, for error messages."""
        return f"{self.source.file_name}: kernel {self.name!r} for {self.arch}"
