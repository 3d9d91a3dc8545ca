"""Whether a value is of the type that a field declares."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray


@cache
def field_types(known: type) -> dict[str, Any]:
    """Declared types of a class's fields, those of its class variables left out."""
    names = {f.name for f in fields(known) if f.init} if is_dataclass(known) else set(known._fields)  # type: ignore[attr-defined]
    hints = get_type_hints(known)
    constants = {name for name, hint in hints.items() if "ClassVar" in str(hint)}
    return {name: hint for name, hint in hints.items() if name in names - constants}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type."""
    if hint is Any:
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    if isinstance(hint, type) and not get_args(hint):
        return _has_members(value, hint) if getattr(hint, "_is_protocol", False) else isinstance(value, hint)
    return _fits_generic(value, get_origin(hint), get_args(hint), hint)


def _fits_generic(value: Any, origin: Any, args: tuple[Any, ...], hint: Any) -> bool:
    if origin in (Union, types.UnionType):
        return any(fits(value, arg) for arg in args)
    if origin is Literal:
        return any(type(value) is type(arg) and value == arg for arg in args)
    if origin in (np.ndarray, NDArray):
        # numpy 2.5 made NDArray an alias of its own, with the type of its entries alone.
        entries = args[0] if origin is NDArray else get_args(args[1])[0]
        return isinstance(value, np.ndarray) and value.dtype == np.dtype(entries)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return isinstance(value, tuple) and all(fits(item, args[0]) for item in value)
        return isinstance(value, tuple) and len(value) == len(args) and all(map(fits, value, args))
    if origin is list:
        return isinstance(value, list) and all(fits(item, args[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    raise TypeError(f"{hint} cannot be checked")


def describe_type(hint: Any) -> str:
    """Words for a declared type."""
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("typing.", "")


def _has_members(value: Any, protocol: type) -> bool:
    names = {name for base in protocol.__mro__ if getattr(base, "_is_protocol", False) for name in vars(base)}
    return all(hasattr(value, name) for name in names if not name.startswith("_"))
