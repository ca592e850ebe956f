# SPDX-License-Identifier: Apache-2.0
"""Data with a known form: schemas, and errors that name the key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from gpushare._core import InvalidInput

Key = tuple[str | int, ...]


class Schema(BaseModel):
    """A table of a file: unknown keys are errors, and numbers are not read from strings."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def tag_of(schema: type[Schema]) -> str:
    """The tag of this schema in a union: it occurs in the locations of errors, and is no key of the file."""
    return f"<{schema.__name__}>"


def accepted_by(check: Callable[[Any], Any]) -> AfterValidator:
    """A key with an unchanged value, and an error if ``check`` raises InvalidInput for it."""

    def validated(value: Any) -> Any:
        try:
            if value is not None:  # None counts as absent
                check(value)
        except InvalidInput as error:
            raise PydanticCustomError("refused", "{why}", {"why": str(error)}) from error
        return value

    return AfterValidator(validated)


AnySchema = TypeVar("AnySchema", bound=Schema)


def checked(data: Any, schema: type[AnySchema]) -> AnySchema:
    """The data as the schema's object; InvalidInput names the key of an error."""
    try:
        return schema.model_validate(data)
    except ValidationError as error:
        raise InvalidInput("\n".join(what_is_wrong(each, schema) for each in error.errors())) from error


def what_is_wrong(error: Any, schema: type[Schema]) -> str:
    """One of pydantic's errors, as a sentence about the key."""
    key: Key = error["loc"]
    name = ".".join(str(part) for part in without_tags(key))
    if error["type"] == "extra_forbidden":
        return f"unknown key '{name}'; known here: {', '.join(known_keys(schema, key[:-1]))}"
    if error["type"] == "missing":
        return f"key '{name}' is missing"
    if error["type"] == "refused":
        return f"key '{name}': {error['msg']}"
    return f"key '{name}': {error['msg']}, got {error['input']!r}"


def without_tags(key: Key) -> Key:
    """The key as it stands in a file."""
    return tuple(part for part in key if not str(part).startswith("<"))


def known_keys(schema: type[Schema], table: Key) -> list[str]:
    """The keys that the schema has in this table."""
    choices: list[type[Schema]] = []
    for part in table:
        fields = {field.alias or name: field for name, field in schema.model_fields.items()}
        if part in fields:
            choices = _models_in(fields[part].annotation)
            schema = next(iter(choices), schema)
        else:
            schema = next((each for each in choices if tag_of(each) == part), schema)
    return [field.alias or name for name, field in schema.model_fields.items()]


def _models_in(annotation: Any) -> list[type[Schema]]:
    if isinstance(annotation, type) and issubclass(annotation, Schema):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]
