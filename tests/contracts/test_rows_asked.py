"""An answer about a row does not depend on the rows that are asked with it, for any kind of fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.answers import TIMES, WHATS, attempt, frame
from support.cells import exact
from support.kinds import KINDS, N, fitted, rows

pytestmark = pytest.mark.filterwarnings("ignore::tobitgp.errors.ApproximationWarning")  # times beyond the last exit
CLOSE, NODES = 1e-8, 3e-4  # and of posteriors, whose rows have their quadrature in common
DRAWS, SHARE = 4000, 0.04  # of draws, five standard errors
ORDER = np.random.default_rng(3).permutation(6)


def asked(res, new):
    """Every question about rows that a kind of fit answers, one line a row."""
    found = {}
    for what in WHATS:
        point = {"quantile": {"q": 0.8}, "prob": {"below": 1.5}}.get(what, {})
        found[what] = attempt(lambda what=what, point=point: frame(res.predict(new, what, interval=0.9, **point)))
    for what in ("survival_function", "cumulative_hazard", "hazard", "cumulative_incidence"):
        answer = attempt(lambda what=what: getattr(res, f"predict_{what}")(new, TIMES, interval=0.9))
        found[what] = answer if isinstance(answer, str) else by_row(answer, len(new))
    answered = {what: table for what, table in found.items() if not isinstance(table, str)}
    assert answered
    return answered


def by_row(curves, n):
    """Curves, times by (rows and statistics), as one line a row."""
    lines = curves.T.groupby(level="row", sort=False)
    return pd.DataFrame([group.to_numpy(float).ravel() for _, group in lines]) if n else curves


def assert_rows(name, found, expected, order):
    close = CLOSE if exact(name) else NODES
    assert found.keys() == expected.keys()
    for what, table in expected.items():
        np.testing.assert_allclose(
            found[what].to_numpy(float), table.to_numpy(float)[order], rtol=close, atol=close, err_msg=what
        )


@pytest.mark.quick_cases("regression", "weibull")
@pytest.mark.parametrize("name", KINDS)
def test_rows_in_another_order_in_parts_and_alone(name):
    res, new = fitted(name), rows()[N - 2 :]
    together = asked(res, new)
    assert_rows(name, asked(res, new.iloc[ORDER]), together, ORDER)
    for part in ([0, 1, 2], [3]):
        assert_rows(name, asked(res, new.iloc[part]), together, part)


@pytest.mark.quick_cases("regression", "weibull")
@pytest.mark.parametrize("name", [name for name in KINDS if name not in ("mixture", "counts", "latent", "vectors")])
def test_a_missing_value_leaves_the_other_rows(name):
    """Columns of floats have a missing value in the second row; mixtures and latent coordinates have no columns."""
    res, new = fitted(name), rows()[N - 2 :]
    gap = new.copy()
    gap.loc[gap.index[1], ["z", "x"]] = np.nan
    kept = [0, 2, 3, 4, 5]
    found, whole = asked(res, gap), asked(res, new)
    assert_rows(name, {what: table.iloc[kept] for what, table in found.items()}, whole, kept)
    for what in ("median", "survival_function"):
        if what in found:
            assert found[what].iloc[1].isna().all()


@pytest.mark.parametrize("name", KINDS)
def test_rows_of_the_fit_are_new_rows(name):
    res, own = fitted(name), rows()[:N]
    if not hasattr(res, "predict"):
        pytest.skip("it answers about its causes")
    for what in ("median", "uncensored", "latent"):
        given = attempt(lambda what=what: frame(res.predict(own, what, interval=0.9)))
        if not isinstance(given, str):
            without = frame(res.predict(what=what, interval=0.9))
            np.testing.assert_allclose(given, without, rtol=CLOSE, atol=CLOSE, err_msg=what)


@pytest.mark.parametrize("name", [name for name in KINDS if name not in ("causes", "counts")])
def test_half_of_the_draws_lie_below_the_median(name):
    res, new = fitted(name), rows()[N:]
    draws = np.asarray(res.sample(new, DRAWS, rng=1), float)
    if draws.ndim == 2:  # rows by draws; of several responses draws by rows by responses
        draws = draws.T[:, :, None]
    median = frame(res.predict(new, "median")).to_numpy(float)
    below, above = (draws < median).mean(axis=0), (draws > median).mean(axis=0)
    assert below.max() < 0.5 + SHARE
    assert above.max() < 0.5 + SHARE
