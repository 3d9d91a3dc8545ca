"""Profile-likelihood intervals beside R's, likelihood ratio tests and intervals that are known."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from support.reference import load

import tobitgp as tg
from tobitgp.errors import SpecError

pytestmark = pytest.mark.diagonal


@pytest.fixture(scope="module")
def res(tobin):
    return tg.fit("durable ~ age + quant | censor(0)", tobin)


def test_the_reference(res):
    want = load("tobin_tobit.json")["profile_ci_age_95"]
    np.testing.assert_allclose(res.profile_interval("age"), (want["lower"], want["upper"]), rtol=1e-6)


@pytest.mark.slow
def test_ends_are_rejected_just_so(res, tobin):
    """Twice the loss of log likelihood at each end is the quantile of chi-squared, for every parameter."""
    table = res.conf_int(0.1, method="profile")
    assert table.index.tolist() == list(res.params.index)
    for name, ends in table.iterrows():
        assert ends[0] < res.params[name] < ends[1]
        for end in ends:
            at = tg.fit("durable ~ age + quant | censor(0)", tobin, fixed={name: float(end)})
            assert np.isclose(2 * (res.llf - at.llf), chi2.ppf(0.9, 1), rtol=1e-6)


def test_symmetric_where_the_likelihood_is(rng):
    """Of a known sigma and no censoring the interval is that of the normal distribution."""
    data = pd.DataFrame({"x": rng.normal(size=50)})
    data["y"] = 1.0 + data["x"] + rng.normal(size=50)
    res = tg.fit("y ~ x", data, method="mle", fixed={"sigma": 1.0})
    np.testing.assert_allclose(res.conf_int(method="profile"), res.conf_int(), rtol=1e-6)


@pytest.mark.slow
def test_log_sigma_and_shapes(lung):
    res = tg.fit("time ~ age | censor(event=event)", lung, family="gengamma", sigma="~ age")
    table = res.conf_int(method="profile")
    for name in res.params.index[-2:]:
        for end in table.loc[name]:
            at = tg.fit("time ~ age | censor(event=event)", lung, family="gengamma", sigma="~ age", fixed={name: end})
            assert np.isclose(2 * (res.llf - at.llf), chi2.ppf(0.95, 1), rtol=1e-5)


def test_open_ends():
    """Student's df beside which the normal distribution is not rejected have no upper end."""
    data = pd.DataFrame({"y": np.random.default_rng(0).standard_t(8, size=150)})
    res = tg.fit("y ~ 1", data, family="student", method="mle")
    lower, upper = res.profile_interval("df")
    assert 1.0 < lower < res.params["df"]
    assert upper == np.inf
    assert 2 * (res.llf - tg.fit("y ~ 1", data, method="mle").llf) < chi2.ppf(0.95, 1)


def test_where_there_is_none(res, tobin, maximised):
    with pytest.raises(SpecError, match=r"'agee' is not a parameter .* did you mean 'age'"):
        res.profile_interval("agee")
    with pytest.raises(SpecError, match="cov_type='HC0' does not assume a correct likelihood"):
        tg.fit("durable ~ age | censor(0)", tobin, cov_type="HC0").profile_interval("age")
    with pytest.raises(SpecError, match="method='profile' requires a fit by maximum likelihood"):
        maximised.conf_int(method="profile")
    with pytest.raises(SpecError, match="'wald' or 'profile'"):
        res.conf_int(method="bootstrap")
    known = tg.fit("durable ~ age | censor(0)", tobin, fixed={"age": -0.1})
    assert known.profile_interval("age") == (-0.1, -0.1)
