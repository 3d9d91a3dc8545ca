"""Rows of one shape after one another."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

Item = TypeVar("Item")


def join(items: Sequence[Item]) -> Item:
    """Put the arrays of equal dataclasses, or named tuples, after one another; what is no array is the first's."""
    return items[0] if len(items) == 1 else _join(items)


def _join(items: Sequence[Any]) -> Any:
    first = items[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(items)
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        names = [field.name for field in dataclasses.fields(first)]
        return type(first)(**{name: _join([getattr(item, name) for item in items]) for name in names})
    if isinstance(first, tuple):
        parts = [_join(entries) for entries in zip(*items, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    return first
