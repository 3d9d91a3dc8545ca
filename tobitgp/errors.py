"""Every error and warning the package raises on purpose."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PACKAGE = str(Path(__file__).parent) + os.sep


class TobitGPError(ValueError):
    """Base of all errors raised on purpose."""


class FormulaError(TobitGPError):
    """The formula cannot be read; the message shows the place with a caret.

    Parameters
    ----------
    message : str
        What is wrong and what is allowed.
    formula : str, optional
        The whole formula.
    position : int, optional
        Offset of the offending character in ``formula``.

    Examples
    --------
    >>> import tobitgp as tg
    >>> try:
    ...     tg.fit("y ~ gp(x", {"y": [1.0, 2.0], "x": [0.0, 1.0]})
    ... except tg.errors.FormulaError as error:
    ...     print(error)
    '(' is never closed.
      y ~ gp(x
            ^
    """

    def __init__(self, message: str, formula: str | None = None, position: int | None = None):
        self.formula = formula
        self.position = position
        if formula is not None and position is not None:
            shown, at = _around(formula, position)
            message = f"{message}\n  {shown}\n  {' ' * at}^"
        super().__init__(message)


def _around(formula: str, position: int, reach: int = 70) -> tuple[str, int]:
    """The part of a formula that is shown, on one line, and the offset of the position in it."""
    line = "".join(" " if char.isspace() else char for char in formula)
    start, end = max(0, position - reach), position + reach
    before, after = "..." * (start > 0), "..." * (end < len(line))
    return before + line[start:end] + after, len(before) + position - start


class SpecError(TobitGPError):
    """The requested model or option is invalid or not supported."""


class UnavailableError(SpecError, AttributeError):
    """The fit does not have the requested attribute or method, but other kinds of fits do."""


class DataError(TobitGPError):
    """The data cannot be used as they are; the message names the column and the rows."""


class UnseenLevelError(DataError):
    """New data contain a level of a factor that did not occur in the training data."""


class NotFittedError(TobitGPError):
    """A result was requested from a model that has not been fitted."""


class NumericalError(TobitGPError):
    """A computation broke down, usually at an extreme hyper-parameter."""


class ClusterError(TobitGPError):
    """The dask cluster of a fit was lost, or its workers were."""


class ConvergenceWarning(RuntimeWarning):
    """An iteration stopped before it converged."""


class BoundaryWarning(RuntimeWarning):
    """A parameter is not identified by these data, or its estimate is on its bound."""


class ApproximationWarning(RuntimeWarning):
    """An approximation is less accurate than usual, or is not what its name suggests."""


def user_level() -> int:
    """``stacklevel`` for ``warnings.warn`` that names the line which called this package.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warnings.warn("drifting", ConvergenceWarning, stacklevel=user_level())
    >>> caught[0].category.__name__
    'ConvergenceWarning'
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
