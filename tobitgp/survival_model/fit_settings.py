"""Settings of lifelines' fit() as arguments of tg.fit()."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from tobitgp.data.table import column_names
from tobitgp.errors import DataError, FormulaError, SpecError
from tobitgp.formula.parse import parse_formula
from tobitgp.method_spelling import holding, read_method
from tobitgp.results.hazards.cells import PH
from tobitgp.results.hazards.robust_errors import robust_hazard_ratios
from tobitgp.results.predict import check_flag
from tobitgp.results.survival import read_times

# Settings of lifelines that have another place, or no meaning.
_PRIORS = "Coefficients have no penalty. Use priors={'age': tg.Normal(0, 1)}."
_BASELINE = "The baseline belongs to the family, e.g. family='ph' or tg.PH('piecewise', bands=[100, 300])."
ELSEWHERE: Mapping[str, str] = {
    "formula": "The right-hand side is the first argument, or fit(..., formula=).",
    "data": "The data belong to fit(df, ...).",
    "weights": "Use fit(..., weights_col=).",
    "penalizer": _PRIORS,
    "l1_ratio": _PRIORS,
    **dict.fromkeys(("baseline_estimation_method", "n_baseline_knots", "knots", "breakpoints"), _BASELINE),
    "strata": "Use fit(..., strata=).",
    "label": "A regression has no label.",
    "regressors": "Use formula= and ancillary=.",
    "batch_mode": "There is only one way to compute the likelihood. Leave it out.",
}


def without_meaning(options: Mapping[str, Any]) -> dict[str, Any]:
    """The other options; raises an error for those that have another place, unless they are 0, False or None."""
    for name, words in ELSEWHERE.items():
        value = options.get(name)
        if not (value is None or value is False or (isinstance(value, int | float) and value == 0)):
            raise SpecError(f"{name}={value!r} is not supported here. {words}")
    return {name: value for name, value in options.items() if name not in ELSEWHERE}


@dataclass(frozen=True)
class FitSettings:
    """Arguments of fit() other than its columns."""

    ancillary: Any = None
    fit_intercept: bool = True
    formula: str | None = None
    strata: str | Sequence[str] | None = None
    cluster_col: str | None = None
    robust: bool = False
    timeline: Any = None
    show_progress: bool = False
    initial_point: Any = None
    fit_options: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name in ("robust", "show_progress", "fit_intercept"):
            check_flag(name, getattr(self, name))
        if self.timeline is not None:
            read_times(self.timeline, "timeline")
        if self.formula is not None and (not isinstance(self.formula, str) or not self.formula.strip()):
            raise SpecError(f"formula={self.formula!r}: must be the right-hand side of a formula, e.g. 'age + sex'.")
        names = self.strata
        if names is not None and not isinstance(names, str) and (not isinstance(names, list | tuple) or len(names) > 1):
            raise SpecError(
                f"strata={names!r}: must be the name of one column, e.g. strata='sex'. Join several columns to one."
            )
        if self.fit_options is not None and not isinstance(self.fit_options, Mapping):
            raise SpecError(f"fit_options={self.fit_options!r}: must be a dict, e.g. {{'max_iter': 50}}.")

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> FitSettings:
        """Settings by name."""
        known = {field.name for field in fields(cls)}
        unknown = [name for name in given if name not in known | set(ELSEWHERE)]
        if unknown:
            raise TypeError(f"fit() got an unexpected keyword argument {unknown[0]!r}")
        found = cls(**{name: value for name, value in given.items() if name in known})
        without_meaning({name: value for name, value in given.items() if name not in known})
        return found

    @property
    def strata_columns(self) -> list[str]:
        """Columns of strata."""
        return [self.strata] if isinstance(self.strata, str) else list(self.strata or ())

    def right_hand_side(self, rhs: str, family: Any, df: Any, used: Sequence[str | None]) -> str:
        """Terms of the location, with strata and without columns that have another use."""
        if self.formula is not None:
            rhs = self._with_intercept(self.formula.strip())
        if "~" in rhs:
            raise SpecError(f"formula={rhs!r}: only the right-hand side of a formula is allowed, e.g. 'age + sex'.")
        if self.strata_columns and not isinstance(family, PH) and family != "ph":
            raise SpecError(
                f"strata={self.strata!r}: strata have separate baseline hazards, which family='ph' and tg.PH() "
                "have. Use ancillary= for a scale of each group."
            )
        strata = ", ".join(quoted(df, name, "strata") for name in self.strata_columns)
        if rhs == ".":
            beside = {*used, self.cluster_col, *self.strata_columns}
            rhs = _sum_of(df, [name for name in column_names(df) if name not in beside])
        terms = [rhs, f"strata({strata})"] if strata else [rhs]
        return " + ".join(terms if self.fit_intercept else ["0", *terms])

    def _with_intercept(self, rhs: str) -> str:
        """Terms with the intercept that lifelines adds to those of a formula without."""
        try:
            read = parse_formula(f"y ~ {rhs}")
        except FormulaError:  # tg.fit() says of which formula
            return rhs
        return f"{rhs} + 1" if self.fit_intercept and not read.intercept and read.mixture is None else rhs

    def with_ancillary(self, df: Any, rhs: str, used: Sequence[str | None]) -> tuple[Any, str | None]:
        """The data with columns of the scale, and its formula."""
        if self.ancillary is None or self.ancillary is False:
            return df, None
        if self.ancillary is True:
            return df, f"~ {rhs}"
        if isinstance(self.ancillary, str) and self.ancillary.strip(" ~"):
            return df, f"~ {self._with_intercept(self.ancillary.strip().removeprefix('~').strip())}"
        if not isinstance(self.ancillary, pd.DataFrame) or len(self.ancillary) != len(df):
            raise DataError(
                "ancillary= must be True, a right-hand side such as 'age + sex', or a DataFrame with as many rows as "
                "the data."
            )
        df = with_columns(pd.DataFrame(df), self.ancillary)
        none = "" if self.fit_intercept else "0 + "
        return df, f"~ {none}{_sum_of(df, [name for name in self.ancillary if name not in used])}"

    @property
    def is_robust(self) -> bool:
        """Whether standard errors are robust."""
        return self.robust or self.cluster_col is not None

    def robust_table(self, results: Any, df: Any, family: Any) -> pd.DataFrame | None:
        """Robust standard errors that belong to no covariance of the results, if any."""
        if not self.is_robust or not _of_cells(family):
            return None
        groups = None if self.cluster_col is None else pd.DataFrame(df)[self.cluster_col].to_numpy()
        return robust_hazard_ratios(results, groups)

    def options(self, df: Any, method: Any, rhs: str, family: Any) -> dict[str, Any]:
        """Other arguments of tg.fit()."""
        out: dict[str, Any] = {"method": method, "progress": bool(self.show_progress)}
        if self.fit_options:
            chosen, settings = holding(read_method(method), self.fit_options, rhs)
            wrong = set(self.fit_options) - {field.name for field in fields(chosen)}
            if wrong:
                chosen, _ = holding(read_method(method), {}, rhs)
                names = ", ".join(field.name for field in fields(chosen))
                raise SpecError(
                    f"fit_options={self.fit_options!r}: tg.{chosen.__name__} has no setting {min(wrong)!r}. Choose "
                    f"from {names}."
                )
            out["method"] = chosen(**settings)
        if self.initial_point is not None:
            out["start"] = self.initial_point
        if self.cluster_col is not None:
            quoted(df, self.cluster_col, "cluster_col")
        if _of_cells(family):
            return out
        if self.cluster_col is not None:
            out |= {"cov_type": "cluster", "cov_kwds": {"groups": self.cluster_col}}
        elif self.robust:
            out["cov_type"] = "HC0"
        return out


def _of_cells(family: Any) -> bool:
    """Whether a fit has the robust standard errors of Cox's scores, and no others."""
    return (isinstance(family, PH) and family.baseline in ("gp", "piecewise")) or family == "ph"


def with_columns(df: pd.DataFrame, more: pd.DataFrame | None) -> pd.DataFrame:
    """The table, with columns of another one that it lacks."""
    if more is None:
        return df
    lacking = [name for name in more if name not in df]
    return df.assign(**{str(name): more[name].to_numpy() for name in lacking})


def _sum_of(df: Any, names: Sequence[Any]) -> str:
    return " + ".join(quoted(df, name, "formula") for name in names) or "1"


def quoted(df: Any, name: Any, of: str) -> str:
    """A column's name as a formula writes it."""
    present = column_names(df)
    if not isinstance(name, str) and name in list(pd.DataFrame(df)):
        raise DataError(f"{of}={name!r}: names of columns must be text. Rename them: df.columns = df.columns.map(str).")
    if not isinstance(name, str) or name not in present:
        some = ", ".join(repr(column) for column in present[:10])
        raise DataError(f"{of}={name!r} is not a column of the data, which have {some}{', ...' * (len(present) > 10)}.")
    if "`" in name:
        raise DataError(f"{of}={name!r}: a column name in a formula must not contain a backtick. Rename the column.")
    return f"`{name}`"
