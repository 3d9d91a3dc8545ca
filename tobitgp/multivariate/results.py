"""Results of several responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.errors import DataError, SpecError
from tobitgp.multivariate.estimates import RESIDUAL, Estimates
from tobitgp.multivariate.rows import Ends, Functions, Stack, read_ends
from tobitgp.results.predict import check_alpha
from tobitgp.results.process.results import GPResults
from tobitgp.results.views import COUNTS
from tobitgp.typing import Array, Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tobitgp.report.summary import FitSummary

_WHATS = ("median", "latent", "uncensored", "quantile")
_TABLE = ["estimate", "se", "lower", "upper"]


class MultivariateResults:
    """Fit of several responses to the same rows, by :func:`tobitgp.fit` of ``mvbind(y1, y2) ~ ...``.

    Parameters have the names of the response that they are of in brackets, ``z[y1]``.

    Parameters
    ----------
    stacked : GPResults
        The fit of the stacked rows.
    stack : Stack
        How rows are stacked.
    data : DataFrame
        The rows of the fit.
    ends : tuple of two (n, J) arrays
        What is known of their responses, on the scale of these.
    refit : callable
        Fits stacked rows with the hyper-parameters of this fit.
    functions : mapping of str to callable, optional
        Those that the formula may call.

    Attributes
    ----------
    responses : tuple of str
        As written in ``mvbind(...)``.
    stacked : GPResults
        The fit behind it: one row for each value that is known, every response in units of the standard deviation of
        its values and limits (MUL1).

    References
    ----------
    (MUL1) to (MUL3) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
    >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data)
    >>> res
    MultivariateResults: mvbind(a, b) ~ z | censor(None, 1)
      2 responses, 12 values: 10 exact, 2 left-censored
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

    def __repr__(self) -> str:
        counts = self.counts
        censored = [f"{counts[kind]} {kind}-censored" for kind in COUNTS[1:4] if counts[kind]]
        kinds = ", ".join([f"{counts['exact']} exact", *censored])
        values = f"{len(self.responses)} responses, {self.nobs:.10g} values: {kinds}"
        return f"MultivariateResults: {self.formula}\n  {values}"

    # -- parameters ---------------------------------------------------------------------------------------------------

    @property
    def formula(self) -> str:
        """As written: a text.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> res.formula
        'mvbind(a, b) ~ z | censor(None, 1)'
        """
        return self._stack.wide.formula

    @property
    def nobs(self) -> float:
        """Number of values that are known, of all responses; with weights their sum.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> res.nobs
        12.0
        """
        return self.stacked.nobs

    @property
    def counts(self) -> pd.Series[int]:
        """Number of values that are exact, left-, right- and interval-censored, and of those dropped: a Series.

        Values are dropped whose covariates are missing; a missing response is no value.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> int(res.counts["left"])
        2
        """
        return self.stacked.counts

    @property
    def converged(self) -> bool:
        """Whether search and fixed point converged.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> res.converged
        True
        """
        return self.stacked.converged

    @property
    def log_evidence(self) -> float:
        """Log evidence of all values together in nats, at the maximum, of the density on the scale of the responses.

        References
        ----------
        (SIT6) and (MUL1) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> round(res.log_evidence, 1)
        -18.2
        """
        lower, upper = self._ends
        exact = (lower == upper).sum(axis=0)
        log = self._stack.centre if self._stack.log_time else np.log(self._stack.scale)
        return float(self.stacked.log_evidence - exact @ log)

    @property
    def params(self) -> pd.Series[float]:
        """Estimates in the units of the responses: a Series by name.

        Coefficients ``z[y1]``, standard deviations of curves and random effects ``sd(gp(x))[y1]``, their correlations
        ``cor(gp(x))[y1, y2]``, those of the residuals, ``sigma[y1]`` and, with ``rescor=True``, ``rescor[y1, y2]``. Of
        log-time families on the log scale.

        References
        ----------
        (MUL3) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> list(res.params.index)
        ['Intercept[a]', 'Intercept[b]', 'z[a]', 'z[b]', 'sigma[a]', 'sigma[b]', 'rescor[a, b]']
        """
        return pd.Series(self._estimates.table(0.05)["coef"], name=None)

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of ``params``, in the same units: a Series by name.

        References
        ----------
        (HYP8) of the theory pages, and (MUL3) by the delta method.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> bool((res.bse > 0).all())
        True
        """
        return pd.Series(self._estimates.table(0.05)["std err"], name=None)

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals of ``params``, in the same units.

        Parameters
        ----------
        alpha : float
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            A row for each parameter, columns 0 and 1, in the units of ``params``.

        Raises
        ------
        SpecError
            If alpha is outside (0, 1).

        References
        ----------
        (MUL3) of the theory pages, by the delta method for logarithms of standard deviations and Fisher's z.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> res.conf_int().loc["z[a]"].between(0.5, 1.5).tolist()
        [True, True]
        """
        return self._estimates.table(alpha)[["lower", "upper"]].set_axis([0, 1], axis=1)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """All parameters in one table.

        Parameters
        ----------
        alpha : float
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            A row for each parameter, columns ``coef, std err, z, P>|z|, lower, upper``: in the units of ``params``, but
            for z and its tail probability, which are NaN where zero is no value to test.

        Raises
        ------
        SpecError
            If alpha is outside (0, 1).

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> res.summary_frame().columns.tolist()
        ['coef', 'std err', 'z', 'P>|z|', 'lower', 'upper']
        """
        return self._estimates.table(alpha)

    def correlations(self, interval: float = 0.95) -> pd.DataFrame:
        """Correlations between the responses: of their curves, of random effects, of residuals.

        Parameters
        ----------
        interval : float
            Probability of the intervals.

        Returns
        -------
        DataFrame
            A row for each, as ``rescor[y1, y2]``, columns ``estimate, lower, upper``: pure numbers.

        Raises
        ------
        SpecError
            If the interval is outside (0, 1).

        References
        ----------
        (MUL3) of the theory pages, and (COR1).

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> list(res.correlations().index)
        ['rescor[a, b]']
        """
        table = self._estimates.correlations(1.0 - interval)
        return table.set_axis(["estimate", "lower", "upper"], axis=1)

    def regression(self, response: str, given: str | Sequence[str], alpha: float = 0.05) -> pd.DataFrame:
        """Regression of one response on others and the linear terms: the way to a censored covariate.

        Where the others are seen it is that of ``y ~ x + z``. Where they are censored it needs no value in place of a
        limit; it rests on their being normal given the terms.

        Parameters
        ----------
        response : str
            Its dependent variable.
        given : str or list of str
            Other responses.
        alpha : float
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            A row for each linear term, each of ``given`` and sigma, columns of :meth:`summary_frame`, in units of the
            response over those of the term.

        Raises
        ------
        SpecError
            If a response is unknown, or without ``rescor=True``.

        References
        ----------
        (MUL4) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> list(res.regression("a", "b").index)
        ['Intercept', 'z', 'b', 'sigma']
        """
        given = [given] if isinstance(given, str) else list(given)
        for name in (response, *given):
            if name not in self.responses or (name == response and name in given):
                raise SpecError(f"{name!r} is none of the other responses: {', '.join(self.responses)}.")
        if not self._estimates.correlated:
            raise SpecError("regression() rests on correlated residuals; fit with rescor=True.")
        return self._estimates.regression(response, given, check_alpha(alpha))

    def group_effects(self, *, interval: float | None = 0.95) -> pd.DataFrame:
        """Random effects, a row for each response of each group.

        Parameters
        ----------
        interval : float or None
            Probability of the equal-tailed interval; None for none.

        Returns
        -------
        DataFrame
            Index ``(term, level)``, as ``("re(g)[y1]", "a")``; columns ``estimate, se, lower, upper``, on the scale of
            the response, of its logarithm for log-time families.

        Raises
        ------
        SpecError
            If the model has no random effects, or for an interval outside (0, 1).

        References
        ----------
        (RAN1) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"g": list("aabbcc"), "u": [1, 1.2, 3, 3.1, 2, 2.2], "v": [0.5, 0.4, 0.1, 0.2, 0.3, 0.3]}
        >>> tg.fit("mvbind(u, v) ~ (1 | g)", data).group_effects().loc["re(g)[u]", "estimate"].idxmax()
        'b'
        """
        return self._estimates.group_effects(interval)

    def summary(self, alpha: float = 0.05) -> FitSummary:
        """Tables of all parameters, in the units of the responses.

        Parameters
        ----------
        alpha : float
            One minus the probability of the intervals.

        Returns
        -------
        Summary
            Prints as text; ``as_html()``, ``as_latex()`` and ``as_csv()``.

        Raises
        ------
        SpecError
            If alpha is outside (0, 1).

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> "rescor[a, b]" in str(res.summary())
        True
        """
        from tobitgp.report import summary
        from tobitgp.report.summary import Section

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
        notes = ["sigma[...] and rescor[...] are those of the residuals, were all responses seen."]
        if self._stack.log_time:
            notes.append("Coefficients, sd(), sigma and correlations are on the scale of the responses' logarithms.")
        numbers: dict[str, float | str] = {f"Log evidence ({self.stacked.evidence_kind}):": self.log_evidence}
        title = "Regression of several responses"
        return summary.build_summary(self, title, model, numbers, sections, notes)  # type: ignore[arg-type]

    # -- predictions --------------------------------------------------------------------------------------------------

    def predict(
        self,
        new: Frame | None = None,
        what: str = "median",
        *,
        interval: float | None = None,
        q: float | None = None,
        exclude: str | Sequence[str] = (),
    ) -> pd.DataFrame:
        """Predict every response in new rows, or in rows with the covariates of the fit.

        What is known of other responses in a row does not enter; :meth:`impute` uses it.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            With the columns right of ``~``.
        what : {"median", "latent", "uncensored", "quantile"}
            As of :meth:`tobitgp.GPResults.predict`.
        interval : float, optional
            Probability of equal-tailed intervals.
        q : float, optional
            Order of a quantile, a probability.
        exclude : str or list of str
            Terms to set to zero, by their names in the formula of the stack.

        Returns
        -------
        DataFrame
            A row for each row of the data, a column for each response; with ``interval`` columns ``(y1, "estimate")``,
            and ``se``, ``lower`` and ``upper``. On the scale of the responses; ``"latent"`` of log-time families on
            the log scale.

        Raises
        ------
        SpecError
            For another ``what``, and for means of log-normal responses with ``rescor=True``.
        DataError, UnseenLevelError
            If new data lack a column, or a level was not in the fit.

        References
        ----------
        (MUL1) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> res.predict({"z": [1.5]}).round(1).to_dict("list")
        {'a': [1.6], 'b': [1.0]}
        """
        if what not in _WHATS:
            raise SpecError(f"what={what!r} is none of those of several responses: {', '.join(map(repr, _WHATS))}.")
        rows, index = self._rows(new)
        without = [exclude] if isinstance(exclude, str) else list(exclude)
        if self._estimates.correlated and what == "uncensored" and self._stack.log_time:
            raise SpecError("Means of correlated log-normal responses are those of sample(); what='median' is at hand.")
        if self._estimates.correlated and what != "quantile":
            without.append(RESIDUAL)
        table = self.stacked.predict(rows, what, interval=interval, se=interval is not None, q=q, exclude=without)
        if self._estimates.correlated and what == "quantile" and interval is not None:
            table = self._around(pd.DataFrame(table)["estimate"], rows, float(q or 0.5), interval, without)
        return self._wide(pd.DataFrame(table), index, latent=what == "latent", interval=interval)

    def _around(
        self, value: pd.Series[float], rows: pd.DataFrame, q: float, interval: float, exclude: Sequence[str]
    ) -> pd.DataFrame:
        """Intervals of quantiles, of which the effect of a row is noise and not an error."""
        se = pd.DataFrame(self.stacked.predict(rows, "latent", se=True, exclude=[*exclude, RESIDUAL]))["se"]
        noise = pd.Series(self.stacked.predict(rows, "sigma")).to_numpy()
        sd, error = (np.repeat(of_y, len(rows) // len(self.responses)) for of_y in self._estimates.effects())
        spread = ndtri(q) * np.sqrt(noise**2 + sd**2) * error
        se, y = np.sqrt(se**2 + spread**2), np.log(value) if self._stack.log_time else value
        reach = float(ndtri(0.5 + 0.5 * interval)) * se
        table = pd.DataFrame({"estimate": y, "se": se, "lower": y - reach, "upper": y + reach})
        if not self._stack.log_time:
            return table
        return table.apply(np.exp).assign(se=value * se)

    def impute(self, new: Frame | None = None, *, interval: float | None = None) -> pd.DataFrame:
        """What responses are or may have been: of censored and missing ones the means given all that is known.

        That is the row's own limits, its other responses if ``rescor=True``, and all other rows.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            With the columns of the formula on both sides, of which responses may be missing; the rows of the fit
            without. Hyper-parameters stay those of the fit.
        interval : float, optional
            Probability of equal-tailed intervals of these means given f, as of ``predict(what="conditional")``.

        Returns
        -------
        DataFrame
            As of :meth:`predict`, on the scale of the responses.

        Raises
        ------
        DataError
            If new data lack a column, or a response has no value in them.

        References
        ----------
        (MUL5) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> res.impute()["b"].round(1).tolist()[2:]
        [1.4, 2.0, 2.2, 3.0]
        >>> bool((res.impute()["b"][:2] < 1).all())
        True
        """
        if new is None:
            data, ends, fit = self._data, self._ends, self.stacked
            units = np.arange(len(data))
        else:
            data = pd.DataFrame(new)
            ends = read_ends(self._stack.wide, data, self._functions, log_time=self._stack.log_time)
            n = len(self._data)
            units = n + np.arange(len(data))
            old = self._stack.known(self._data, np.arange(n), self._ends)
            fit = self._refit(pd.concat([old, self._stack.known(data, units, ends)], ignore_index=True))
        rows, every = self._stack.known(data, units, ends), self._stack.rows(data, units)
        rest = every.drop(rows.index)
        asked: dict[str, Any] = {"interval": interval, "se": interval is not None}
        known = pd.DataFrame(fit.predict(rows, "conditional", **asked)).set_axis(rows.index)
        parts = [known]
        if len(rest):
            other = pd.DataFrame(fit.predict(rest, "uncensored", **asked)).set_axis(rest.index)
            parts.append(other.set_axis(known.columns, axis=1))
        table = self._wide(pd.concat(parts).sort_index(), data.index, latent=False, interval=interval)
        lower, upper = ends
        for j, label in enumerate(self.responses):
            seen = lower[:, j] == upper[:, j]
            for name in [label] if interval is None else [(label, "estimate"), (label, "lower"), (label, "upper")]:
                table.loc[seen, name] = lower[seen, j]
        return table

    def sample(
        self,
        new: Frame | None = None,
        draws: int = 100,
        *,
        what: str = "uncensored",
        rng: int | np.random.Generator | None = None,
    ) -> Array:
        """Draw responses of new rows, all rows and responses of a draw together.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            As of :meth:`predict`.
        draws : int
            How many.
        what : {"uncensored", "latent"}
            Responses, with residuals that are correlated if ``rescor=True``, or their curves without.
        rng : int or numpy Generator, optional
            None is deterministic.

        Returns
        -------
        (draws, n, J) array
            On the scale of the responses; ``"latent"`` of log-time families on the log scale.

        Raises
        ------
        SpecError
            For another ``what``, or more draws than can be held.
        DataError, UnseenLevelError
            As of :meth:`predict`.

        References
        ----------
        (MUL1) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"z": [0, 1, 2, 3, 4, 5], "a": [0.2, 0.9, 2.3, 2.8, 4.1, 5.2], "b": [1, 1, 1.4, 2, 2.2, 3]}
        >>> res = tg.fit("mvbind(a, b) ~ z | censor(None, 1)", data, rescor=True)
        >>> res.sample({"z": [1.5, 2.5]}, 10).shape
        (10, 2, 2)
        """
        if what not in ("uncensored", "latent"):
            raise SpecError(f"what={what!r} is neither 'uncensored' nor 'latent'.")
        rows, index = self._rows(new)
        exclude = [RESIDUAL] if what == "latent" and self._estimates.correlated else []
        found = self.stacked.sample(rows, draws, what=what, exclude=exclude, rng=rng).to_numpy()
        stacked = found.T.reshape(draws, len(self.responses), len(index))
        return self._values(stacked.transpose(0, 2, 1), what == "latent")

    def _rows(self, new: Frame | None) -> tuple[pd.DataFrame, pd.Index]:
        """Stacked rows, of units unseen, and the labels of the data."""
        data = self._data if new is None else pd.DataFrame(new)
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
