"""What ``check`` says of a Gaussian process: other length-scales, errors of approximations, bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tobitgp.diagnostics.check import posterior_findings
from tobitgp.diagnostics.residual_tests import BAD, Finding, plain
from tobitgp.inference.evidence import COARSE
from tobitgp.inference.fitted import NEIGHBOURS_REMEDY, coarse_remedy, coarse_words, neighbours_words
from tobitgp.inference.screening import ScaleCandidate, screen

CLEAR, SLIGHT = 3.0, 1.0  # nats
_AT_END = 0.1  # of log length-scales from the shortest that was looked for
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
    weight = gp.problem.weight
    screened = screen(fitted.points[0], gp.prior, gp.parameters, "add", fixed=True, weight=weight)
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
