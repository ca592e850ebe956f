# SPDX-License-Identifier: Apache-2.0
"""What is raised when a kernel does not compile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpushare._core import InvalidInput


class CompileError(InvalidInput):
    """A kernel's source does not compile.

    Attributes:
        log: what the compiler said.
        source: the source with line numbers, as the log counts them.
        options: what the compiler was called with.

    >>> error = CompileError("saxpy.cu does not compile", log="saxpy.cu(1): error", text="int x")
    >>> print(error)
    saxpy.cu does not compile:
    saxpy.cu(1): error
    >>> print(error.source)
       1 | int x
    """

    def __init__(self, summary: str, *, log: str, text: str, options: Sequence[str] = ()) -> None:
        super().__init__(f"{summary}:\n{log.strip()}" if log.strip() else summary)
        self.summary = summary
        self.log = log
        self.text = text
        self.options = tuple(options)

    @property
    def source(self) -> str:
        """The source with line numbers."""
        return "\n".join(f"{number:4} | {line}" for number, line in enumerate(self.text.splitlines(), start=1))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.summary, self.log, self.text, self.options)


def _restored(summary: str, log: str, text: str, options: Sequence[str]) -> CompileError:
    return CompileError(summary, log=log, text=text, options=options)
