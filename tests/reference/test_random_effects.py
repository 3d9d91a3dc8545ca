"""Random intercepts and slopes against lme4 where all is seen, against adaptive quadrature where it is censored."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg

REFERENCE = json.loads(Path(__file__).with_name("sleepstudy_lme4.json").read_text())
SD, SLOPE, COR = "sd(re(Subject))", "sd(re(Subject))[Days]", "cor(re(Subject))[Intercept, Days]"


@pytest.fixture(scope="module")
def sleepstudy():
    rows = [
        (str(subject), day, y)
        for subject, values in zip(REFERENCE["subjects"], REFERENCE["reaction"], strict=True)
        for day, y in enumerate(values)
    ]
    df = pd.DataFrame(rows, columns=["Subject", "Days", "Reaction"])
    intercept, slope = REFERENCE["ml"]["coefficients"]
    return df.assign(known=intercept + slope * df["Days"])


def values(variances, covariance, sigma):
    sd = np.sqrt(variances)
    found = {SD: sd[0], SLOPE: sd[1], "sigma": sigma}
    return found if covariance is None else found | {COR: covariance / sd[0] / sd[1]}


@pytest.mark.parametrize(("part", "bar"), [("ml", "|"), ("uncorrelated_ml", "||")])
def test_evidence_at_given_parameters_is_the_likelihood(sleepstudy, part, bar):
    expected = REFERENCE[part]
    given = values(expected["variances"], expected.get("covariance"), expected["sigma"])
    model = tg.Model(f"Reaction ~ 0 + offset(known) + (1 + Days {bar} Subject)", sleepstudy)
    value, kind, gradient = model.evidence(given)
    assert (kind, value) == ("exact", pytest.approx(expected["log_likelihood"], abs=1e-6))
    assert (gradient[list(given)].abs() * pd.Series(given) < 2e-3).all()  # their maximum, to the digits printed


def test_without_priors_the_maximum_is_that_of_restricted_likelihood(sleepstudy):
    res = tg.fit("Reaction ~ Days + (1 + Days | Subject)", sleepstudy, priors={}, method=tg.EP(hyper="maximize"))
    expected = values(REFERENCE["reml"]["variances"], REFERENCE["reml"]["covariance"], REFERENCE["reml"]["sigma"])
    found = res.params[list(expected)]
    np.testing.assert_allclose(found[[SD, SLOPE, "sigma"]], [expected[k] for k in (SD, SLOPE, "sigma")], rtol=1e-3)
    assert found[COR] == pytest.approx(expected[COR], abs=1e-2)
    np.testing.assert_allclose(res.params[["Intercept", "Days"]], REFERENCE["ml"]["coefficients"], rtol=1e-6)


# By 50 x 50 adaptive Gauss-Hermite nodes a subject: log evidence, and what EP, VI and Laplace's method make of it.
CENSORED = [
    (270.0, 25.59, -624.8701772, (-0.0674, -0.0870, -0.1818)),
    (320.0, 25.59, -337.5663455, (-0.1155, -0.1533, -0.1907)),
    (320.0, 5.0, -889.5990786, (-0.3207, -0.8235, -1.4308)),
]


@pytest.mark.parametrize(("limit", "sigma", "exact", "errors"), CENSORED)
def test_censored_evidence_is_near_that_of_quadrature(sleepstudy, limit, sigma, exact, errors):
    df = sleepstudy.assign(l=limit, Reaction=np.maximum(sleepstudy["Reaction"], limit))
    given = values(np.array([565.47, 32.681785]), 11.055122, sigma)
    for method, error in zip(("ep", "vi", "laplace"), errors, strict=True):
        model = tg.Model("Reaction ~ 0 + offset(known) + (1 + Days | Subject) | censor(l)", df)
        assert model.evidence(given, method=method)[0] - exact == pytest.approx(error, abs=2e-3)
