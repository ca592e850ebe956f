# SPDX-License-Identifier: Apache-2.0
"""Converts profiles to plain data, for the store and for files."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from gpushare._core import InvalidInput
from gpushare.profile import record
from gpushare.profile.record import CopyCurve, DeviceProfile, KernelProfile

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Profile = TypeVar("Profile", KernelProfile, DeviceProfile)
POSITIVE = {"alone_ns", "block", "grid", "sms", "bytes", "host_ns"}
"""Fields that must be positive. Other whole numbers may be 0: a window may have ended before a block did."""
MOST = 2**63 - 1
"""The largest whole number of the core; division by a larger one may fail in Python."""
MOST_DIGITS = 20
MAY_BE_EMPTY = {"copies"}


def to_document(profile: KernelProfile | DeviceProfile) -> dict[str, Any]:
    """Tables, lists, texts and numbers; unknown values (None) are left out."""
    return _without_none(asdict(profile))


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return [_without_none(each) for each in value] if isinstance(value, list | tuple) else value


def from_document(kind: type[Profile], document: Any, where: str) -> Profile:
    """The inverse of :func:`to_document`.

    Raises:
        InvalidInput: a key is missing, unknown, of another type, or has a value that no measurement has; the message
            begins with ``where`` and names the key.
    """
    from pydantic import ValidationError

    try:
        text = json.dumps(document)
    except (TypeError, ValueError, RecursionError) as error:  # a date in TOML, thousands of digits, or too deep nesting
        raise InvalidInput(f"{where}: {error}") from error
    try:
        profile = _reader(cast("Any", kind)).validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(f"{where}: key '{key}': {first['msg']}") from error
    for curve in _curves(profile):
        _require_even(curve, where)
    _require_measurable(asdict(profile), where)
    return profile


@cache
def _reader(kind: type[Any]) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter

    _forbid_extra(kind, ConfigDict(extra="forbid", allow_inf_nan=False))
    return TypeAdapter(kind)


def _forbid_extra(kind: type[Any], config: Any) -> None:
    """An unknown key is an error in every table, not a figure that is silently lost."""
    for each in vars(record).values():
        if is_dataclass(each):
            cast("Any", each).__pydantic_config__ = config


def _curves(profile: KernelProfile | DeviceProfile) -> list[Any]:
    if isinstance(profile, DeviceProfile):
        return list(profile.copies)
    return [each for each in (profile.against_sms, profile.against_residency) if each is not None]


def _require_even(curve: Any, where: str) -> None:
    lengths = {name: len(column) for name, column in vars(curve).items() if isinstance(column, tuple)}
    if isinstance(curve, CopyCurve) and curve.fit is not None:
        lengths["residuals"] = len(curve.fit.residuals)
    if len(set(lengths.values())) != 1:
        raise InvalidInput(f"{where}: the columns of a curve must be of one length, got {lengths}")


def _require_measurable(value: Any, where: str, key: str = "") -> None:
    """Checks values by which later code divides, and columns of which it takes medians."""
    name = key.rpartition(".")[2]
    if isinstance(value, dict):
        for each, inner in value.items():
            _require_measurable(inner, where, f"{key}.{each}" if key else each)
    elif isinstance(value, tuple):
        if not value and name not in MAY_BE_EMPTY:
            raise InvalidInput(f"{where}: key '{key}' must have a value")
        for each in value:
            _require_measurable(each, where, key)
    elif isinstance(value, int):
        least = 1 if name in POSITIVE else 0
        if not least <= value <= MOST:
            raise InvalidInput(f"{where}: key '{key}' must lie in {least}..{MOST}, got {_shown(value)}")


def _shown(value: int) -> str:
    digits = str(value)
    return digits if len(digits) <= MOST_DIGITS else f"{digits[:MOST_DIGITS]}... ({len(digits)} digits)"
