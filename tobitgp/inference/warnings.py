"""Warnings of what the data cannot tell, before a fit, and of what a fit leaves out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from tobitgp.data.standardisation import Measured
from tobitgp.errors import ApproximationWarning, BoundaryWarning, user_level
from tobitgp.formula.spec import GPTerm
from tobitgp.inference.evidence import COARSE
from tobitgp.inference.fitted import FittedGP
from tobitgp.inference.parameters import LOG_BOUND, Parameters, words_for_little_noise
from tobitgp.priors.kernel_block import GPPrior

_TOLD_APART = (
    "terms that only their priors tell apart, as an intercept beside the level of re() or gp(): with so little noise "
    "beside so many rows one of them must go"
)
BAD = 0.3  # approximation gap beside the effective parameters
FEW, SMALL_SHARE = 5, 0.1  # exact rows that leave intervals too narrow by a tenth or more


def warn_unidentified(measured: Measured, terms: Sequence[GPTerm]) -> None:
    """Say what the data cannot tell."""
    exact, between, n = measured.n_exact, measured.between, measured.n
    if exact == 0 and not between:
        _warn("No row is exact: location and scale rest on the limits and the priors; set priors= or fixed= with care.")
    elif exact == 1 and not between:
        _warn("Only one row is exact: the noise scale rests on its prior; set priors={'sigma': ...} or fixed=.")
    elif 1 < exact < FEW and exact < SMALL_SHARE * n and not between:
        _warn(
            f"Only {exact} of {n} rows are exact: scale, noise and intervals rest on them and on the priors, and may "
            "be far from the truth; set priors= or fixed= from what is known."
        )
    elif exact == n > 1 and measured.exact[0] == measured.exact[1]:
        _warn("The response is constant: scale and length-scales rest on their priors.")
    for term, X in zip(terms, measured.X, strict=True):
        for text, low, high in zip(term.inputs, X.minimum, X.maximum, strict=True):
            if n > 1 and low == high:
                _warn(f"The input {text.text} of {term.name} is constant: its length-scale rests on its prior.")


def warn_own_levels(gps: Sequence[GPPrior], terms: Sequence[GPTerm], parameters: Parameters, rows: float) -> None:
    """Say which random intercepts have a level for every row, where sigma is sought too."""
    if not parameters.free[parameters.roles.index("sigma")]:
        return
    sought = {name for name, free in zip(parameters.names, parameters.free, strict=True) if free}
    for gp, term in zip(gps, terms, strict=True):
        single = gp.grouping is not None and 1.0 < rows <= gp.grouping.size
        if single and not term.factors and f"sd({term.name})" in sought:
            _warn(
                f"Every row has a level of its own in {term.name}: only the priors tell sd({term.name}) from sigma; "
                "leave the term out, or fix one of the two."
            )


def warn_coarse(fitted: FittedGP, rows: float) -> None:
    """Say where the search met a bound, what the inducing inputs leave out, and where rounding took digits."""
    words = bound_words(fitted)
    if words:
        _warn(words)
    if fitted.nats_left > COARSE:
        message = f"{coarse_words(fitted)}; {coarse_remedy(fitted.parameters, rows)}."
        warnings.warn(message, ApproximationWarning, stacklevel=user_level())
    elif words := rounding_words(fitted, rows):
        warnings.warn(words, ApproximationWarning, stacklevel=user_level())


def coarse_words(fitted: FittedGP) -> str:
    """What basis functions that are too few do to a fit; the figures are simulated, see docs/trust."""
    share = fitted.nats_left / fitted.effective
    effect = "the curve is a little too smooth"
    if share > BAD:
        effect = (
            "the curve is too smooth, its length-scales and sigma are too large, and its intervals too narrow beside "
            "that (in simulations with gaps like this 95% intervals covered the curve .45 to .92 of the time)"
        )
    return (
        f"The inducing inputs are too few for such short length-scales (approximation gap {fitted.nats_left:.3g} nats, "
        f"{share:.0%} of the effective parameters): {effect}"
    )


def rounding_words(fitted: FittedGP, rows: float) -> str:
    """Where rounding took digits, and what to look at; nothing where it took none."""
    if not words_for_little_noise(fitted.parameters) and not any(
        at.factor.lost_to_rounding(rows) for at in fitted.points
    ):
        return ""
    return (
        "Digits were lost: standard errors may be wrong, or the fit have stopped short. Look at "
        f"{words_for_little_noise(fitted.parameters, rows) or _TOLD_APART}."
    )


def bound_words(fitted: FittedGP) -> str:
    """Where the search met a bound, and what noise at its least tells; nothing where it met none."""
    parameters = fitted.parameters
    places, free = np.flatnonzero(parameters.free), fitted.points[0].theta[parameters.free]
    low = free <= parameters.least
    stuck = [parameters.names[i] for i in places[low | (free >= LOG_BOUND)]]
    if not stuck:
        return ""
    words = f"The search ended at a bound for {', '.join(stuck)}; fix it, or set a prior."
    if any(parameters.roles[i] == "sigma" for i in places[low]):
        words += (
            f" At its lower bound sigma is {np.exp(-LOG_BOUND):.0e} of the response's sd: the data show no noise, and "
            "the curve goes through the rows. Where they were measured with an error, fix sigma at that."
        )
    return words


def coarse_remedy(parameters: Parameters, rows: float) -> str:
    """What makes the inducing inputs leave less; where the noise is lost to rounding all inputs are no remedy."""
    if words_for_little_noise(parameters, rows):
        return "raise inducing= or the value at which sigma is fixed"
    return "raise inducing= or use inducing=None"


def warn_no_bound(fitted: FittedGP) -> None:
    """Say where what a method calls its evidence bounds nothing."""
    if fitted.method.pilot() != fitted.method:
        warnings.warn(
            f"bound={fitted.method.evidence_kind!r} is no bound: it may exceed the log evidence, so it neither ranks "
            "models nor chooses hyper-parameters. These are from exact variational inference, and elbo is a bound.",
            ApproximationWarning,
            stacklevel=user_level(),
        )


def _warn(message: str) -> None:
    warnings.warn(message, BoundaryWarning, stacklevel=user_level())
