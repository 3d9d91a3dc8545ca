"""Mixtures of normals, which predict the distribution of a new response."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.answer import Answer
from benchmarks.problems import Draw


def tobitgp(draw: Draw) -> Answer:
    """Fit the mixture of the formula, and predict at its estimates."""
    import tobitgp as tg

    params = tg.fit(draw.formula, draw.train).params
    mean, sd, weight = (params.filter(like=f"{name}[").to_numpy() for name in ("mean", "sd", "weight"))
    return Answer(mean[:, None], sd[:, None], weight)


def censored_rows_dropped(draw: Draw) -> Answer:
    """Fit the uncensored rows by scikit-learn's maximum likelihood, with the same number of components."""
    from sklearn.mixture import GaussianMixture

    y = draw.train["y"].to_numpy()[draw.status == 0]
    k = int(draw.formula.partition("mixture(")[2].partition(")")[0])
    fit = GaussianMixture(k, random_state=0).fit(y[:, None])
    return Answer(fit.means_, np.sqrt(fit.covariances_[:, 0]), np.asarray(fit.weights_))
