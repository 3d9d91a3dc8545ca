"""Results of several responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.errors import DataError, SpecError
from tobitgp.formula.several import EACH, UNIT
from tobitgp.multivariate.estimates import Estimates
from tobitgp.multivariate.rows import Ends, Functions, Stack, read_ends
from tobitgp.report import summary
from tobitgp.report.summary import FitSummary, Section
from tobitgp.results.process.results import GPResults
from tobitgp.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WHATS = ("median", "latent", "uncensored", "quantile")
_TABLE = ["estimate", "se", "lower", "upper"]


class MultivariateResults:
    """Fit of several responses to the same rows.

    Attributes
    ----------
    responses : tuple of str
        As written in ``mvbind(...)``.
    stacked : GPResults
        The fit behind it: one row for each value that is known, every response in units of its spread.
    """

    def __init__(
        self,
        stacked: GPResults,
        stack: Stack,
        data: pd.DataFrame,
        ends: Ends,
        refit: Callable[[pd.DataFrame], GPResults],
        functions: Functions,
    ):
        self.stacked, self.responses = stacked, stack.wide.labels
        self._stack, self._data, self._ends, self._refit, self._functions = stack, data, ends, refit, functions
        self._estimates = Estimates(stacked, stack)

    # -- parameters ---------------------------------------------------------------------------------------------------

    @property
    def formula(self) -> str:
        """As written."""
        return self._stack.wide.formula

    @property
    def nobs(self) -> float:
        """Number of values that are known."""
        return self.stacked.nobs

    @property
    def counts(self) -> pd.Series[int]:
        """Values that are exact, left-, right- and interval-censored, and rows dropped for their covariates."""
        return self.stacked.counts

    @property
    def converged(self) -> bool:
        """Whether search and fixed points converged."""
        return self.stacked.converged

    @property
    def log_evidence(self) -> float:
        """Log evidence at the maximum, in the units of the responses."""
        lower, upper = self._ends
        exact = (lower == upper).sum(axis=0)
        log = self._stack.centre if self._stack.log_time else np.log(self._stack.scale)
        return float(self.stacked.log_evidence - exact @ log)

    @property
    def params(self) -> pd.Series[float]:
        """Coefficients ``z[y1]``, standard deviations and correlations, ``sigma[y1]``, ``rescor[y1, y2]``."""
        return pd.Series(self._estimates.table(0.05)["coef"], name=None)

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of ``params``."""
        return pd.Series(self._estimates.table(0.05)["std err"], name=None)

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals of probability ``1 - alpha``, columns 0 and 1."""
        return self._estimates.table(alpha)[["lower", "upper"]].set_axis([0, 1], axis=1)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """All parameters in one table, columns ``coef, std err, z, P>|z|, lower, upper``."""
        return self._estimates.table(alpha)

    def correlations(self, interval: float = 0.95) -> pd.DataFrame:
        """Correlations of responses: curves, random effects and residuals; columns ``estimate, lower, upper``."""
        table = self._estimates.correlations(1.0 - interval)
        return table.set_axis(["estimate", "lower", "upper"], axis=1)

    def regression(self, response: str, given: str | Sequence[str], alpha: float = 0.05) -> pd.DataFrame:
        """Coefficients of one response in others and in the columns, as if it alone had been a response.

        Exact where others are censored, unlike limits or half limits in their place: the way to a censored covariate.
        Rests on ``rescor=True``; columns of ``summary_frame()``, sigma that of the response given the others.

        References
        ----------
        (MV5) of the notes: the joint normal distribution of the residuals.
        """
        given = [given] if isinstance(given, str) else list(given)
        for name in (response, *given):
            if name not in self.responses or (name == response and name in given):
                raise SpecError(f"{name!r} is none of the other responses: {', '.join(self.responses)}.")
        if not self._estimates.correlated:
            raise SpecError("regression() rests on correlated residuals; fit with rescor=True.")
        return self._estimates.regression(response, given, alpha)

    def group_effects(self, *, interval: float | None = 0.95) -> pd.DataFrame:
        """Random effects, a row for each coefficient of each group; columns ``estimate, se, lower, upper``."""
        return self._estimates.group_effects(interval)

    def summary(self, alpha: float = 0.05) -> FitSummary:
        """Tables of all parameters, which print."""
        rows = list(summary.frame_rows(self._estimates.table(alpha)))
        p, ends = len(self.stacked.parts.gp.columns), summary.interval_headers(alpha)
        sections = [
            Section(["", "coef", "std err", "z", "P>|z|", *ends], [summary.estimate_row(*row) for row in rows[:p]]),
            Section(["", "value", "std err", *ends], [summary.estimate_row(*row, tests=False) for row in rows[p:]]),
        ]
        model = [
            ("Responses:", str(len(self.responses))),
            ("Family:", self.stacked.parts.family.name),
            ("Method:", self.stacked.method),
            ("Basis functions:", str(self.stacked.parts.fitted.n_features)),
        ]
        notes = [
            "Values: the maximum, or means over the hyper-parameters; sigma[...] is the residual's, censored or not."
        ]
        numbers: dict[str, float | str] = {f"Log evidence ({self.stacked.evidence_kind}):": self.log_evidence}
        title = "Regression of several responses"
        return summary.build_summary(self, title, model, numbers, sections, notes)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"MultivariateResults: {self.formula}\n  {self.nobs:.0f} values of {len(self.responses)} responses"

    # -- predictions --------------------------------------------------------------------------------------------------

    def predict(
        self,
        new: pd.DataFrame | None = None,
        what: str = "median",
        *,
        interval: float | None = None,
        q: float | None = None,
        exclude: Any = (),
    ) -> pd.DataFrame:
        """Predict every response in new rows, or in others like those of the fit; :meth:`impute` knows the rows' own.

        Returns
        -------
        DataFrame
            A column for each response; with ``interval`` columns ``(response, estimate)``, se, lower, upper.
        """
        if what not in _WHATS:
            raise SpecError(f"what={what!r} is none of those of several responses: {', '.join(map(repr, _WHATS))}.")
        rows, index = self._rows(new)
        without = [exclude] if isinstance(exclude, str) else list(exclude)
        if self._estimates.correlated and what == "uncensored" and self._stack.log_time:
            raise SpecError("Means of correlated log-normal responses are those of sample(); what='median' is at hand.")
        if self._estimates.correlated and what != "quantile":
            without.append(f"re(0 + {EACH} | {UNIT})")
        table = self.stacked.predict(rows, what, interval=interval, se=interval is not None, q=q, exclude=without)
        return self._wide(pd.DataFrame(table), index, latent=what == "latent", interval=interval)

    def impute(self, new: pd.DataFrame | None = None, *, interval: float | None = None) -> pd.DataFrame:
        """Values that were seen, and for censored and missing ones their means given all that is known of the row.

        New rows bring what is known of their responses; parameters stay those of the fit.
        """
        if new is None:
            data, ends, fit = self._data, self._ends, self.stacked
            units = np.arange(len(data))
        else:
            ends = read_ends(self._stack.wide, new, self._functions, log_time=self._stack.log_time)
            n = len(self._data)
            units = n + np.arange(len(new))
            old = self._stack.known(self._data, np.arange(n), self._ends)
            fit, data = self._refit(pd.concat([old, self._stack.known(new, units, ends)], ignore_index=True)), new
        rows = self._stack.known(data, units, ends)
        known = pd.DataFrame(fit.predict(rows, "conditional", interval=interval, se=interval is not None))
        every = self._stack.rows(data, units)
        rest = every.drop(rows.index)
        parts = [known.set_axis(rows.index)]
        if len(rest):
            other = pd.DataFrame(fit.predict(rest, "uncensored", interval=interval, se=interval is not None))
            parts.append(other.set_axis(rest.index).set_axis(known.columns, axis=1))
        table = self._wide(pd.concat(parts).sort_index(), data.index, latent=False, interval=interval)
        lower, upper = ends
        for j, label in enumerate(self.responses):
            seen = lower[:, j] == upper[:, j]
            for name in [label] if interval is None else [(label, "estimate"), (label, "lower"), (label, "upper")]:
                table.loc[seen, name] = lower[seen, j]
        return table

    def sample(
        self, new: pd.DataFrame | None = None, draws: int = 100, *, what: str = "uncensored", rng: Any = None
    ) -> Array:
        """Joint draws (draws, n, J) of new responses, or of ``"latent"`` curves."""
        rows, index = self._rows(new)
        exclude = [f"re(0 + {EACH} | {UNIT})"] if what == "latent" and self._estimates.correlated else []
        found = self.stacked.sample(rows, draws, what=what, exclude=exclude, rng=rng).to_numpy()
        return self._values(
            found.T.reshape(draws, len(self.responses), len(index)).transpose(0, 2, 1), what == "latent"
        )

    def _rows(self, new: pd.DataFrame | None) -> tuple[pd.DataFrame, pd.Index]:
        """Stacked rows, of units unseen, and the labels of the data."""
        data = self._data if new is None else new
        lacking = [name for name in self._stack.covariates if name not in data.columns]
        if lacking:
            raise DataError(f"The new data have no column {lacking[0]!r}.")
        return self._stack.rows(data, -1 - np.arange(len(data))), data.index

    def _values(self, y: Array, latent: bool) -> Array:
        if latent and self._stack.log_time:
            return np.asarray(y + self._stack.centre)
        return self._stack.values(y)

    def _wide(self, table: pd.DataFrame, index: pd.Index, *, latent: bool, interval: float | None) -> pd.DataFrame:
        """From a table of the stacked rows to one of the data, in the units of the responses."""
        J = len(self.responses)
        columns = {}
        for name in table.columns if interval is None else _TABLE:
            y = table[name].to_numpy().reshape(J, len(index)).T
            if name == "se":
                log = self._stack.log_time
                columns[name] = y * ((1.0 if latent else np.exp(self._stack.centre)) if log else self._stack.scale)
            else:
                columns[name] = self._values(y, latent)
        if interval is None:
            return pd.DataFrame(next(iter(columns.values())), index=index, columns=list(self.responses))
        parts = {
            label: pd.DataFrame({k: v[:, j] for k, v in columns.items()}, index)
            for j, label in enumerate(self.responses)
        }
        return pd.concat(parts, axis=1)
