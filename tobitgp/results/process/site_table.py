"""Sites of the training rows under the labels of the data."""

from __future__ import annotations

import pandas as pd

from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import SpecError
from tobitgp.kinds.row_sites import row_sites
from tobitgp.results.fit import Fit
from tobitgp.results.rows import ask
from tobitgp.results.why_not import unavailable


def sites(results: Fit) -> pd.DataFrame:
    r"""Gaussian sites of the training rows at the maximum, and the cavity of each, a DataFrame with a row for each.

    The posterior replaces the likelihood of a row by :math:`\tilde Z N(f; \tilde\mu, \tilde\sigma^2)`. The columns
    ``mean, variance, log_z`` are :math:`\tilde\mu, \tilde\sigma^2, \log \tilde Z`. ``cavity_mean`` and
    ``cavity_variance`` are those of f in the row under the posterior without this site. All are on the scale of f
    in the units of the response (of its logarithm for log-time families, after the power for ``boxcox``); ``log_z``
    is in nats. The index is that of the data; rows that were left out are NaN. A row with the weight c has c such
    sites, and the cavity leaves out one of them.

    Uncensored rows under normal noise have the site N(f; y, sigma^2) of their own likelihood. Noise that is not
    log-concave may give a negative variance; ``log_z`` is then NaN.

    Raises
    ------
    SpecError
        If the fit holds no training rows.
    UnavailableError
        If ``sigma=`` has a process, where sites are of f and log sigma together.

    References
    ----------
    P. Groot and P. Lucas, "Gaussian process regression with censored data using expectation propagation", PGM 2012,
    eq. 9. (SIT11) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.load("tobin")
    >>> res = tg.fit("durable ~ age | censor(0)", data, method=tg.EP(hyper="maximize"))
    >>> res.sites.loc[:1].round(2)
        mean  variance  log_z  cavity_mean  cavity_variance
    0 -11.54    102.91   3.18        -4.15            12.79
    1   0.70     45.22   0.00        -4.14             4.92
    """
    scaled = results.parts.reported
    if scaled.fit.fitted.points[0].noise:
        raise unavailable(results, "res.sites", "sites")
    if results.parts.training is None:
        raise SpecError(f"{NO_ROWS}, and sites are those of training rows.")
    return ask(results.parts).table(row_sites(scaled, results.parts.rows.response))
