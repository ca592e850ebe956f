# SPDX-License-Identifier: Apache-2.0
"""What is to be compiled: by the cache it is looked up, by the compiler it is built."""

from __future__ import annotations

from dataclasses import dataclass

from gpushare.kernels.source import CompileOptions, KernelSource


@dataclass(frozen=True)
class CompileRequest:
    """A kernel of a source, for an architecture.

    Attributes:
        names: of the kernels that share the source's variables with it, where it has to be said.
    """

    source: KernelSource
    name: str
    options: CompileOptions
    preemptible: bool
    arch: str
    names: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The request, as error messages call it."""
        return f"{self.source.file_name}: kernel {self.name!r} for {self.arch}"
