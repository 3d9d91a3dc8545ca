"""What rows show that are seen only inside a window, against quadrature and finite differences."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy import stats
from scipy.integrate import quad

import tobitgp as tg
from tobitgp.errors import SpecError

DISTRIBUTIONS = {
    "gaussian": stats.norm(),
    "logistic": stats.logistic(),
    "lognormal": stats.norm(),
    "weibull": stats.gumbel_l(),
}
NEW = {"x": [-0.5, 0.3, 0.9]}


def windowed(low, high, limit, *, log_time=False):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, 150)
    y = 0.8 + x + 0.6 * rng.standard_normal(150)
    y = np.exp(y) if log_time else y
    seen = (y > low) & (y < high)
    return pd.DataFrame({"x": x[seen], "y": np.minimum(y[seen], limit)})


def shown(distribution, eta, sigma, low, high, limit, *, log_time):
    """E[min(y*, limit) | low < y* < high] by quadrature."""

    def density(z):
        return distribution.pdf((z - eta) / sigma) / sigma

    a, b, c = np.log([low, high, limit]) if log_time else (low, high, limit)
    value = np.exp if log_time else np.asarray
    parts = quad(lambda z: value(z) * density(z), a, c, epsabs=1e-13)[0] + limit * quad(density, c, b, epsabs=1e-13)[0]
    return parts / quad(density, a, b, points=[c], epsabs=1e-13)[0]


@pytest.mark.parametrize("family", DISTRIBUTIONS)
def test_regressions_predict_means_inside_the_window(family):
    log_time = family in ("lognormal", "weibull")
    ends = (0.7, 9.0, 5.0) if log_time else (0.0, 2.2, 1.6)
    formula = "y ~ x | truncate({}, {}) | censor(upper={})".format(*ends)
    res = tg.fit(formula, windowed(*ends, log_time=log_time), family=family)

    def exact(x):
        eta = res.params["Intercept"] + res.params["x"] * x
        return shown(DISTRIBUTIONS[family], eta, res.params["sigma"], *ends, log_time=log_time)

    table = res.predict(NEW, "observed", interval=0.95)
    assert table["estimate"].to_numpy() == pytest.approx([exact(x) for x in NEW["x"]], rel=1e-9)
    assert (table["lower"] > ends[0]).all()
    assert (table["upper"] < ends[2]).all()
    effect = res.marginal_effects("observed", at=NEW).iloc[0]
    slopes = [(exact(x + 1e-4) - exact(x - 1e-4)) / 2e-4 for x in NEW["x"]]
    assert effect["dydx"] == pytest.approx(np.mean(slopes), rel=1e-6)
    assert effect["intensive"] + effect["extensive"] == pytest.approx(effect["dydx"], rel=1e-12)
    draws = res.sample(NEW, draws=2000, what="observed", rng=1).to_numpy()
    assert draws.min() > ends[0]
    assert draws.mean(axis=1) == pytest.approx(table["estimate"], abs=0.02 * (ends[1] - ends[0]))


def test_standard_errors_inside_the_window_are_those_of_the_delta_method():
    res = tg.fit("y ~ x | truncate(0)", windowed(0.0, np.inf, np.inf))

    def mean(b):
        eta, sigma = b[0] + b[1] * np.asarray(NEW["x"]), b[2]
        return stats.truncnorm.mean(-eta / sigma, np.inf, loc=eta, scale=sigma)

    b, steps = res.params.to_numpy(), 1e-5 * np.eye(3)
    G = np.column_stack([(mean(b + step) - mean(b - step)) / 2e-5 for step in steps])
    table = res.predict(NEW, "observed", se=True)
    assert table["estimate"].to_numpy() == pytest.approx(mean(b), rel=1e-12)
    assert table["se"].to_numpy() == pytest.approx(np.sqrt(np.einsum("ij,jk,ik->i", G, res.cov_params(), G)), rel=1e-5)


@pytest.mark.parametrize("family", ["gaussian", "weibull"])
@pytest.mark.slow_cases("weibull")
def test_processes_average_the_mean_inside_the_window_over_f(family):
    log_time = family == "weibull"
    ends = (0.7, 9.0, 5.0) if log_time else (0.0, 2.2, 1.6)
    formula = "y ~ gp(x) | truncate({}, {}) | censor(upper={})".format(*ends)
    fixed = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 1.0, "sigma": 0.6}
    res = tg.fit(formula, windowed(*ends, log_time=log_time), family=family, fixed=fixed)
    f, (nodes, weight) = res.predict(NEW, "latent", se=True), hermegauss(40)

    def exact(mean, sd):
        values = [shown(DISTRIBUTIONS[family], mean + sd * z, 0.6, *ends, log_time=log_time) for z in nodes]
        return np.average(np.transpose([values, np.square(values)]), axis=0, weights=weight)

    moments = np.array([exact(m, s) for m, s in zip(f["estimate"], f["se"], strict=True)])
    table = res.predict(NEW, "observed", interval=0.9)
    assert table["estimate"].to_numpy() == pytest.approx(moments[:, 0], rel=1e-8)
    assert table["se"].to_numpy() == pytest.approx(np.sqrt(moments[:, 1] - moments[:, 0] ** 2), rel=1e-5)
    for end, z in (("lower", stats.norm.ppf(0.05)), ("upper", stats.norm.ppf(0.95))):  # the mean rises with f
        at = [shown(DISTRIBUTIONS[family], m + z * s, 0.6, *ends, log_time=log_time) for m, s in f.to_numpy()]
        assert np.abs(table[end] - at).max() < 0.005 * table["se"].max()
    draws = res.sample(NEW, draws=2000, what="observed", rng=1).to_numpy()
    assert draws.mean(axis=1) == pytest.approx(moments[:, 0], abs=0.02 * (ends[1] - ends[0]))
    h = 1e-4
    high, low = (res.predict({"x": np.array(NEW["x"]) + step}, "observed").to_numpy() for step in (h, -h))
    effect = res.marginal_effects("observed", at=NEW).iloc[0]
    assert effect["dydx"] == pytest.approx(np.mean(high - low) / (2.0 * h), rel=1e-4)


def test_the_mean_row_has_the_mean_window_and_new_rows_need_theirs():
    data = windowed(0.0, np.inf, np.inf).assign(entry=lambda d: np.where(d["x"] > 0, 0.0, -0.5))
    res = tg.fit("y ~ x | truncate(entry)", data)
    row = {"x": [data["x"].mean()], "entry": [data["entry"].mean()]}
    at_mean, there = (res.marginal_effects("observed", at=at)["dydx"].iloc[0] for at in ("mean", row))
    assert at_mean == pytest.approx(there, rel=1e-9)
    with pytest.raises(SpecError, match=r"ends of the window of this model are columns.*'entry'"):
        res.predict(NEW, "observed")


def test_titles_and_pictures_show_the_window():
    data = windowed(0.0, np.inf, np.inf)
    res = tg.fit("y ~ x | truncate(0)", data)
    assert "Truncated regression" in str(res.summary())
    assert "y before truncation" in str(res.summary())
    fixed = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 1.0, "sigma": 0.6}
    process = tg.fit("y ~ gp(x) | truncate(0)", data, fixed=fixed)
    assert "Truncated Gaussian process regression" in str(process.summary())
    labels = process.plot().get_legend_handles_labels()[1]
    plt.close("all")
    assert "window" in labels
    capped = tg.fit("y ~ x | truncate(0) | censor(upper=1.5)", data.assign(y=data["y"].clip(upper=1.5)))
    assert "Censored and truncated regression" in str(capped.summary())
