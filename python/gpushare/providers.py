# SPDX-License-Identifier: Apache-2.0
"""Functions that classes of a lower layer offer as methods and a layer above provides.

A workload, a run and a result can be shown, drawn and stored, and import nothing for it: the layer that can do it says
so when gpushare is imported. Its module is imported at the first use, because plots and traces take large libraries,
which a server does without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

_places: dict[str, str] = {}


def provide(places: Mapping[str, str]) -> None:
    """Makes functions known.

    Args:
        places: by name, ``module:function``.
    """
    _places.update(places)


@cache
def provided(name: str) -> Callable[..., Any]:
    """The function of this name.

    >>> provided("workload_html").__module__
    'gpushare.reports.display'
    """
    module, _, function = _places[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
