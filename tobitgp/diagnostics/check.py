"""``check`` of every kind of results: its diagnostics one after the other, what is wrong and what to try."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics.calibration_figures import predicted_survival
from tobitgp.diagnostics.elpd import DRAWS
from tobitgp.diagnostics.remedies import remedies
from tobitgp.diagnostics.residual_tests import (
    BAD,
    LEAST_ROWS,
    Check,
    Finding,
    RawTest,
    ScoredResiduals,
    calibration,
    influence,
    judge,
    normal_scores,
    plain,
    repeated,
    residual_tests,
)
from tobitgp.diagnostics.survival_test import survival_test
from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import random_points
from tobitgp.results.fit import Fit
from tobitgp.results.rows import ask, row_contents
from tobitgp.typing import Array

DRAWN_ROWS = 20_000
_UNTRUSTED = 0.2  # of the rows


def check(results: Fit, *, rng: int | np.random.Generator | None = None) -> Check:
    """Run the diagnostics, and report in words what is wrong and what to try.

    The diagnostics are: convergence; calibration, by the Kaplan-Meier or Turnbull estimate of the distribution of the
    rows' predictive probabilities; symmetry, tails, variance and patterns of quantile residuals, along the fit and
    along each numeric column; influential rows (leave-one-out); for mixtures of times, the survival curve against the
    Kaplan-Meier or Turnbull estimate; for a posterior, the errors of its approximations. Gaussian processes predict
    each row from the other rows. Censored residuals are drawn at random within their probability mass, independently
    of the order of the rows. A row of frequency weight 3 counts as three rows. Sampling weights have no unit: each row
    counts as one, weighted by its share of the weights. P-values are adjusted by Holm's method: a finding is doubtful
    below 0.02, and bad below 0.001 if the effect is large. The trust page reports how often correct models are flagged
    and wrong ones detected.

    Parameters
    ----------
    rng : int or numpy Generator, optional
        Random numbers for the residuals and draws of the posterior. With None the result is deterministic.

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
    (CHK11) to (CHK17) of the theory pages, and the table among them.

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
    training_rows(results.parts, "check()")
    words = "the fit converged" if results.converged else f"not converged. {results._search_message}"
    converged = plain("convergence", words, good=bool(results.converged), otherwise=BAD)

    return Check(judge([converged, *results._findings(rng), *results._row_tests(rng)]))


def row_tests(results: Fit, rng: Any) -> Iterator[Finding | RawTest]:
    """Tests of the residuals of the training rows, and what leaving rows out tells."""
    rows = training_rows(results.parts, "check()")
    if rows.tested_weight.sum() >= LEAST_ROWS:
        noise, ends = remedies(results), predicted_survival(results, "check()")
        yield calibration(ends, noise)
        fit, columns = _fit_and_columns(results, len(ends.weight))
        contents = row_contents(results.parts, ends.lower, ends.upper)
        at = contents.order if rows.sampling else contents.order[repeated(ends.weight[contents.order])]
        weight = ends.weight[at] if rows.sampling else np.ones(len(at))
        scores = normal_scores(ends.lower[at], ends.upper[at], random_points(rng, len(at)))
        yield from residual_tests(ScoredResiduals(scores, weight, contents.code[at], fit[at]), columns.iloc[at], noise)
    yield from _left_out(results, rng)


def _fit_and_columns(results: Any, n: int) -> tuple[Any, pd.DataFrame]:
    """What is expected of the n rows used, in a process by the others, and the columns that the model looks at."""
    if results.parts.spec.mixture is not None:
        return np.zeros(n), pd.DataFrame(index=range(n))
    return results._expected(), results.model.data.frame


def _unknown(name: str, error: SpecError) -> Finding:
    """A diagnostic that this fit does not have, as one that did not converge, or has censoring noise."""
    return plain(name, f"not available: {error}", good=False)


def _left_out(results: Any, rng: Any) -> Iterator[Finding | RawTest]:
    """Rows left out one by one, of a weight one copy."""
    rows = results.parts.rows
    n, total = len(rows.response.weight), float(rows.tested_weight.sum())
    if n > DRAWN_ROWS:
        return
    try:
        found = results._make_elpd("loo", DRAWS, rng)
    except SpecError as error:
        yield _unknown("leave-one-out", error)
        return
    if total >= LEAST_ROWS and found.n_bad < _UNTRUSTED * len(found.trusted):
        tails = results._tails(ask(results.parts))
        scores = tails.quantile(np.full(n, 0.5))  # copies of a censored row would have points apart
        yield influence(scores, found.pointwise["p"][rows.kept].fillna(0.0), total)
    m, units = len(found.trusted), f"{found.unit}s"
    share, words = found.n_bad / m, f"{m - found.n_bad} of {m} {units} can be left out by reweighting"
    words += "; loo() lists the others" if found.n_bad else ""
    if share >= _UNTRUSTED:
        words = f"{found.n_bad} of {m} {units} cannot be left out by reweighting. {found.remedy}"
    yield plain("leave-one-out", words, value=share, good=share < _UNTRUSTED)


def posterior_findings(results: Any, rng: Any) -> Iterator[Finding]:
    """Whether a Gaussian distribution is close to the exact posterior, or to the likelihood."""
    if len(results.parts.rows.labels) > DRAWN_ROWS:
        return
    try:
        found = results.k_hat(rng=rng)
    except SpecError as error:
        yield _unknown("posterior", error)
        return
    yield plain("posterior", f"{found.words} (k-hat {found.k:.2f})", value=float(found.k), good=found.good)


def vague_components(exact: Array, otherwise: str = "") -> Finding:
    """Components by the expected number (K,) of their exact rows."""
    vague = [str(i + 1) for i in np.flatnonzero(exact.round(2) < 1.0)]
    words = "every component contains uncensored rows"
    if vague:
        fewer = max(len(exact) - len(vague), 1)
        words = (
            f"component {', '.join(vague)} contains less than one uncensored row in expectation. Fit fewer components, "
            f"mixture({fewer}){otherwise}"
        )
    return plain("components", words, value=float(len(vague)), good=not vague)


def mixture_findings(results: Any) -> Iterator[Finding | RawTest]:
    """Checks of a mixture: components with hardly any uncensored rows, and the survival curve of lifetimes."""
    fit = results.parts.fit
    yield vague_components(fit.exact_counts[fit.shown], ", or set priors=")
    (lower, upper, _), weight = results._training_ends(), results.parts.rows.tested_weight
    lifetimes = results.parts.family.support == "positive" or ((lower != upper) & np.isfinite(lower)).any()
    if lifetimes and weight.sum() >= LEAST_ROWS and results.parts.spec.truncation is None:
        test = survival_test(results, remedies(results))
        if test is not None:
            yield test
