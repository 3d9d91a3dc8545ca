"""Samples with non-detects: reads values, limits and flags from all the ways in which they are written."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tobitgp.data.frames import aligned, reads_frames
from tobitgp.data.table import MAX_ROWS_NAMED, RowNames, column_names
from tobitgp.errors import DataError, SpecError, user_level
from tobitgp.formula.functions import nearest
from tobitgp.model import Model
from tobitgp.typing import Array, BoolArray, Frame, IntArray


@dataclass(frozen=True, slots=True)
class Sample:
    """Values between ``lower`` and ``upper``, some of them non-detects; the two are equal for a detected value."""

    name: str
    lower: Array  # (n,), -inf below a detection limit
    upper: Array  # (n,)
    labels: npt.NDArray[Any]  # (n,), of the rows in the data
    dropped: int = 0  # rows of the data without a value

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def censored(self) -> BoolArray:
        """Non-detects, (n,)."""
        return self.lower < self.upper

    @property
    def below(self) -> BoolArray:
        """Values known only to lie below a limit, (n,); in samples without other censoring the same as ``censored``."""
        return np.isneginf(self.lower) & np.isfinite(self.upper)

    @property
    def values(self) -> Array:
        """Detects, and the limits of non-detects; (n,)."""
        return self.upper

    @property
    def detects(self) -> Array:
        """Detected values, in the order of the rows."""
        return self.upper[~self.censored]

    @property
    def limits(self) -> Array:
        """Distinct limits of non-detects, ascending."""
        return np.unique(self.upper[self.below])

    def take(self, rows: BoolArray | IntArray) -> Sample:
        """Some of the rows."""
        return replace(self, lower=self.lower[rows], upper=self.upper[rows], labels=self.labels[rows])

    def check_left(self, what: str) -> None:
        """Raise an error for rows that are neither detects nor below a limit, if a method supports only these."""
        other = self.censored & ~self.below
        if other.any():
            count, first = int(other.sum()), self.labels[other][0]
            raise SpecError(
                f"{what} takes detected values and non-detects; {count} values of {self.name!r} are right-censored or "
                f"lie in intervals (row {first}). Maximum likelihood takes them, as in tg.fit()."
            )

    def check_detects(self, what: str = "", least: int = 2) -> None:
        """Raise an error for a sample with fewer than ``least`` distinct detected values."""
        found = len(np.unique(self.detects))
        if found >= least:
            return
        have = ("no detected value", "one distinct detected value", f"{found} distinct detected values")[min(found, 2)]
        raise DataError(
            f"{what or repr(self.name)} has {have} in {len(self)} rows, but must have {least}. " + self.what_is_known()
        )

    def what_is_known(self) -> str:
        """Description of a sample with few or no detects."""
        if not len(self.limits):
            return "It has no non-detects either."
        highest = self.limits[-1]
        below = int((self.upper < highest).sum() + (self.censored & (self.upper == highest)).sum())
        count, (lower, upper) = int(self.censored.sum()), clopper_pearson(below, len(self))
        return (
            f"What can be said is that {count} non-detect{'s lie' if count > 1 else ' lies'} below {highest:g}: a "
            f"share of {below / len(self):.3g} lies below, between {lower:.3g} and {upper:.3g} with 95% confidence."
        )

    def check_positive(self, what: str) -> None:
        """Raise an error for values and limits that have no logarithm."""
        wrong = self.upper <= 0.0
        if wrong.any():
            rows = RowNames(int(wrong.sum()), tuple(map(str, self.labels[wrong][:MAX_ROWS_NAMED])))
            raise DataError(
                f"{what} needs positive values and limits, but {self.name!r} is 0 or below in {rows}. A non-detect "
                "below 0 says nothing: give it the limit that the laboratory had."
            )


def clopper_pearson(count: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact limits of a share from a count of n, after Clopper and Pearson (1934)."""
    from scipy.stats import binomtest

    found = binomtest(count, n).proportion_ci(confidence, method="exact")
    return float(found.low), float(found.high)


@reads_frames
def read_sample(data: Frame, response: str, censored: str | None = None) -> Sample:
    """Read a column, or an expression of columns, in the same way as the left-hand side of a formula.

    ``censored`` is a column that is 1 for non-detects. Without it, limits are in the text (``<0.5``), in the
    expression, or after a bar, ``"conc | censor(limit)"``.
    """
    columns = column_names(data)
    for name, value in (("response", response), ("censored", "" if censored is None else censored)):
        if not isinstance(value, str):
            raise DataError(f"{name}={value!r}: must be the name of a column.")
    if censored is not None and censored not in columns:
        raise DataError(f"censored={censored!r}: the data have no such column{nearest(censored, columns) or '.'}")
    left, bar, part = (response, "", "") if response in columns else response.partition("|")
    if censored is not None:
        bar, part = "|", f"censor(nondetect={quote(censored)})"
    left = left.strip()
    written = quote(left) if left in columns else left
    return sample_of(Model(f"{written} ~ 1 {bar} {part}".strip(), data, family="gaussian"), left)


GroupNames = str | Sequence[str] | None


def read_names(by: Any) -> list[str]:
    """Columns of groups: none, one by its name, or several."""
    return [] if by is None else list(by) if isinstance(by, list | tuple) else [by]


@reads_frames
def read_groups(data: Frame, response: str, censored: str | None, by: GroupNames) -> dict[tuple[str, ...], Sample]:
    """One sample with the name of the response, or one for each group with its values as the name, in their order."""
    names = read_names(by)
    if not names:
        sample = read_sample(data, response, censored)
        return {(sample.name,): sample}
    frame = pd.DataFrame(data) if isinstance(data, dict) else data
    for name in names:
        count = column_names(frame).count(name)
        if not count:
            raise DataError(
                f"by={name!r}: the data have no such column{nearest(str(name), column_names(frame)) or '.'}"
            )
        if count > 1:
            raise DataError(f"The data have several columns named {name!r}; rename all but one.")
        lacking = int(frame[name].isna().sum())
        if lacking:
            are = "is" if lacking == 1 else "are"
            message = f"{lacking} of {len(frame)} rows {are} dropped: missing values in {name!r}, the column of groups"
            warnings.warn(message, UserWarning, stacklevel=user_level())
    frame = frame.reset_index(drop=True)  # rows are found by their labels, which may be there twice
    sample = read_sample(frame, response, censored)
    used, every = _crossed(frame[names].iloc[sample.labels.astype(int)]), _crossed(frame[names])
    return {
        key: replace(sample.take(rows), name=" / ".join(key), dropped=int(every[key].sum() - rows.sum()))
        for key, rows in used.items()
    }


def _crossed(labels: pd.DataFrame) -> dict[tuple[str, ...], BoolArray]:
    """Rows of each combination of values that occurs, in the order of each column."""
    of_columns = [groups_of(labels[name]).items() for name in labels]
    crossed = {
        tuple(name for name, _ in parts): np.logical_and.reduce([rows for _, rows in parts])
        for parts in product(*of_columns)
    }
    return {key: rows for key, rows in crossed.items() if rows.any()}


def read_values(values: Any, censored: Any = None, name: str = "y") -> Sample:
    """Read an array of values, or of text such as ``<0.5``, and flags that are 1 for non-detects; (n,) each."""
    values, censored = aligned({name: values, "censored": censored}).values()
    data = {name: values} if censored is None else {name: values, "censored": typed(censored)}
    return read_sample(data, name, None if censored is None else "censored")


def typed(flags: Any) -> Any:
    """Flags of an array of objects, e.g. from a list with None, as numbers or booleans that may be missing."""
    plain = isinstance(flags, (list, np.ndarray)) and np.asarray(flags).dtype == object
    return pd.Series(np.asarray(flags), dtype=object).convert_dtypes() if plain else flags


def sample_of(model: Model, name: str) -> Sample:
    """The response of a model."""
    training = model.training
    response = training.response
    dropped = training.counts["dropped"]
    return Sample(name, response.lower, response.upper, training.labels, dropped)


def quote(name: str) -> str:
    """The name of a column as a formula writes it."""
    return name if name.isidentifier() else f"`{name}`"


def groups_of(labels: pd.Series[Any]) -> dict[str, BoolArray]:
    """Rows of each group, in the order of a categorical, otherwise sorted."""
    levels = pd.Categorical(labels).remove_unused_categories()
    return {
        f"{level:.10g}" if isinstance(level, float) else str(level): np.asarray(levels.codes == k)
        for k, level in enumerate(levels.categories)
    }


@reads_frames
def read(data: Frame, response: str, censored: str | None = None) -> pd.DataFrame:
    """Read a laboratory's column into values and flags of non-detects, in the same way as a formula does.

    Parameters
    ----------
    data : DataFrame or dict of columns
        One row per result; never modified.
    response : str
        Column of results, in any units: numbers, or text such as ``<0.5``, ``0.5 U``, ``0.7 J``. Add
        ``| censor(limit)`` if the limits of ``ND`` are in another column.
    censored : str, optional
        Column that is 1 or True for non-detects.

    Returns
    -------
    DataFrame
        Column ``value`` has detects and the limits of non-detects, in the units of the response; column ``nondetect``
        has the flags. The index is that of the data. Rows without a result are left out, with a warning.

    Raises
    ------
    DataError
        If columns are missing, text is not a result, or non-detects have no limit.
    SpecError
        If results are right-censored or lie in intervals.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lab = {"result": ["0.8", "<0.5", "ND", "0.2 U", "0.7 J"], "limit": [0.5, 0.5, 0.2, 0.2, 0.5]}
    >>> tg.nondetects.read(lab, "result | censor(limit)")
       value  nondetect
    0    0.8      False
    1    0.5       True
    2    0.2       True
    3    0.2       True
    4    0.7      False
    """
    sample = read_sample(data, response, censored)
    sample.check_left("read()")
    return pd.DataFrame({"value": sample.values, "nondetect": sample.censored}, index=sample.labels)
