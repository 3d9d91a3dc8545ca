"""Curves of subjects along rows whose covariates change."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, weibull_min

import tobitgp as tg
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.errors import DataError, SpecError
from tobitgp.results.hazards.hazard_parts import DRAWS, drawn_hazards

pytestmark = pytest.mark.diagonal

FORMULA = "Surv(start, stop, event) ~ age + sex"
CURVES = ("survival_function", "cumulative_hazard", "hazard")
TIMES = np.array([0.0, 10.0, 40.0, 40.5, 150.0, 300.0, 301.0])
CUTS = [30, 60, 120, 250]


@pytest.fixture(scope="module")
def lung():
    data = tg.datasets.load("lung")
    return data.assign(start=0.0, stop=data["time"], age=data["age"] - 60.0)[["start", "stop", "event", "age", "sex"]]


@pytest.fixture(scope="module")
def weibull(lung):
    return tg.fit(FORMULA, lung, family="weibull")


@pytest.fixture(scope="module")
def piecewise(lung):
    return tg.fit(FORMULA, lung, family=tg.PH("piecewise", bands=CUTS))


@pytest.fixture(scope="module")
def smooth(lung):
    return tg.fit(FORMULA, lung, family="ph", method=tg.EP(hyper="maximize"))


@pytest.fixture
def path():
    """Two subjects, the rows of one of them out of order."""
    rows = [("b", 40.0, 300.0, 5.0, 1), ("a", 0.0, 1000.0, 2.0, 2), ("b", 0.0, 40.0, -8.0, 2)]
    return pd.DataFrame(rows, columns=["who", "start", "stop", "age", "sex"])


def curve(res, of, df, times, **options):
    return getattr(res, f"predict_{of}")(df, times, **options)


@pytest.mark.parametrize("of", CURVES)
@pytest.mark.parametrize("fit", ["weibull", "piecewise", "smooth"])
def test_a_path_of_one_row_has_the_ordinary_curve(request, fit, of, lung):
    res = request.getfixturevalue(fit)
    rows = lung.head(6).assign(stop=900.0, who=list("fabced"))
    along = curve(res, of, rows, TIMES, id="who", interval=0.8)
    assert along.columns.names == ["who", "statistic"]
    want = curve(res, of, rows, TIMES, interval=0.8)
    np.testing.assert_allclose(along, want, rtol=1e-9)
    np.testing.assert_allclose(curve(res, of, rows, TIMES, id="who"), curve(res, of, rows, TIMES), rtol=1e-9)


@pytest.mark.parametrize("of", CURVES)
@pytest.mark.parametrize("fit", ["weibull", "piecewise", "smooth"])
def test_rows_of_equal_covariates_are_one(request, fit, of, path):
    res = request.getfixturevalue(fit)
    whole = path.iloc[[1]]
    halves = pd.concat([whole.assign(stop=77.0), whole.assign(start=77.0)])
    pair = [curve(res, of, rows, TIMES[1:], id="who", interval=0.8) for rows in (whole, halves)]
    np.testing.assert_allclose(*pair, rtol=1e-8)


@pytest.mark.parametrize("of", CURVES)
@pytest.mark.parametrize("baseline", ["spline", "weibull", "gompertz"])
def test_parametric_hazards_add_up(lung, path, baseline, of):
    res = tg.fit(FORMULA, lung, family=tg.PH(baseline))
    single = lung.head(6).assign(stop=900.0, who=list("fabced"))
    times, whole = TIMES[1:], {"interval": 0.9}
    along, want = curve(res, of, single, times, id="who", **whole), curve(res, of, single, times, **whole)
    np.testing.assert_allclose(along.xs("mean", axis=1, level=1), want.xs("mean", axis=1, level=1), rtol=1e-9)
    # the delta method and draws differ in the second order
    np.testing.assert_allclose(along, want, rtol=0.15, atol=0.02)
    found = curve(res, "cumulative_hazard", path, [20.0, 40.0, 150.0, 300.0], id="who")["b"]
    one, two = (
        curve(res, "cumulative_hazard", path.iloc[[row]], [20.0, 40.0, 150.0, 300.0])[i] for row, i in ((2, 2), (0, 0))
    )
    later = one[40.0] + two[[150.0, 300.0]] - two[40.0]
    np.testing.assert_allclose(found, [one[20.0], one[40.0], *later], rtol=1e-9)


def test_only_hazards_of_independent_rows_add_up(lung, path):
    for family in (tg.PH("spline", link="odds"), tg.PH("spline", link="probit")):
        res = tg.fit(FORMULA, lung, family=family)
        with pytest.raises(SpecError, match="link='hazard'"):
            res.predict_survival_function(path, TIMES, id="who")


def test_hazards_of_rows_add_up(piecewise, path):
    found = piecewise.predict_survival_function(path, TIMES, id="who")
    b = piecewise.params.to_numpy()
    log_rate, effect = b[: len(CUTS) + 1], path[["age", "sex"]].to_numpy() @ b[-2:]
    ends = np.array([0.0, *CUTS, np.inf])
    for who in ("a", "b"):
        for t in TIMES:
            H, rows = 0.0, np.flatnonzero(path["who"] == who)
            for j in rows:
                low = np.maximum(ends[:-1], path["start"][j])
                high = np.minimum(np.minimum(ends[1:], path["stop"][j]), t)
                H += np.exp(effect[j]) * (np.exp(log_rate) @ np.clip(high - low, 0.0, None))
            if t <= path["stop"][rows].max():
                assert found.loc[t, who] == pytest.approx(np.exp(-H), rel=1e-9)
            else:
                assert np.isnan(found.loc[t, who])
    assert list(found.columns) == ["b", "a"]


def test_hazards_of_draws_add_up_before_they_are_averaged(smooth, path):
    before = drawn_hazards(smooth.parts, path.iloc[[2]], smooth.parts.cuts, draws=DRAWS)
    after = drawn_hazards(smooth.parts, path.iloc[[0]], smooth.parts.cuts, draws=DRAWS)

    def H(hazards, t):
        return -hazards.logsf(np.array([[t]]))[0]

    total = H(before, 40.0) + H(after, 150.0) - H(after, 40.0)
    found = smooth.predict_survival_function(path, [150.0], id="who", interval=0.9)["b"].iloc[0]
    assert found["mean"] == pytest.approx(np.exp(-total).mean(), rel=1e-9)
    np.testing.assert_allclose(found[["median", "lower", "upper"]], np.quantile(np.exp(-total), [0.5, 0.05, 0.95]))


@pytest.mark.parametrize("family", ["weibull", "lognormal", "gengamma"])
def test_accelerated_times_are_those_of_the_integral(family, lung, path):
    res = tg.fit(FORMULA, lung, family=family)
    eta = res.predict(path, "latent").to_numpy()
    psi = 40.0 * np.exp(-eta[2]) + 110.0 * np.exp(-eta[0])
    found = res.predict_survival_function(path, [150.0], id="who")["b"].iloc[0]
    if family == "gengamma":
        alike = path.iloc[[0]].assign(stop=1e6)
        t = psi * np.exp(eta[0])  # when a subject who always had the last covariates would have lived as much
        want = res.predict_survival_function(alike, [t]).iloc[0, 0]
    else:
        z = np.log(psi) / res.params["sigma"]
        want = weibull_min.sf(np.exp(z), 1.0) if family == "weibull" else norm.sf(z)
    assert found == pytest.approx(want, rel=1e-9)
    h = 1e-4
    risen = res.predict_cumulative_hazard(path, [150.0 - h, 150.0 + h], id="who")["b"]
    hazard = res.predict_hazard(path, [150.0], id="who")["b"].iloc[0]
    assert hazard == pytest.approx(np.diff(risen)[0] / (2.0 * h), rel=1e-5)


@pytest.mark.parametrize("of", CURVES)
def test_bands_are_those_of_the_delta_method(of, lung, path):
    res = tg.fit(FORMULA, lung, family="gengamma")
    theta, V = res.parts.maximum.parameters, np.asarray(res.parts.covariance)
    centre, link = res.parts.centre, (lambda p: np.log(p / (1 - p))) if of == "survival_function" else np.log

    def linked(theta):
        H = np.column_stack([np.ones(3), path[["age", "sex"]]]) - centre
        eta = H @ theta[:3]
        psi = 40.0 * np.exp(-eta[2]) + 110.0 * np.exp(-eta[0])
        noise = res.parts.family.distribution.at_coordinate(theta[4])
        y = LocationScale(noise, np.zeros(1), np.exp(theta[3:4]), log=True)
        value = {
            "survival_function": np.exp(y.logsf(np.array([psi]))),
            "cumulative_hazard": -y.logsf(np.array([psi])),
            "hazard": np.exp(y.log_hazard(np.array([psi])) - eta[0]),
        }
        return link(value[of])[0]

    h = 1e-5
    slope = np.array([(linked(theta + h * e) - linked(theta - h * e)) / (2 * h) for e in np.eye(5)])
    error = norm.ppf(0.95) * np.sqrt(slope @ V @ slope)
    found = curve(res, of, path, [150.0], id="who", interval=0.9)["b"].iloc[0]
    np.testing.assert_allclose(link(found[["mean", "median"]]), linked(theta), rtol=1e-8)
    np.testing.assert_allclose(link(found[["lower", "upper"]]), linked(theta) + error * np.array([-1, 1]), rtol=1e-4)


def test_a_path_that_begins_late_is_given_survival_so_far(piecewise, weibull, path):
    late = path.iloc[[0]]
    found = piecewise.predict_survival_function(late, [39.0, 40.0, 150.0, 301.0], id="who")["b"]
    want = piecewise.predict_survival_function(late, [110.0], conditional_after=40.0).iloc[0, 0]
    np.testing.assert_allclose(found, [np.nan, 1.0, want, np.nan], rtol=1e-9)
    with pytest.raises(DataError, match="Row 0 of id=b does not begin at time 0"):
        weibull.predict_survival_function(late, [100.0], id="who")


def test_a_subject_with_a_missing_value_has_no_curve(piecewise, weibull, path):
    path.loc[0, "age"] = np.nan
    for res in (piecewise, weibull):
        found = res.predict_survival_function(path, [10.0, 150.0], id="who", interval=0.9)
        assert found["b"].isna().all().all()
        assert found["a"].notna().all().all()
        path.loc[1, "stop"] = np.nan
        assert res.predict_survival_function(path, [10.0], id="who").isna().all().all()
        path.loc[1, "stop"] = 1000.0


@pytest.mark.parametrize("of", CURVES)
@pytest.mark.parametrize("fit", ["weibull", "piecewise", "smooth"])
def test_time_begins_at_zero_as_in_fits_and_a_last_row_may_have_no_end(request, fit, of, path):
    res = request.getfixturevalue(fit)
    open_ended = path.assign(start=[40.0, -np.inf, -25.0], stop=[np.inf, np.inf, 40.0])
    found = curve(res, of, open_ended, TIMES, id="who", interval=0.8)
    want = curve(res, of, path.assign(stop=[900.0, 900.0, 40.0]), TIMES, id="who", interval=0.8)
    assert found.notna().all().all()
    np.testing.assert_allclose(found, want, rtol=1e-9)
    with pytest.raises(DataError, match="Row 1 ends at 0, not after its start"):
        curve(res, of, path.assign(start=[40.0, -9.0, 0.0], stop=[90.0, 0.0, 40.0]), TIMES, id="who")


def test_no_time_has_a_cumulative_hazard_of_plus_zero(smooth, path):
    found = smooth.predict_cumulative_hazard(path, [0.0], id="who")
    assert not np.signbit(found).any().any()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"start": [41.0, 0.0, 0.0]}, "Row 0 of id=b follows a gap in time"),
        ({"start": [30.0, 0.0, 0.0]}, "overlap"),
        ({"stop": [20.0, 9.0, 40.0]}, "ends at 20, not after its start"),
    ],
)
def test_rows_that_are_no_path(piecewise, path, change, words):
    with pytest.raises(DataError, match=words):
        piecewise.predict_survival_function(path.assign(**change), [10.0], id="who")


def test_who_has_no_path(lung, weibull, piecewise, path):
    ask = dict(times=[10.0], id="who")
    with pytest.raises(SpecError, match="id='nobody'"):
        weibull.predict_survival_function(path, [10.0], id="nobody")
    with pytest.raises(SpecError, match="id=a Series: id must be the name of the column"):
        weibull.predict_survival_function(path, [10.0], id=path["who"])
    with pytest.raises(SpecError, match="id= requires df="):
        weibull.predict_survival_function(**ask)
    with pytest.raises(SpecError, match="conditional_after= cannot be combined with id="):
        weibull.predict_survival_function(path, conditional_after=5.0, **ask)
    with pytest.raises(SpecError, match="lack 'stop'"):
        weibull.predict_survival_function(path.drop(columns="stop"), **ask)
    with pytest.raises(SpecError, match=r"was written Surv\(stop, event\)"):
        tg.fit("Surv(stop, event) ~ age", lung, family="weibull").predict_survival_function(path, **ask)
    with pytest.raises(SpecError, match="after the last exit"):
        piecewise.predict_survival_function(path.assign(stop=[300.0, 5000.0, 40.0]), [4000.0], id="who")
    normal = tg.fit(FORMULA, lung, family="gaussian")
    scaled = tg.fit(FORMULA, lung, family="weibull", sigma="~ age")
    for res in (normal, scaled):
        with pytest.raises(SpecError, match="no accelerated time"):
            res.predict_survival_function(path, **ask)
    with pytest.raises(SpecError, match="by maximum likelihood, or family='ph'"):
        tg.fit(FORMULA, lung, family="weibull", method=tg.EP(hyper="maximize")).predict_hazard(path, **ask)
    cured = tg.datasets.simulate_cure(n=400, rng=1).assign(start=0.0)
    res = tg.fit("Surv(start, time, event) ~ treated", cured, family="weibull", cure="~ 1")
    with pytest.raises(SpecError, match="by maximum likelihood, or family='ph'"):
        res.predict_survival_function(cured.head(3).assign(who=[1, 2, 3]), **ask)


@pytest.mark.slow
def test_strata_processes_and_changing_effects_have_paths(lung, path):
    formula = "Surv(start, stop, event) ~ tv(age) + strata(sex)"
    res = tg.fit(formula, lung, family=tg.PH("gp", bands=12), method=tg.EP(hyper="maximize"))
    whole = path.iloc[[1]]
    found = res.predict_survival_function(
        pd.concat([whole.assign(stop=77.0), whole.assign(start=77.0)]), [150.0], id="who"
    )
    assert found.iloc[0, 0] == pytest.approx(res.predict_survival_function(whole, [150.0]).iloc[0, 0], rel=1e-9)
    both = res.predict_cumulative_hazard(path, [30.0, 40.0, 150.0], id="who", exclude=())["b"]
    assert both.is_monotonic_increasing
