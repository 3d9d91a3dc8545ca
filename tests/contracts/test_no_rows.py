"""Every kind of fit answers about new rows none of which can be used, in the shape of the question."""

import contextlib

import numpy as np
import pytest
from support.kinds import KINDS, N, fitted, kind, rows

import tobitgp as tg
from tobitgp.errors import TobitGPError

OTHERS = {"box-cox process": kind("pos ~ gp(x)", family="boxcox", method=tg.EP(hyper="maximize", n_starts=1))}
ASKED = {
    "quantile": lambda res, new: res.predict(new, "quantile", q=[0.1, 0.5], interval=0.9),
    "latent": lambda res, new: res.predict(new, "latent", interval=0.9),
    "mean": lambda res, new: res.predict(new, "uncensored", interval=0.9),
    "survival": lambda res, new: res.predict_survival_function(new, [1.0, 2.0], interval=0.9),
    "hazard": lambda res, new: res.predict_hazard(new, [1.0, 2.0], conditional_after=0.5),
    "median": lambda res, new: res.predict_median(new, interval=0.9),
    "restricted mean": lambda res, new: res.predict_restricted_mean(new, 1.0, interval=0.9),
    "incidence": lambda res, new: res.predict_cumulative_incidence(new, [1.0, 2.0], interval=0.9),
    "draws": lambda res, new: res.sample(new, 3),
}


@pytest.mark.quick_cases("regression", "weibull", "mixture", "hazard")
@pytest.mark.parametrize("name", [*KINDS, *OTHERS])
def test_rows_that_cannot_be_used(name):
    """Empty tables and rows without covariates."""
    res = OTHERS[name].fit(rows()[:N]) if name in OTHERS else fitted(name)
    gaps = rows()[N:].astype({"k": float, "b": object})
    gaps[["x", "z", "k", "b", "g"]] = np.nan
    for new in (gaps, rows()[:0]):
        for ask in ASKED.values():
            with contextlib.suppress(TobitGPError, AttributeError):  # of what a kind does not have
                ask(res, new)
