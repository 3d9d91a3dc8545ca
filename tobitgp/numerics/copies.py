"""Copies of what holds derived arrays, caches and handles of the compiled core: these are made anew, never stored."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def made_anew(self: Any) -> tuple[Any, tuple[Any, ...]]:
    """`object.__reduce__` of a dataclass that follows from the fields that its constructor takes."""
    return _make, (type(self), {of.name: getattr(self, of.name) for of in fields(self) if of.init})


def _make(kind: type, given: dict[str, Any]) -> Any:
    return kind(**given)
