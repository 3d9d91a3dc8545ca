"""Results of several responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.errors import SpecError
from tobitgp.formula.several import LOWER, RESPONSE, UPPER
from tobitgp.multivariate.estimates import RESIDUAL, Estimates
from tobitgp.multivariate.rows import Ends, Stack, read_ends
from tobitgp.results.predict import check_alpha, check_level
from tobitgp.results.process.results import GPResults
from tobitgp.results.views import COUNTS
from tobitgp.typing import Array, Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tobitgp.report.summary import FitSummary

_WHATS = ("median", "latent", "uncensored", "quantile", "sigma")
_TABLE = ["estimate", "se", "lower", "upper"]
_DRAWS = 1000  # for intervals of what may have been


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
    >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
    >>> res
    MultivariateResults: mvbind(durable, quant) ~ age | censor(0, None)
      2 responses, 40 values: 27 exact, 13 left-censored
    """

    def __init__(
        self,
        stacked: GPResults,
        stack: Stack,
        data: pd.DataFrame,
        ends: Ends,
        refit: Callable[[pd.DataFrame], GPResults],
    ):
        self.stacked, self.responses = stacked, stack.wide.labels
        self._stack, self._data, self._ends, self._refit = stack, data, ends, refit
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
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> res.formula
        'mvbind(durable, quant) ~ age | censor(0, None)'
        """
        return self._stack.wide.formula

    @property
    def nobs(self) -> float:
        """Number of values that are known, of all responses; with weights their sum.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> res.nobs
        40.0
        """
        return self.stacked.nobs

    @property
    def counts(self) -> pd.Series[int]:
        """Number of values that are exact, left-, right- and interval-censored, and dropped: a Series.

        Values are dropped if a covariate is missing; a missing response is no value.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> int(res.counts["left"])
        13
        """
        counts = self.stacked.counts.copy()
        counts["dropped"] = int((~np.isnan(self._ends[0])).sum()) - len(self._stack.known(self._data, 0, self._ends))
        return counts

    @property
    def converged(self) -> bool:
        """Whether search and fixed point converged.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
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
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> round(res.log_evidence, 1)
        -138.1
        """
        rows = self._stack.known(self._data, 0, self._ends)
        exact = rows[rows[LOWER] == rows[UPPER]]
        weight = exact[self._stack.weights].to_numpy() if self._stack.weights else np.ones(len(exact))
        log = self._stack.centre if self._stack.log_time else np.log(self._stack.scale)
        return float(self.stacked.log_evidence - weight @ log[exact[RESPONSE].cat.codes])

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
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> list(res.params.index[:4])
        ['Intercept[durable]', 'age[durable]', 'Intercept[quant]', 'age[quant]']
        >>> list(res.params.index[4:])
        ['sigma[durable]', 'sigma[quant]', 'rescor[durable, quant]']
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
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
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
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> res.conf_int().loc["sigma[quant]"].round(0).tolist()
        [19.0, 37.0]
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
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
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
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> list(res.correlations().index)
        ['rescor[durable, quant]']
        """
        table = self._estimates.table(1.0 - float(check_level(interval) or 0.95))
        own = [name.startswith(("cor(", "rescor[")) for name in table.index]
        return table.loc[own, ["coef", "lower", "upper"]].set_axis(["estimate", "lower", "upper"], axis=1)

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
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> list(res.regression("durable", "quant").index)
        ['Intercept', 'age', 'quant', 'sigma']
        """
        given = [given] if isinstance(given, str) else list(given)
        if not given:
            raise SpecError("given= names another response, or several.")
        for name in (response, *given):
            if name not in self.responses or (response, *given).count(name) > 1:
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
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> "rescor[durable, quant]" in str(res.summary())
        True
        """
        from tobitgp.report import summary
        from tobitgp.report.summary import Section

        rows = list(summary.frame_rows(self._estimates.table(alpha)))
        p, ends = len(self._estimates.coefficient_names), summary.interval_headers(alpha)
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
        if self._estimates.correlated and self._stack.wide.sigma is not None:
            notes.append("log(sigma)[...] are of the noise beside what the responses of a row share.")
        if self._stack.log_time:
            notes.append("Coefficients, sd(), sigma and correlations are on the scale of the responses' logarithms.")
        numbers: dict[str, float | str] = {f"Log evidence ({self.stacked.evidence_kind}):": self.log_evidence}
        title = "Regression of several responses"
        sigma = self._stack.wide.sigma
        formulas = {} if sigma is None else {"log(sigma):": sigma}
        return summary.build_summary(self, title, model, numbers, sections, notes, formulas)  # type: ignore[arg-type]

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
        what : {"median", "latent", "uncensored", "quantile", "sigma"}
            As of :meth:`tobitgp.GPResults.predict`.
        interval : float, optional
            Probability of equal-tailed intervals.
        q : float, optional
            Order of a quantile, a probability.
        exclude : str or list of str
            Terms to set to zero, as ``"gp(x)"``, ``"re(g)"``.

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
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> res.predict({"age": [50.0]}).round(0).to_dict("list")
        {'durable': [-3.0], 'quant': [243.0]}
        """
        if what not in _WHATS:
            raise SpecError(f"what={what!r} is not supported; of several responses {', '.join(map(repr, _WHATS))} are.")
        if what == "quantile" and not isinstance(q, float | int):
            raise SpecError("what='quantile' takes one q between 0 and 1, as q=0.9.")
        rows, index = self._rows(new)
        without = [self._estimates.term(name) for name in ([exclude] if isinstance(exclude, str) else exclude)]
        if self._estimates.correlated:
            if what == "uncensored" and self._stack.log_time:
                raise SpecError("Means of correlated log-normal responses are those of sample(); take what='median'.")
            if what == "sigma" or (what == "quantile" and interval is not None):
                table = self._with_effects(rows, what, q, check_level(interval), without)
                return self._wide(table, index, latent=False, interval=interval, sigma=what == "sigma")
            if what != "quantile":
                without.append(RESIDUAL)
        found = self.stacked.predict(rows, what, interval=interval, se=interval is not None, q=q, exclude=without)
        latent, sigma = what == "latent", what == "sigma"
        return self._wide(pd.DataFrame(found), index, latent=latent, interval=interval, sigma=sigma)

    def _with_effects(
        self, rows: pd.DataFrame, what: str, q: Any, interval: float | None, exclude: Sequence[str]
    ) -> pd.DataFrame:
        """Scales of residuals, and quantiles, of which the effect of a row is noise and not an error."""
        noise = pd.DataFrame(self.stacked.predict(rows, "sigma", se=True))
        of_processes = (noise["se"] / noise["estimate"]).to_numpy() * bool(self._stack.wide.scale.others)
        sigma, error = self._estimates.in_rows(rows, noise["estimate"].to_numpy(), of_processes)
        logs = self._stack.log_time or what == "sigma"
        if what == "sigma":
            y, se = np.log(sigma), error
        else:
            value = pd.Series(self.stacked.predict(rows, "quantile", q=q, exclude=exclude)).to_numpy()
            f = pd.DataFrame(self.stacked.predict(rows, "latent", se=True, exclude=[*exclude, RESIDUAL]))["se"]
            y, se = np.log(value) if logs else value, np.sqrt(f.to_numpy() ** 2 + (ndtri(q) * sigma * error) ** 2)
        reach = 0.0 if interval is None else float(ndtri(0.5 + 0.5 * interval)) * se
        table = pd.DataFrame({"estimate": y, "lower": y - reach, "upper": y + reach})
        table = table.apply(np.exp) if logs else table
        return table.assign(se=table["estimate"] * se if logs else se)

    def impute(self, new: Frame | None = None, *, interval: float | None = None) -> pd.DataFrame:
        """What responses are or may have been: of censored and missing ones the means given all that is known.

        That is the row's own limits, its other responses if ``rescor=True``, and all other rows.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            With the columns of the formula on both sides, of which responses may be missing; the rows of the fit
            without. Hyper-parameters stay those of the fit.
        interval : float, optional
            Probability of equal-tailed intervals of the values, from 1,000 draws of them.

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
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> data, filled = tg.datasets.load("tobin"), res.impute()["durable"]
        >>> bool((filled[data["durable"] == 0] < 0).all()), float(filled[1])
        (True, 0.7)
        """
        level, n, J = check_level(interval), len(self._data), len(self.responses)
        if new is None:
            data, ends, fit, units = self._data, self._ends, self.stacked, np.arange(n)
            known = self._stack.known(data, units, ends)
            own = known.index
        else:
            data, units = pd.DataFrame(new), n + np.arange(len(new[next(iter(new))]))
            ends = read_ends(self._stack.wide, data, self._stack.functions, log_time=self._stack.log_time, new=True)
            known = self._stack.known(data, units, ends)
            own = known.index + J * n
            old = self._stack.known(self._data, np.arange(n), self._ends)
            fit = self._refit(pd.concat([old, known.set_axis(own)])) if len(known) else self.stacked
        if not len(data):
            return self.predict(data, interval=interval)
        rest = self._stack.rows(data, units).drop(known.index)
        parts = [_imputed(fit, None, "conditional", level).loc[own].set_axis(known.index)] if len(known) else []
        parts += [_imputed(fit, rest, "uncensored", level)] if len(rest) else []
        table = self._wide(pd.concat(parts).sort_index(), data.index, latent=False, interval=interval)
        lower, upper = ends
        for j, label in enumerate(self.responses):
            seen = lower[:, j] == upper[:, j]
            if interval is None:
                table.loc[seen, label] = lower[seen, j]
            else:
                table.loc[seen, label] = np.column_stack([lower[seen, j], np.zeros(seen.sum()), *[lower[seen, j]] * 2])
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
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> res.sample({"age": [30.0, 50.0]}, 10).shape
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
        return self._stack.rows(data, -1 - np.arange(len(data))), data.index

    def _values(self, y: Array, latent: bool, sigma: bool = False) -> Array:
        if sigma:
            return np.asarray(y if self._stack.log_time else y * self._stack.scale)
        if latent and self._stack.log_time:
            return np.asarray(y + self._stack.centre)
        return self._stack.values(y)

    def _unit(self, *, latent: bool) -> Array | float:
        """What standard errors are multiplied by."""
        if self._stack.log_time:
            return 1.0 if latent else np.exp(self._stack.centre)
        return self._stack.scale

    def _wide(
        self, table: pd.DataFrame, index: pd.Index, *, latent: bool, interval: float | None, sigma: bool = False
    ) -> pd.DataFrame:
        """From a table of the stacked rows to one of the data, in the units of the responses."""
        J, columns = len(self.responses), {}
        for name in table.columns[:1] if interval is None else _TABLE:
            y = table[name].to_numpy().reshape(J, len(index)).T
            if name == "se":
                columns[name] = y * self._unit(latent=latent or sigma)
            else:
                columns[name] = self._values(y, latent, sigma)
        if interval is None:
            return pd.DataFrame(next(iter(columns.values())), index=index, columns=list(self.responses))
        labels = enumerate(self.responses)
        return pd.concat({y: pd.DataFrame({k: v[:, j] for k, v in columns.items()}, index) for j, y in labels}, axis=1)


def _imputed(fit: GPResults, rows: pd.DataFrame | None, what: str, interval: float | None) -> pd.DataFrame:
    """Means of what stacked rows are or may have been, and quantiles of draws of it."""
    table = pd.Series(fit.predict(rows, what)).to_frame("estimate")
    if interval is None:
        return table
    draws = fit.sample(rows, _DRAWS, what=what)
    tail = 0.5 - 0.5 * interval
    low, high = (draws.quantile(q, axis=1) for q in (tail, 1.0 - tail))
    return table.assign(se=draws.std(axis=1), lower=low, upper=high)
