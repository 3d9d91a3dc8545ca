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
from tobitgp.inference.evidence import COARSE
from tobitgp.inference.fitted import NEIGHBOURS_REMEDY, coarse_remedy, coarse_words, neighbours_words
from tobitgp.inference.screening import ScaleCandidate, screen
from tobitgp.numerics.sampling import random_points
from tobitgp.results.fit import Fit
from tobitgp.results.row_contents import row_contents
from tobitgp.results.rows import ask
from tobitgp.typing import Array

CLEAR, SLIGHT = 3.0, 1.0  # nats
_AT_END = 0.1  # of log length-scales from the shortest that was looked for
DRAWN_ROWS = 20_000
_UNTRUSTED = 0.2  # of the rows
_LOWER = 3.0  # nats, a twentieth of the weight


def missed_findings(results: Any) -> Iterator[Finding]:
    """Other length-scales that promise more, (HYP10), or those found where they are the shortest looked for."""
    gp, fitted = results.parts.gp, results.parts.fitted
    theta, parameters = fitted.points[0].theta, gp.parameters
    screened = screen(fitted.points[0], gp.prior, parameters, "replace")
    best, names = screened.best, parameters.names
    if best is None:
        return
    short = [names[i] for i, value in screened.shortest if theta[i] < value + _AT_END]
    there = {names[i]: float(f"{parameters.values(best.theta)[i]:.2g}") for i in best.scales}
    if best.gain >= CLEAR:
        words = (
            f"other length-scales would raise the log evidence by about {best.gain:.1f} nats. Fit again with "
            f"start={there}, and keep the fit with the higher log_evidence"
        )
        yield plain("structure", words, value=best.gain, good=False)
    elif short:
        known = "sigma" in names and not parameters.free[names.index("sigma")]
        remedy = "Estimate sigma: leave it out of fixed=" if known else "Compare the log_evidence of a fit without gp()"
        words = (
            f"{', '.join(short)} is as short as the distance between neighbouring rows: the curve may follow the "
            f"noise. {remedy}"
        )
        yield plain("structure", words, value=best.gain, good=False)


def structure_findings(results: Any) -> Iterator[Finding]:
    """What the search may have missed, else what one component more would gain by the screening of (HYP11).

    Nothing where there is no length-scale to try.
    """
    missed = list(missed_findings(results))
    if missed:
        yield from missed
        return
    gp, fitted = results.parts.gp, results.parts.fitted
    screened = screen(fitted.points[0], gp.prior, gp.parameters, "add", fixed=True)
    if screened.best is None:
        return
    best, parameters = screened.best, gp.parameters
    names, units = parameters.names, parameters.units
    looked = ", ".join(f"{names[i]} {np.exp(value) * units[i]:.2g}" for i, value in screened.shortest)
    there = ", ".join(f"{names[i]} {parameters.values(best.theta)[i]:.2g}" for i in best.scales)
    words = f"the residuals have no further structure; searched down to {looked}"
    if best.gain >= SLIGHT:
        words = (
            f"the residuals have structure at {there}: one more component there would gain about {best.gain:.1f} nats "
            f"(score z = {best.z:.1f}; searched down to {looked})"
        )
    if best.gain >= CLEAR:
        words += f". One length-scale does not fit both. {_second_component(gp, best)}"
    yield plain("structure", words, value=best.gain, good=best.gain < CLEAR)


def _second_component(gp: Any, best: ScaleCandidate) -> str:
    """How to add the component that a screening found, with its start: two equal terms would stay equal."""
    term, parameters = gp.terms[best.term], gp.parameters
    names, values, own = parameters.names, parameters.values(best.theta), term.name
    start = {names[i].replace(own, "second"): values[i] for i in best.scales}
    if f"sd({own})" in names:
        start["sd(second)"] = np.exp(best.sd) * parameters.units[names.index(f"sd({own})")]
    rounded = {name: float(f"{value:.2g}") for name, value in start.items()}
    rational = ", or write kernel='rq' in it" if [factor.kernel for factor in term.factors] == ["rbf"] else ""
    return f"Add {own} a second time with name='second', and start={rounded}{rational}; compare log_evidence"


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


def process_findings(results: Any, rng: Any) -> Iterator[Finding]:
    """Findings about a Gaussian process: errors of approximations, and hyper-parameters that are not identified."""
    fitted, gp = results.parts.fitted, results.parts.gp
    gain = fitted.neighbours_gain
    if np.isfinite(gain):
        few, words = abs(gain) > COARSE, neighbours_words(fitted)
        yield plain("neighbours", f"{words}; {NEIGHBOURS_REMEDY}" if few else words, value=float(gain), good=not few)
    if gp.terms and (np.isnan(gain) or fitted.nats_left > 0.0):
        coarse = fitted.nats_left > COARSE
        words = f"approximation gap {fitted.nats_left:.2g} nats"
        words = f"{coarse_words(fitted)}; {coarse_remedy(fitted, results.nobs)}" if coarse else words
        yield plain("inducing inputs", words, value=float(fitted.nats_left), good=not coarse, otherwise=BAD)
    names, free = fitted.parameters.names, fitted.parameters.free
    if free.any():
        open_ends = free & np.isnan(results.bse.to_numpy()[len(gp.columns) :])
        bound = [names[i] for i in np.flatnonzero(open_ends)]
        words = f"{', '.join(bound)} at a bound: the data do not determine it. Fix it by fixed=, or set priors="
        words = words if bound else "hyper-parameters are within their bounds"
        yield plain("bounds", words, value=float(len(bound)), good=not bound)
        less, trace = fitted.trace.runner_up, fitted.trace
        if less < _LOWER and trace.converged:
            words = (
                f"{trace.message.partition('; ')[2]}, and the fit describes only the higher one. Fit again with this "
                "start=, and compare the predictions of the two fits; priors= on the length-scale can exclude one"
            )
            yield plain("starts", words, value=less, good=False)
    if results.parts.training is not None and not fitted.points[0].noise:
        yield from structure_findings(results)
    yield from posterior_findings(results, rng)


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
