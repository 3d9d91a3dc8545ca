"""Maximum likelihood of one sample beside survival's survreg and EnvStats, families beside scipy."""

import numpy as np
import pytest
from scipy import stats

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.nondetects.sample import read_values
from tobitgp.nondetects.sample_likelihood import SAMPLE_FAMILIES, maximise

R_SEARCH = 1e-8  # what R's optimisers reach

TRUTHS = {
    "lognormal": lambda a, s: stats.lognorm(s, scale=np.exp(a)),
    "normal": lambda a, s: stats.norm(a, s),
    "weibull": lambda a, s: stats.weibull_min(1.0 / s, scale=np.exp(a)),
    "gamma": lambda a, s: stats.gamma(s, scale=np.exp(a)),
}


def test_estimates_of_survreg(case):
    reference, y, censored = case
    found, of_r = maximise(read_values(y, censored)), reference["mle"]
    ours = [found.a, np.exp(found.b), found.llf, found.mean, found.sd, *np.sqrt(np.diag(found.covariance))]
    names = ("meanlog", "sdlog", "loglik_time", "mean", "sd", "se_meanlog", "se_log_sdlog")
    np.testing.assert_allclose(ours, [of_r[name] for name in names], rtol=R_SEARCH)
    assert found.se(found.family.mean) == pytest.approx(of_r["se_log_mean"], rel=R_SEARCH)


def test_limits_of_the_mean_of_envstats(case):
    reference, y, censored = case
    found, of_r = maximise(read_values(y, censored)), reference["mle"]
    mean, cox = found.family.mean, [*of_r["ci_cox"], of_r["ucl95_cox"]]
    ours = [found.link_limit(mean, p) for p in (0.025, 0.975, 0.95)]
    np.testing.assert_allclose(ours, cox, rtol=R_SEARCH)
    ways = {"profile.likelihood": found.profile_limit, "cox": found.link_limit, "delta": found.delta_limit}
    for name, limit in ways.items():
        two, upper = (of_r["envstats"][f"{side} {name}"] for side in ("two-sided", "upper"))
        ours = [limit(mean, p) for p in (0.025, 0.975, 0.95)]
        np.testing.assert_allclose(ours, [*two["limits"], upper["limits"][1]], rtol=R_SEARCH)
        for of in (two, upper):
            np.testing.assert_allclose([found.mean, found.sd / found.mean], [of["mean"], of["cv"]], rtol=R_SEARCH)


def test_percentiles_of_r(case):
    reference, y, censored = case
    found = maximise(read_values(y, censored))
    for row in reference["mle"]["percentiles"]:
        ours = [found.percentile(row["p"]), found.link_limit(found.of_percentile(row["p"]), 0.95)]
        np.testing.assert_allclose(ours, [row["estimate"], row["utl95_delta"]], rtol=R_SEARCH)


@pytest.mark.parametrize("family", SAMPLE_FAMILIES)
def test_families_are_those_of_scipy(family):
    kind, a, b = SAMPLE_FAMILIES[family], 0.3, -0.4
    linked = kind.linked(a, b)
    truth = TRUTHS[family](a, np.exp(b))
    y = np.array([0.2, 1.0, 3.5])
    jacobian = np.log(y) if kind.log else 0.0
    np.testing.assert_allclose(linked.logpdf(kind.link(y)) - jacobian, truth.logpdf(y), rtol=1e-12)
    lower, upper = np.array([-np.inf, 1.0, 0.5]), np.array([0.4, np.inf, 0.9])
    mass = np.log(truth.cdf(upper) - truth.cdf(lower))
    np.testing.assert_allclose(linked.log_mass(kind.link(lower), kind.link(upper)), mass, rtol=1e-12)
    ends = np.append(kind.link(lower), kind.link(y)), np.append(kind.link(upper), kind.link(y))
    assert kind.log_likelihood(*ends, a, b) == pytest.approx(mass.sum() + (truth.logpdf(y) + jacobian).sum(), rel=1e-12)
    np.testing.assert_allclose(linked.logsf(kind.link(y)), truth.logsf(y), rtol=1e-12)
    assert kind.inverse(a + kind.mean(b)) == pytest.approx(truth.mean(), rel=1e-12)
    assert kind.inverse(a + kind.quantile(0.9, b)) == pytest.approx(truth.ppf(0.9), rel=1e-12)
    assert kind.sd(a, b) == pytest.approx(truth.std(), rel=1e-10)


@pytest.mark.parametrize("family", SAMPLE_FAMILIES)
def test_the_maximum_is_one(case, family):
    _, y, censored = case
    found = maximise(read_values(y, censored), family)
    assert found.log_likelihood(found.a, found.b) == pytest.approx(found.llf, abs=1e-12)
    for da, db in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1)):
        assert found.log_likelihood(found.a + 1e-3 * da, found.b + 1e-3 * db) < found.llf


def test_gamma_is_the_generalised_gamma_with_equal_shape_and_scale(case):
    _, y, censored = case
    found = maximise(read_values(y, censored), "gamma")
    shape = float(np.exp(-0.5 * found.b))
    fixed = {"Q": shape, "sigma": shape}
    res = tg.fit("y ~ 1 | censor(nondetect=c)", {"y": y, "c": censored}, family="gengamma", method="mle", fixed=fixed)
    assert res.llf == pytest.approx(found.llf, abs=1e-9)


@pytest.mark.parametrize("family", SAMPLE_FAMILIES)
def test_profile_limits_lie_where_the_likelihood_ratio_says(case, family):
    _, y, censored = case
    found = maximise(read_values(y, censored), family)
    mean, limit = found.family.mean, 0.0
    grid = np.linspace(found.b - 2.0, found.b + 2.0, 4001)
    for confidence in (0.05, 0.95):
        limit = found.profile_limit(mean, confidence)
        v = float(found.family.link(np.array([limit]))[0]) if found.family.log else limit
        best = max(found.log_likelihood(v - mean(b), b) for b in grid)
        assert 2.0 * (found.llf - best) == pytest.approx(1.6448536269514722**2, abs=1e-4)
    assert limit > found.mean


def test_intervals_and_right_censored_rows_count():
    lower, upper = np.array([-np.inf, 1.0, 2.0, 3.0, 1.5]), np.array([0.8, 1.0, 2.0, np.inf, 2.5])
    sample = read_values([0.8, 1.0, 2.0, 3.0, 2.5], [1, 0, 0, 0, 1])
    object.__setattr__(sample, "lower", lower)
    object.__setattr__(sample, "upper", upper)
    found = maximise(sample)
    truth = stats.lognorm(np.exp(found.b), scale=np.exp(found.a))
    by_hand = truth.logpdf([1.0, 2.0]).sum() + np.log(truth.cdf([0.8, np.inf, 2.5]) - truth.cdf([0.0, 3.0, 1.5])).sum()
    assert found.llf == pytest.approx(by_hand, rel=1e-12)


def test_exceedance_is_the_percentile_turned_round(case):
    _, y, censored = case
    found = maximise(read_values(y, censored))
    standard = found.percentile(0.9)
    estimate, low, high = found.exceedance(standard, 0.9)
    assert estimate == pytest.approx(0.1, rel=1e-9)
    z, s = stats.norm.isf(0.1), np.exp(found.b)
    gradient = np.array([1.0 / s, z])
    reach = 1.6448536269514722 * np.sqrt(gradient @ found.covariance @ gradient)
    np.testing.assert_allclose([low, high], stats.norm.sf([z + reach, z - reach]), rtol=1e-6)


def test_what_it_refuses():
    with pytest.raises(SpecError, match="family='cauchy': must be one of 'lognormal', 'normal', 'weibull', 'gamma'"):
        maximise(read_values([1.0, 2.0]), "cauchy")
    with pytest.raises(DataError, match="family='gamma' needs positive values"):
        maximise(read_values([0.0, 1.0, 2.0], [1, 0, 0]), "gamma")
    assert maximise(read_values([0.0, 1.0, 2.0], [1, 0, 0]), "normal").mean < 1.0
    with pytest.raises(DataError, match="all of its probability on one side"):
        maximise(read_values([1.0, 2.0, 3.0])).exceedance(1e300, 0.95)
