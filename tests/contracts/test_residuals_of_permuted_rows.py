"""Residuals do not depend on the order of the rows: random points are drawn by the contents of each row."""

import warnings

import numpy as np
import pandas as pd
import pytest
from support.kinds import KINDS, N, fitted, rows

import tobitgp as tg

LOOSE = {"latent": 2e-3}  # its fits depend on the order of rows by that much


@pytest.mark.quick_cases("regression", "counts", "strata")
@pytest.mark.parametrize("name", KINDS)
def test_residuals_follow_their_rows(name):
    order = np.random.default_rng(2).permutation(N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = KINDS[name].fit(rows()[:N].iloc[order])
    for seed in (None, 4):
        first = pd.DataFrame(fitted(name).residuals("quantile", rng=seed)).to_numpy()
        found = pd.DataFrame(again.residuals("quantile", rng=seed)).to_numpy()
        assert np.isfinite(first).any()
        if name in ("mixture", "counts", "vectors"):  # whose censored or equal counts are equal in everything
            np.testing.assert_allclose(np.sort(found, axis=0), np.sort(first, axis=0), atol=1e-6)
        else:
            np.testing.assert_allclose(found, first[order], atol=LOOSE.get(name, 1e-6))


def simulate(n=160):
    rng = np.random.default_rng(3)
    x = rng.normal(size=n).round(2)
    y = np.maximum(x + rng.normal(size=n), 0.0)
    return pd.DataFrame({"x": x, "g": rng.choice(list("abc"), n), "y": y, "w": rng.integers(1, 6, n)})


def findings(formula, data, **options):
    table = tg.fit(formula, data, **options).check().table
    return table[["value", "p"]].drop(index=["influence", "leave-one-out"]).to_numpy(float)


def test_findings_do_not_depend_on_the_order_of_rows():
    data = simulate()
    first = findings("y ~ x + g | censor(0)", data)
    for seed in (1, 2):
        again = findings("y ~ x + g | censor(0)", data.sample(frac=1.0, random_state=seed))
        np.testing.assert_allclose(again, first, atol=1e-6)


def test_findings_of_frequencies_are_those_of_the_rows_written_out():
    data = simulate()
    often = data.loc[data.index.repeat(data["w"])].sample(frac=1.0, random_state=1)
    found = findings("y ~ x + g | censor(0)", data, weights="w")
    np.testing.assert_allclose(found, findings("y ~ x + g | censor(0)", often), atol=1e-6)


def test_copies_of_a_row_are_not_its_neighbours():
    data = simulate().assign(y=lambda data: data["x"] + np.random.default_rng(4).normal(size=len(data)))
    table = tg.fit("y ~ x", data, weights=4 * data["w"]).check().table
    assert table.loc["pattern in x", "verdict"] == "good"
    bent = data.assign(y=data["y"] + data["x"] ** 2)
    assert tg.fit("y ~ x", bent, weights="w").check().table.loc["pattern in x", "verdict"] == "bad"


def test_equal_rows_have_points_apart():
    data = pd.DataFrame(
        {"x": np.tile([0.0, 1.0], 30), "y": np.maximum(np.tile([0.0, 0.0, 0.5, 1.0, 1.5, 2.0], 10), 0.5)}
    )
    found = tg.fit("y ~ x | censor(0.5)", data).residuals("quantile")
    assert found[data["y"] == 0.5].nunique() == (data["y"] == 0.5).sum()
