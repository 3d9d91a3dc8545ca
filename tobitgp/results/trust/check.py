"""``check`` of every kind of results: its diagnostics one after the other, what is wrong and what to try."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.results.trust.check_residuals import Noise, residual_findings
from tobitgp.results.trust.findings import Check, Finding, named, plain
from tobitgp.results.trust.loo import DRAWS
from tobitgp.results.trust.missed import structure_findings
from tobitgp.results.trust.posterior_draws import training_rows

DRAWN_ROWS = 20_000
_COARSE = 1.0
_INFLUENCE = 1.0
_LOWER = 3.0  # nats, a twentieth of the weight


class Checked:
    """The question whether a fit can be trusted."""

    def _own_findings(self, rng: Any) -> Iterator[Finding]:
        """Diagnostics of this kind of results."""
        raise NotImplementedError

    def check(self, *, rng: int | np.random.Generator | None = None) -> Check:
        """Run the diagnostics, and say in words what is wrong and what to try.

        Convergence; quantile residuals of the training rows, censored ones at a random point of their mass: calibration
        (Pearson's test on tenths), symmetry, tails, spread along the fit, patterns along each column of numbers; rows
        without which the fit is another one (leave-one-out); of a posterior, what its approximations leave out. Tests
        with p below 0.01 are doubtful and below 0.001 bad, if what they find is large enough to matter. Residuals are
        those of the fit's own rows, which makes the tests lenient rather than strict.

        Parameters
        ----------
        rng : int or numpy Generator, optional
            For the random points, and draws of the posterior; None is deterministic.

        Returns
        -------
        Check
            Prints in words; ``ok``, ``advice`` and ``table``.

        Raises
        ------
        SpecError
            If the fit holds no training rows.

        References
        ----------
        (CHK11) and (CHK12) of the theory pages, and the table between them.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ age + sex", tg.datasets.load("lung"), family="gaussian")
        >>> found = res.check()
        >>> found.ok, found.table.loc["symmetry", "verdict"]
        (False, 'bad')
        >>> tg.fit("Surv(time, event) ~ age + sex", tg.datasets.load("lung"), family="weibull").check().ok
        True
        """
        results: Any = self
        kept = training_rows(results.parts, "check()").kept
        scores = results.residuals("quantile", rng=rng).to_numpy()[kept]
        fit, columns = self._fit_and_columns(int(kept.sum()))
        findings = [
            _convergence(results),
            *_rows(results),
            *self._own_findings(rng),
            *residual_findings(scores, fit, columns, _noise(results)),
            *_influence(results, rng),
        ]
        return Check(tuple(findings))

    def _fit_and_columns(self, n: int) -> tuple[Any, pd.DataFrame]:
        """What is expected of the n rows used, and the columns that the model looks at."""
        results: Any = self
        if results.parts.spec.mixture is not None:
            return np.zeros(n), pd.DataFrame(index=range(n))
        latent = results.predict(None, "latent").to_numpy()[results.parts.rows.kept]
        return latent, results.model.data.frame


def _noise(results: Any) -> Noise:
    """What the family says of residuals, and what to try instead."""
    name = results.parts.family.name
    if results.parts.spec.mixture is not None:
        more = "Try more components, mixture(range(1, 7)), or another family"
        return Noise(f"this {name} mixture", f"{more}.", more)
    log_time = results.parts.family.log_time
    others = "others of the log-time families" if log_time else "log-time ones if the response is positive"
    remedy = f"Compare families by tg.select({{'family': [...]}}), {others}, or add terms."
    return Noise(f"{name} noise", remedy, f"Try family='{'loglogistic' if log_time else 'student'}'")


def _rows(results: Any) -> Iterator[Finding]:
    """Where no value was seen, residuals are random points and tell nothing."""
    response = results.parts.rows.response
    if not (response.lower == response.upper).any():
        words = "no row is exact: residuals are drawn from the model itself, and agree with whatever it says"
        yield plain("rows", words, value=0.0, good=False, doubtful=True)


def _convergence(results: Any) -> Finding:
    words = "the fit settled" if results.converged else "not settled; see the notes of summary()"
    return plain("convergence", words, good=bool(results.converged))


def _starts(less: float, message: str) -> Iterator[Finding]:
    """Maxima that other starts found, which the fit leaves out."""
    if less < _LOWER:
        found = message.partition("; ")[2] or f"another start ended at a maximum {less:.2g} nats lower"
        words = f"{found}, which the fit leaves out: look at it from there; stronger priors= may decide"
        yield plain("starts", words, value=less, good=False, doubtful=True)


def _unknown(name: str, error: SpecError) -> Finding:
    """A diagnostic that this fit does not have, as one that did not converge, or has side noises."""
    return plain(name, f"not to be had: {error}", good=False, doubtful=True)


def _influence(results: Any, rng: Any) -> Iterator[Finding]:
    """Rows whose leaving changes the fit."""
    n = len(results.parts.rows.labels)
    if n > DRAWN_ROWS:
        return
    try:
        found = results._make_elpd("loo", DRAWS, rng)
    except SpecError as error:
        yield _unknown("leave-one-out", error)
        return
    p = found.pointwise["p"]
    heavy = p[p > _INFLUENCE].sort_values(ascending=False)
    labels = named(list(heavy.index))
    subject = (
        f"row {labels} changes its own prediction" if len(heavy) == 1 else f"rows {labels} change their own prediction"
    )
    yield plain(
        "influence",
        f"{subject} by over {_INFLUENCE:g} nat; look at {'it' if len(heavy) == 1 else 'them'}"
        if len(heavy)
        else "no row changes its own prediction much",
        value=float(p.max()),
        good=not len(heavy),
        doubtful=True,
    )
    share = found.n_bad / n
    yield plain(
        "leave-one-out",
        f"{found.n_bad} of {n} rows cannot be left out by reweighting. {found.remedy}"
        if found.n_bad
        else "every row can be left out by reweighting",
        value=share,
        good=not found.n_bad,
        doubtful=share < 0.05,
    )


def process_findings(results: Any, rng: Any) -> Iterator[Finding]:
    """Of a Gaussian process: what its approximations leave out, and hyper-parameters that the data leave open."""
    fitted, gp = results.parts.fitted, results.parts.gp
    if gp.terms:
        coarse = fitted.nats_left > _COARSE
        words = f"the inducing inputs leave {fitted.nats_left:.2g} nat of the bound"
        words += "; raise inducing=, or use inducing=None" if coarse else ""
        yield plain("inducing inputs", words, value=float(fitted.nats_left), good=not coarse)
    names, free = results.parts.fitted.parameters.names, results.parts.fitted.parameters.free
    errors = results.bse.to_numpy()[len(gp.columns) :]
    bound = [name for name, error, is_free in zip(names, errors, free, strict=True) if is_free and np.isnan(error)]
    if free.any():
        words = f"{', '.join(bound)} at a bound: the data leave it open; fix it, or give it a prior by priors="
        words = words if bound else "hyper-parameters lie within their bounds"
        yield plain("bounds", words, value=float(len(bound)), good=not bound, doubtful=True)
        yield from _starts(fitted.trace.runner_up, fitted.trace.message)
    if results.parts.training is not None:
        yield from structure_findings(results)
    yield from posterior_findings(results, rng)


def posterior_findings(results: Any, rng: Any) -> Iterator[Finding]:
    """Whether a Gaussian law stands for the exact posterior, or for the likelihood."""
    if len(results.parts.rows.labels) > DRAWN_ROWS:
        return
    try:
        found = results.k_hat(rng=rng)
    except SpecError as error:
        yield _unknown("posterior", error)
        return
    yield plain(
        "posterior", f"{found.words} (k-hat {found.k:.2f})", value=float(found.k), good=found.good, doubtful=True
    )


def mixture_findings(results: Any) -> Iterator[Finding]:
    """Of a mixture: components that hardly any exact row tells of."""
    fit = results.parts.fit
    vague = [str(i + 1) for i in range(fit.k) if fit.exact_counts[i] < 1.0 <= fit.counts[i]]
    words = f"component {', '.join(vague)} holds less than one exact row; try fewer components, or priors="
    yield plain(
        "components",
        words if vague else "every component holds exact rows",
        value=float(len(vague)),
        good=not vague,
        doubtful=True,
    )
