"""The equations of docs/theory/priors.md in dense matrices, beside the prior of a fit."""

import numpy as np
import pandas as pd
import pytest
from support.methods import with_settings

import tobitgp as tg

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def frame():
    rng, n = np.random.default_rng(4), 60
    d = pd.DataFrame({"yr": rng.integers(2001, 2021, n) * 1.0, "g": rng.choice(list("abc"), n, p=[0.5, 0.3, 0.2])})
    return d.assign(y=0.1 * d["yr"] + (d["g"] == "b") + rng.normal(size=n), w=rng.integers(1, 4, n))


def centred(E, w):
    return E - np.average(E, axis=0, weights=w)


def less(E, margins, w):
    """(PRI1)."""
    V, root = np.column_stack(margins), np.sqrt(w)[:, None]
    return E - V @ np.linalg.pinv(root * V, rcond=1e-10) @ (root * E)


def variance(Z, w, sd):
    """(PRI3)."""
    return (2.5 * sd) ** 2 * np.linalg.matrix_rank(Z, 1e-8) / np.average(Z**2, axis=0, weights=w).sum()


@pytest.mark.parametrize("formula", ["yr*g", "0 + g + yr:g", "g/yr", "yr*C(g, Sum)"])
def test_the_prior_covariance_of_f(frame, formula):
    """(PRI2) and (PRI4): the variance of H beta less a constant, which determines that of beta."""
    w, yr = frame["w"].to_numpy(), frame[["yr"]].to_numpy()
    D = (frame["g"].to_numpy()[:, None] == np.array(list("abc"))).astype(float)
    year, level = centred(yr, w), centred(D, w)
    both = less(centred(D * yr, w), [year, level], w)
    sd = np.sqrt(np.cov(frame["y"], fweights=w, ddof=0))
    expected = sum(variance(Z, w, sd) * Z @ Z.T for Z in (year, level, both))

    res = tg.fit(f"y ~ {formula}", frame, weights="w", method=tg.EP(hyper="maximize"))
    linear, H = res.parts.gp.linear, np.asarray(res.parts.rows.design.H)
    A = linear.features(H, 1.0)
    found = centred(A, w) @ centred(A, w).T
    np.testing.assert_allclose(found, expected, atol=1e-6 * expected.max())
    c = np.linalg.lstsq(H, np.ones(len(H)), rcond=None)[0]
    level_sd = np.sqrt(np.sum(np.average(A, axis=0, weights=w) ** 2))
    assert level_sd == pytest.approx(10.0 * sd, rel=1e-6)
    assert np.allclose(H @ c, 1.0)


def test_one_column_and_two_levels(frame):
    """Where nothing has margins: 2.5 sd(y) / sd(column), whichever of two levels is the reference."""
    d = frame.assign(h=np.where(frame["g"] == "a", "p", "q"))
    res = tg.fit("y ~ yr + h", d, method=tg.EP(hyper="maximize"))
    sd = d["y"].std(ddof=0)
    assert res.priors.loc["yr", "spread"] == pytest.approx(2.5 * sd / d["yr"].std(ddof=0))
    assert res.priors.loc["h[T.q]", "spread"] == pytest.approx(2.5 * sd / (d["h"] == "q").std(ddof=0))
    assert res.priors.loc["Intercept"].tolist()[1:3] == pytest.approx([d["y"].mean(), 10.0 * sd])
    assert not np.triu(res.parts.gp.linear.root if res.parts.gp.linear.root is not None else np.zeros((1, 1)), 1).any()


def test_given_and_fixed_coefficients_are_independent(frame):
    given = {"priors": {"yr": tg.Normal(0.2, 0.3)}, "fixed": {"g[T.b]": 1.5}}
    res = tg.fit("y ~ yr*g", frame, **with_settings(given, hyper="maximize"))
    linear, columns = res.parts.gp.linear, list(res.params.index)
    V = linear.root @ linear.root.T
    yr, b = columns.index("yr"), columns.index("g[T.b]")
    assert V[yr, yr] == pytest.approx(0.09)
    assert np.allclose(np.delete(V[yr], yr), 0.0)
    assert np.allclose(V[b], 0.0)
    assert res.params["g[T.b]"] == 1.5
    assert res.priors.loc["yr", "source"] == "priors="
    assert res.priors.loc["g[T.b]", ["distribution", "location"]].tolist() == ["fixed", 1.5]
