# SPDX-License-Identifier: Apache-2.0
"""Libraries that a plain installation leaves out, because a server and its clients do without them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpushare._core import InvalidInput


def install(extra: str) -> str:
    """The command that installs an extra of the package."""
    return f'pip install "gpushare-scheduler[{extra}]"'


@contextmanager
def extra(name: str, what: str = "this") -> Iterator[None]:
    """For imports of libraries that this extra of the package installs, and that ``what`` needs.

    Raises:
        InvalidInput: one is not installed; the message says how to install it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise InvalidInput(f"{what} needs {error.name}, which is not installed: {install(name)}") from error


class OnDemand:
    """A module of an extra that is imported at the first use of an attribute."""

    def __init__(self, module: str, extra: str) -> None:
        self._module, self._extra = module, extra

    def __getattr__(self, name: str) -> Any:
        with extra(self._extra):
            return getattr(import_module(self._module), name)


if TYPE_CHECKING:
    import pandas as pandas
else:
    pandas = OnDemand("pandas", "analysis")
