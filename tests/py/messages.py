# SPDX-License-Identifier: Apache-2.0
"""What tests require of the message of an error: that it names the values, not how it words the rest."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

Values = tuple["str | float | Values", ...]


@contextmanager
def raises_naming(
    error: type[Exception] | tuple[type[Exception], ...], *named: str | float | Values
) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expects an error whose message names each of the values: what was wrong, what it belongs to, and the choices.

    Values are names, options, paths and numbers. Sentences are not: their wording is no promise.
    """
    with pytest.raises(error) as raised:
        yield raised
    assert_names(raised.value, *named)


def assert_names(message: object, *named: str | float | Values) -> None:
    """The message, an error or a text, names each of the values."""
    for value in flat(named):
        text = str(value)
        begin, end = (r"\b" if edge.isalnum() else "" for edge in (text[0], text[-1]))
        assert re.search(begin + re.escape(text) + end, str(message)), f"{text!r} is not named: {message}"


def flat(values: Values) -> Iterator[str | float]:
    """The values of a tuple and of the tuples in it."""
    for value in values:
        if isinstance(value, tuple):
            yield from flat(value)
        else:
            yield value
