# SPDX-License-Identifier: Apache-2.0
"""The error of a comparison whose executor does not go on."""

from __future__ import annotations

from typing import Any

from gpushare.results.result import Result


class ExecutorLostError(RuntimeError):
    """The executor of a comparison has failed or was shut down before the last run; its own error is the cause.

    Attributes:
        result: the runs that were done. In a :class:`gpushare.Sweep` they are in its folder, too.
    """

    def __init__(self, message: str, result: Result | None = None) -> None:
        super().__init__(message)
        self.result = Result([]) if result is None else result

    def __reduce__(self) -> tuple[Any, ...]:
        return ExecutorLostError, (str(self), self.result)
