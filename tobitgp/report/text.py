"""Names from data as texts that a terminal, a page and a figure show as they stand."""

from __future__ import annotations

from typing import Any

_CONTROLS = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]
_DIRECTIONS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_VISIBLE = {code: repr(chr(code))[1:-1] for code in _CONTROLS + _DIRECTIONS}


def printable(text: str) -> str:
    r"""Text in one line, with characters that steer a terminal or turn the direction of writing spelt out.

    A level named by such characters could otherwise break a table, hide a row, or read as another name.
    """
    return text.translate(_VISIBLE)


def printable_lines(text: object) -> str:
    r"""As `printable`, line by line."""
    return "\n".join(printable(line) for line in str(text).split("\n"))


def as_label(text: object) -> str:
    r"""Text that matplotlib draws as it stands: dollars are no marks of mathematics, and legends show all names."""
    label = printable(str(text)).replace("$", r"\$")
    return f" {label}" if label.startswith("_") else label


def response_name(model: Any) -> str:
    """Name of the response on an axis: of ``Surv(time, event)`` that of the time alone."""
    response = model.spec.response
    time = response.value.text.strip("`") if response.kind == "surv" else ""
    return time if time and "`" not in time else model.endog_names
