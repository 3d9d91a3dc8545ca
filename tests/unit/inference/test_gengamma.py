"""The shape of generalised gamma times under a process: given, estimated, with a prior of its own."""

import numpy as np
import pandas as pd
import pytest
from support.methods import with_settings

import tobitgp as tg
from tobitgp.errors import SpecError

pytestmark = pytest.mark.diagonal

AT = {"sd(gp(x))": 0.6, "lengthscale(gp(x))": 0.3}


@pytest.fixture(scope="module")
def times():
    rng = np.random.default_rng(8)
    x = rng.uniform(size=150)
    t = np.exp(1.0 + 0.6 * np.sin(6.0 * x) + 0.5 * np.log(rng.exponential(size=150)))
    return pd.DataFrame({"x": x, "t": np.minimum(t, 4.0), "e": t < 4.0})


def fit(times, **options):
    return tg.fit("Surv(t, e) ~ gp(x)", times, **{"family": "gengamma", **with_settings(options, hyper="maximize")})


@pytest.mark.parametrize(("family", "Q"), [("weibull", 1.0), ("lognormal", 0.0)])
@pytest.mark.parametrize("method", ["ep", "laplace", "vi"])
def test_families_inside(times, family, Q, method):
    inside = fit(times, family=family, fixed={**AT, "sigma": 0.5}, method=method)
    for known in (
        fit(times, fixed={**AT, "sigma": 0.5, "Q": Q}, method=method),
        fit(times, family=tg.GenGamma(Q), fixed={**AT, "sigma": 0.5}, method=method),
    ):
        assert known.log_evidence == pytest.approx(inside.log_evidence, abs=1e-5)
        new = {"x": [0.1, 0.8]}
        np.testing.assert_allclose(known.predict(new, "median"), inside.predict(new, "median"), rtol=1e-5)


def test_the_shape_is_where_evidence_and_prior_are_highest(times):
    fixed = {**AT, "sigma": 0.5}
    res = fit(times, fixed=fixed)

    def height(Q):
        """Log evidence and the normal prior (0.5, 1) of Q."""
        return fit(times, fixed={**fixed, "Q": Q}).log_evidence - 0.5 * (Q - 0.5) ** 2

    best = res.params["Q"]
    assert height(best) > max(height(best - 0.05), height(best + 0.05))
    curve = (height(best + 0.1) - 2.0 * height(best) + height(best - 0.1)) / 0.01
    assert res.bse["Q"] == pytest.approx((-curve) ** -0.5, rel=0.02)
    low, high = res.conf_int().loc["Q"]
    assert (low, high) == (
        pytest.approx(best - 1.96 * res.bse["Q"], rel=1e-3),
        pytest.approx(best + 1.96 * res.bse["Q"], rel=1e-3),
    )


def test_start_and_prior(times):
    fixed = {**AT, "sigma": 0.5}
    res = fit(times, fixed=fixed)
    assert fit(times, fixed=fixed, start={"Q": -0.5}).params["Q"] == pytest.approx(res.params["Q"], abs=1e-3)
    tight = fit(times, fixed=fixed, priors={"Q": tg.Normal(-0.2, 1e-3)})
    assert tight.params["Q"] == pytest.approx(-0.2, abs=0.01)
    free = fit(times, fixed=fixed, priors={"Q": None})
    assert free.params["Q"] != res.params["Q"]
    for option in ({"start": {"Q": np.inf}}, {"fixed": {"Q": "1"}}):
        with pytest.raises(SpecError, match="finite number"):
            fit(times, **option)
    with pytest.raises(SpecError, match=r"tg\.Normal"):
        fit(times, priors={"Q": tg.LogNormal(1.0, 1.0)})


@pytest.mark.slow
def test_every_design_point_has_its_shape(times, tmp_path):
    res = tg.fit("Surv(t, e) ~ gp(x)", times, family="gengamma", fixed=AT)
    assert np.ptp([point.theta[-2] for point in res.parts.fitted.points]) > 0.1
    assert abs(res.params["Q"] - 1.0) < 3.0 * res.bse["Q"]
    curve = res.predict_survival_function({"x": [0.5]}, [0.0, 1.0, 4.0], interval=0.9)
    assert np.isfinite(curve).all(axis=None)
    res.save(tmp_path / "fit.tgp")
    pd.testing.assert_series_equal(tg.load(tmp_path / "fit.tgp").predict({"x": [0.5]}), res.predict({"x": [0.5]}))
