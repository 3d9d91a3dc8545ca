"""How much single rows, or subjects, move the estimates: one Newton step, (REG9) of the theory pages."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.numerics.bordered import dense
from tobitgp.regression.deviance_residuals import dfbeta
from tobitgp.results.fit import Fit
from tobitgp.results.rows import ask


def influence(results: Fit, *, scaled: bool = False) -> pd.DataFrame:
    """Approximate change of every estimate when a row (or a start-stop subject) is added: one Newton step.

    Parameters
    ----------
    scaled : bool
        Divide changes by standard errors (dfbetas) from the observed information; with sampling weights, by those of
        the fit.

    Returns
    -------
    DataFrame
        In the user's units: a row for each row of the training data (for start-stop rows, the last row of each
        subject), a column for each parameter, positive parameters as logarithms.

    Raises
    ------
    SpecError
        If the fit holds no training rows, its rows share frailties, or it has not converged.

    References
    ----------
    .. [1] T. M. Therneau and P. M. Grambsch, *Modeling Survival Data* (2000), section 7.1; (REG9) of the theory
       pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> res.influence(scaled=True)["age"].abs().nlargest(2).round(2)
    16    0.39
    5     0.20
    Name: age, dtype: float64
    """
    results._refuse_dependent("influence()")
    parts = results.parts
    asked = ask(parts)
    found = with_scores(parts, "the influence of its rows has")
    maximum = found.maximum
    weight, last = parts.rows.response.weight, parts.last_rows()
    V = dense(maximum.inverse_information)
    change = found.moved(dfbeta(maximum.scores, V, weight if last is None else weight[last]))
    if scaled:
        information: dict[str, Any] = {"covariance": maximum.inverse_information, "unidentified": maximum.unidentified}
        kind: Any = type(results)
        own: Fit = results if results._of_sample else kind(replace(found, **information))
        se = np.concatenate([own._linear.errors(), own._rest.theta_sd])
        change = np.divide(change, se, out=np.zeros_like(change), where=se > 0.0)
    names = [*parts.columns]
    names += [f"log({name})" if log else name for name, log in zip(parts.scale_names, parts.positive, strict=True)]
    if last is not None:
        return pd.DataFrame(change, index=pd.Index(parts.rows.labels[last]), columns=names)
    return pd.DataFrame(asked.spread(np.asarray(change)), index=asked.index, columns=names)


def with_scores(parts: LikelihoodParts, what: str) -> LikelihoodParts:
    """The fit at its maximum, with the scores of its rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: LikelihoodParts = parts.again({}, scores=True)
    if found.maximum.scores is None or not found.maximum.converged:
        raise SpecError(f"The fit has not converged, so that {what} no meaning. Follow its warning first.")
    return found
