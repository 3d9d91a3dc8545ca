"""What methods of fitting have in common: small frozen values that show and name their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import wraps
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from tobitgp.errors import SpecError

T = TypeVar("T", bound="type[MethodValue]")

# Settings that other methods call by another name.
_ELSEWHERE = {"n_starts": "n_init", "n_init": "n_starts", "max_iterations": "site_iterations"}
_LONGEST = 60


class MethodValue:
    """Settings as a frozen dataclass (``eq=False``), equal to another of its class if these are, arrays included."""

    __slots__ = ()
    name: ClassVar[str]  # of methods

    def __repr__(self) -> str:
        return call_text(type(self).__name__, given_settings(self))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def _key(self) -> tuple[Any, ...]:
        return tuple(_hashable(getattr(self, field.name)) for field in fields(cast(Any, self)))


def given_settings(method: Any) -> dict[str, Any]:
    """Settings that differ from the defaults."""
    values = {field.name: (getattr(method, field.name), field.default) for field in fields(method)}
    return {name: value for name, (value, default) in values.items() if not _equal(value, default)}


def spelled(method: Any) -> str:
    """How a user writes a method: its name in quotes, or a call where settings differ from the defaults."""
    if not isinstance(method, MethodValue):
        return repr(method)
    return f"tg.{method!r}" if given_settings(method) else repr(method.name)


def naming_settings(method: T) -> T:
    """Let the error about a setting that a method does not have name those that it has."""
    known = [field.name for field in fields(cast(Any, method))]
    make: Any = method.__init__

    @wraps(make)
    def checked(self: Any, /, *args: Any, **settings: Any) -> None:
        for name, value in settings.items():
            if name not in known:
                raise SpecError(_no_setting(method.__name__, name, value, known))
        make(self, *args, **settings)

    cast(Any, method).__init__ = checked
    return method


def _no_setting(method: str, name: str, value: Any, known: list[str]) -> str:
    other = _ELSEWHERE.get(name)
    remedy = f"Write {other}=." if other in known else f"It has {', '.join(known)}."
    return f"{name}={short_text(value)}: tg.{method} has no such setting. {remedy}"


def call_text(method: str, settings: Mapping[str, Any]) -> str:
    """A method with its settings, as a user writes it."""
    return f"{method}({', '.join(f'{name}={short_text(value)}' for name, value in settings.items())})"


def short_text(value: Any) -> str:
    """A value as a user writes it, three dots for a long one."""
    text = repr(value)
    return text if len(text) <= _LONGEST and text.isprintable() else "..."


def _hashable(value: Any) -> Any:
    """A setting as something that can be compared and hashed: arrays and lists as tuples, dicts as sets of pairs."""
    if isinstance(value, Mapping):
        return frozenset((name, _hashable(each)) for name, each in value.items())
    if hasattr(value, "__array__"):
        return _hashable(np.asarray(value).tolist())
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


def _equal(value: Any, default: Any) -> bool:
    """Whether a setting has its default, of which none is an array."""
    return value is default or (type(value) is type(default) and bool(value == default))
