"""Survival of fits of every kind: the same distributions for all, other programs, quadrature and draws for each."""

import numpy as np
import pandas as pd
import pytest
from lifelines import LogLogisticAFTFitter, LogNormalAFTFitter, WeibullAFTFitter
from scipy import stats as st
from scipy.integrate import quad
from scipy.special import ndtri
from support.posteriors import nodes

import tobitgp as tg
from tobitgp.distributions.symmetric_noise import Logistic
from tobitgp.errors import ApproximationWarning, DataError, SpecError
from tobitgp.kinds.process_nodes import nodes_of
from tobitgp.posterior.questions import cumulative_hazard
from tobitgp.results import rows as of_rows

pytestmark = pytest.mark.diagonal

TIMES = np.array([1.0, 30.0, 100.0, 365.0, 900.0])
AFTER = np.array([0.0, 100.0, 500.0])
FORMULA = "Surv(time, event) ~ age + sex"


@pytest.fixture(scope="module")
def data():
    lung = tg.datasets.load("lung")[["time", "event", "age", "sex"]]
    return lung.set_index("p" + lung.index.astype(str))


@pytest.fixture(scope="module")
def fits(data):
    made = {}

    def fit(kind):
        if kind not in made:
            method, family = kind.split()
            if method == "mixture":
                made[kind] = tg.fit("Surv(time, event) ~ mixture(2)", data, family=family)
            elif method == "mle":
                made[kind] = tg.fit(FORMULA, data, family=family)
            else:
                rhs = "gp(age) + sex"
                response = "Surv(log(time), event)" if family in ("gaussian", "student") else "Surv(time, event)"
                family = tg.Student(df=3) if family == "student" else family
                hyper = "integrate" if method == "gp" else "maximize"
                made[kind] = tg.fit(f"{response} ~ {rhs}", data, family=family, method=tg.EP(hyper=hyper))
        return made[kind]

    return fit


KINDS = ["gp lognormal", "gp weibull", "point loglogistic", "mle weibull", "mle lognormal", "mixture weibull"]
every_kind = pytest.mark.parametrize("kind", KINDS)


# -- what holds of all of them ------------------------------------------------------------------------------------


@every_kind
def test_curves_agree_with_each_other(fits, data, kind):
    res, rows = fits(kind), data.iloc[:3]
    S = res.predict_survival_function(rows, np.geomspace(1e-6, 1e6, 400))
    assert S.columns.equals(rows.index)
    assert (S.iloc[0] > 1.0 - 1e-4).all()
    assert (S.iloc[-1] < 1e-4).all()
    assert (S.diff().iloc[1:] <= 0.0).all(axis=None)
    times = np.concatenate([TIMES - 1e-3, TIMES, TIMES + 1e-3])
    for after in (None, AFTER):
        H = res.predict_cumulative_hazard(rows, times, conditional_after=after).to_numpy()
        S = res.predict_survival_function(rows, times, conditional_after=after).to_numpy()
        np.testing.assert_allclose(np.exp(-H), S, rtol=1e-9)
        hazard = res.predict_hazard(rows, TIMES, conditional_after=after).to_numpy()
        np.testing.assert_allclose((H[10:] - H[:5]) / 2e-3, hazard, rtol=1e-5)


@every_kind
def test_conditional_curves(fits, data, kind):
    res, rows = fits(kind), data.iloc[:3]
    ahead = res.predict_survival_function(rows, TIMES, conditional_after=AFTER)
    for row, after in zip(rows.index, AFTER, strict=True):
        whole = res.predict_survival_function(rows.loc[[row]], [after, *(after + TIMES)])[row].to_numpy()
        np.testing.assert_allclose(ahead[row], whole[1:] / whole[0], rtol=1e-9)
    np.testing.assert_allclose(
        res.predict_survival_function(rows, TIMES, conditional_after=0.0),
        res.predict_survival_function(rows, TIMES),
        rtol=1e-10,
    )


@every_kind
@pytest.mark.parametrize("p", [0.9, 0.5, 0.01])
def test_percentiles_invert_survival(fits, data, kind, p):
    res, rows = fits(kind), data.iloc[:3]
    for after in (None, 250.0, AFTER):
        at = res.predict_percentile(rows, p=p, conditional_after=after)
        assert at.index.equals(rows.index)
        S = res.predict_survival_function(rows, at.to_numpy(), conditional_after=after)
        np.testing.assert_allclose(np.diag(S), p, rtol=1e-7)
    np.testing.assert_allclose(res.predict_median(rows), res.predict_percentile(rows, p=0.5))
    want = res.predict(rows, "quantile", q=1.0 - p)
    np.testing.assert_allclose(res.predict_percentile(rows, p=p), want, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:The restricted mean up to")
@every_kind
def test_restricted_means_are_areas(fits, data, kind):
    res, rows = fits(kind), data.iloc[:2]
    for after in (None, np.array([50.0, 400.0])):
        found = res.predict_restricted_mean(rows, [200.0, 700.0], conditional_after=after)
        for i, row in enumerate(rows.index):
            for t in (200.0, 700.0):

                def survive(u, i=i, after=after):
                    given = None if after is None else after[i]
                    one = res.predict_survival_function(rows.iloc[[i]], np.atleast_1d(u), conditional_after=given)
                    return one.to_numpy()[:, 0]

                nodes, weights = np.polynomial.legendre.leggauss(60)
                v = 0.5 * (nodes + 1.0)
                area = t * (survive(t * v**2) * v) @ weights
                np.testing.assert_allclose(found.loc[row, t], area, rtol=1e-6)
    one = res.predict_restricted_mean(rows, 200.0)
    assert one.name == 200.0
    bands = res.predict_restricted_mean(rows, 200.0, interval=0.9)
    assert ((bands["lower"] < bands["mean"]) & (bands["mean"] < bands["upper"])).all()
    np.testing.assert_allclose(bands["mean"], one)
    assert res.predict_restricted_mean(rows, [200, 700], interval=0.9).columns.tolist()[4] == (700.0, "mean")


@every_kind
@pytest.mark.parametrize("after", [None, 200.0])
def test_bands_hold_their_median_and_grow(fits, data, kind, after):
    res, rows = fits(kind), data.iloc[:2]
    for ask in (res.predict_survival_function, res.predict_cumulative_hazard, res.predict_hazard):
        wide = ask(rows, TIMES, conditional_after=after, interval=0.95)
        narrow = ask(rows, TIMES, conditional_after=after, interval=0.5)
        assert wide.columns.names == ["row", "statistic"]
        alone = ask(rows, TIMES, conditional_after=after)
        for row in rows.index:
            np.testing.assert_allclose(wide[row]["mean"], alone[row], rtol=1e-12)
            assert wide[row].columns.tolist() == ["mean", "median", "lower", "upper"]
            np.testing.assert_allclose(wide[row]["median"], narrow[row]["median"], rtol=1e-12)
            ends = [one[row][end] for one, end in [(wide, "lower"), (narrow, "lower"), (wide, "median")]]
            ends += [narrow[row]["upper"], wide[row]["upper"]]
            assert (np.diff(np.stack(ends), axis=0) > 0.0).all()


@pytest.mark.filterwarnings("ignore:The restricted mean up to")
@every_kind
def test_expectations(fits, data, kind):
    res, rows = fits(kind), data.iloc[:2]
    found = res.predict_expectation(rows)
    np.testing.assert_allclose(found, res.predict(rows, "uncensored"))
    long = res.predict_restricted_mean(rows, 1e7)
    np.testing.assert_allclose(found, long, rtol=1e-3)


@every_kind
def test_defaults_are_the_training_rows_and_times(fits, data, kind):
    res = fits(kind)
    table = res.predict_survival_function()
    assert table.index.tolist() == sorted(set(data["time"]))
    if "mixture" not in kind:
        assert table.columns.equals(data.index)
        np.testing.assert_array_equal(table, res.predict_survival_function(data))
        assert res.predict_median().index.equals(data.index)


@pytest.mark.parametrize("kind", ["gp weibull", "mle weibull"])
def test_rows_that_lack_an_input_are_nan(fits, data, kind):
    rows = data.iloc[:3].assign(age=[50.0, np.nan, 60.0])
    res = fits(kind)
    table = res.predict_survival_function(rows, TIMES, interval=0.9)
    assert table["p1"].isna().all(axis=None)
    assert table[["p0", "p2"]].notna().all(axis=None)
    assert res.predict_median(rows, conditional_after=[1.0, 2.0, 3.0]).isna().tolist() == [False, True, False]
    assert res.predict_restricted_mean(rows, 100.0).isna().tolist() == [False, True, False]
    assert res.predict_survival_function(rows.iloc[1:2], TIMES, interval=0.9).isna().all(axis=None)
    assert res.predict_survival_function(rows.iloc[:0], TIMES).shape == (5, 0)


@every_kind
@pytest.mark.slow_cases("gp weibull")
def test_far_out_nothing_is_nan(fits, data, kind):
    res, rows = fits(kind), data.iloc[:1]
    times = [0.0, 1e-200, 1e-10, 1e10, 1e50]
    for after in (None, 0.0, 1e5):
        for interval in (None, 0.9):
            made = [
                res.predict_survival_function(rows, times, conditional_after=after, interval=interval),
                res.predict_cumulative_hazard(rows, times, conditional_after=after, interval=interval),
                res.predict_hazard(rows, times[1:], conditional_after=after, interval=interval),
            ]
            for table in made:
                # Bands of a mixture are NaN where its slopes cannot be formed.
                values = table.xs("mean", axis=1, level="statistic") if interval and "mixture" in kind else table
                assert values.notna().all(axis=None)


@pytest.mark.slow
@every_kind
def test_times_survived_find_their_rows_by_labels(fits, data, kind):
    res, rows = fits(kind), data.iloc[:3]
    given = pd.Series(AFTER, rows.index)
    for after in (given, given.iloc[[2, 0, 1]]):
        options = {"conditional_after": after}
        plain = {"conditional_after": AFTER}
        for name in ("survival_function", "cumulative_hazard", "hazard"):
            ask = getattr(res, f"predict_{name}")
            pd.testing.assert_frame_equal(ask(rows, TIMES, **options), ask(rows, TIMES, **plain))
        pd.testing.assert_series_equal(res.predict_median(rows, **options), res.predict_median(rows, **plain))
        pd.testing.assert_series_equal(
            res.predict_restricted_mean(rows, 300.0, **options), res.predict_restricted_mean(rows, 300.0, **plain)
        )
    words = r"conditional_after= are a Series with labels .*, e.g. 0. .*conditional_after.to_numpy\(\)"
    with pytest.raises(DataError, match=words):
        res.predict_survival_function(rows, TIMES, conditional_after=pd.Series(AFTER))
    with pytest.raises(DataError, match="occurs twice"):
        res.predict_median(rows, conditional_after=given.set_axis(rows.index[[0, 0, 1]]))
    with pytest.raises(SpecError, match="each of the 3 rows"):
        res.predict_median(rows, conditional_after=given.iloc[:2])


@every_kind
@pytest.mark.parametrize("interval", [None, 0.9])
def test_no_times_are_refused(fits, data, kind, interval):
    for name in ("survival_function", "cumulative_hazard", "hazard"):
        with pytest.raises(SpecError, match="times= must be a list of finite numbers"):
            getattr(fits(kind), f"predict_{name}")(data.iloc[:3], times=[], interval=interval)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gp weibull", "mle weibull"])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"times": ["a"]}, "times="),
        ({"times": [1.0], "conditional_after": [1.0, 2.0]}, "each of the 3 rows"),
        ({"times": [1.0], "interval": 2.0}, "interval="),
        ({"times": [1.0], "exclude": "z"}, "z"),
    ],
)
def test_curves_that_make_no_sense(fits, data, kind, options, words):
    res, rows = fits(kind), data.iloc[:3]
    with pytest.raises(SpecError, match=words):
        res.predict_survival_function(rows, **options)
    for t in (None, -1.0, [], "a", [[1.0]]):
        with pytest.raises(SpecError, match="t="):
            res.predict_restricted_mean(rows, t)
    with pytest.raises(SpecError, match="conditional_after"):
        res.predict_restricted_mean(rows, 1.0, conditional_after=1.0, interval=0.9)
    with pytest.raises(SpecError, match="scoring_method="):
        res.score(data, "brier")
    with pytest.raises(SpecError, match=r"score\(\) requires the response"):
        res.score(data[["age", "sex"]])
    with pytest.raises(SpecError, match="these data have none"):
        res.score(rows.assign(time=np.nan))


def test_fits_without_rows_want_them(fits, data, tmp_path):
    fits("mle weibull").save(tmp_path / "fit.tgp")
    loaded = tg.load(tmp_path / "fit.tgp")
    with pytest.raises(SpecError, match=r"give times="):
        loaded.predict_survival_function(data)
    with pytest.raises(SpecError, match=r"give df="):
        loaded.predict_median()
    want = fits("mle weibull").predict_survival_function(data, TIMES, interval=0.9)
    pd.testing.assert_frame_equal(loaded.predict_survival_function(data, TIMES, interval=0.9), want)
    assert loaded.score(data) == fits("mle weibull").score(data)


def test_lazy_rows_are_refused(fits, data):
    dask = pytest.importorskip("dask.dataframe")
    lazy, res = dask.from_pandas(data, npartitions=2), fits("mle weibull")
    for ask in (res.predict_survival_function, res.predict_median, res.predict_expectation, res.score):
        with pytest.raises(SpecError, match="in memory"):
            ask(lazy)


# -- regressions -----------------------------------------------------------------------------------------------------

FITTERS = {"weibull": WeibullAFTFitter, "lognormal": LogNormalAFTFitter, "loglogistic": LogLogisticAFTFitter}


def peer(family, frame, time):
    """A fitter of lifelines, and our fit at its estimates, where its search left them."""
    with np.errstate(all="ignore"):
        fitter = FITTERS[family]().fit(frame, time, "event")
    first, second = fitter.params_.index.get_level_values(0).unique().sort_values()
    if family == "lognormal":
        first, second = "mu_", "sigma_"
    sign = 1.0 if family == "lognormal" else -1.0
    fixed = fitter.params_[first].to_dict() | {"sigma": float(np.exp(sign * fitter.params_[second]["Intercept"]))}
    others = " + ".join(name for name in frame if name not in (time, "event"))
    return fitter, tg.fit(f"Surv({time}, event) ~ {others}", frame, family=family, fixed=fixed)


@pytest.mark.slow
@pytest.mark.parametrize("family", FITTERS)
@pytest.mark.parametrize("name", ["lung", "rossi"])
def test_curves_are_those_of_lifelines(family, name, data):
    frame = (data if name == "lung" else tg.datasets.load("rossi")).astype(np.float64)
    fitter, res = peer(family, frame, "time" if name == "lung" else "week")
    rows, after = frame.iloc[[0, 5, 17]], np.array([0.5, 3.0, 20.0])
    times, close = [1.0, 5.0, 20.0, 50.0], {"rtol": 1e-7, "atol": 1e-12}
    for given in (None, after):
        options = {"times": times, "conditional_after": given}
        for ask in ("predict_survival_function", "predict_cumulative_hazard"):
            mine, theirs = (getattr(one, ask)(rows, **options) for one in (res, fitter))
            np.testing.assert_allclose(mine, theirs, **close)
            assert mine.columns.equals(theirs.columns)
            np.testing.assert_array_equal(mine.index, theirs.index)
        mine, theirs = (one.predict_median(rows, conditional_after=given) for one in (res, fitter))
        np.testing.assert_allclose(mine, theirs, **close)
    np.testing.assert_allclose(res.predict_hazard(rows, times), fitter.predict_hazard(rows, times=times), **close)
    np.testing.assert_allclose(res.predict_percentile(rows, p=0.8), fitter.predict_percentile(rows, p=0.8), **close)
    np.testing.assert_allclose(res.predict_expectation(rows), fitter.predict_expectation(rows), **close)
    np.testing.assert_allclose(res.score(frame), fitter.score(frame), rtol=1e-10)


def test_scores_with_late_entry_are_those_of_lifelines():
    rng = np.random.default_rng(2)
    x = rng.normal(size=400)
    time, entry = np.exp(1.0 + 0.5 * x) * rng.weibull(1.5, 400), rng.uniform(0.0, 2.0, 400)
    frame = pd.DataFrame({"time": time, "entry": entry, "x": x, "event": 1.0})[time > entry]
    fitter = WeibullAFTFitter().fit(frame, "time", "event", entry_col="entry")
    res = tg.fit("Surv(entry, time, event) ~ x", frame, family="weibull")
    np.testing.assert_allclose(res.score(frame), fitter.score(frame), rtol=1e-6)
    np.testing.assert_allclose(res.score(frame), res.llf / res.nobs, rtol=1e-12)
    with pytest.raises(SpecError, match="'entry'"):
        res.score(frame.drop(columns="entry"))
    S = res.predict_survival_function(frame.iloc[:2].drop(columns="entry"), [1.0, 3.0])
    with np.errstate(all="ignore"):
        theirs = fitter.predict_survival_function(frame.iloc[:2], [1.0, 3.0])
    np.testing.assert_allclose(S, theirs, rtol=1e-4)


@pytest.mark.parametrize("family", ["weibull", "gaussian", "student"])
def test_bands_of_regressions_are_those_of_draws(family, data):
    """Where the quantity is nearly normal on its link the delta method is what normal estimates say."""
    res = tg.fit(FORMULA.replace("time,", "log(time),") if family != "weibull" else FORMULA, data, family=family)
    rows, times = data.iloc[:1], np.array([200.0, 500.0])
    times = times if family == "weibull" else np.log(times)
    band = res.predict_survival_function(rows, times, interval=0.9)["p0"]
    prob = res.predict(rows, "prob", above=list(times), interval=0.9)
    for t, found in zip(times, band.itertuples(), strict=True):
        np.testing.assert_allclose(
            [found.mean, found.lower, found.upper], prob[t][["estimate", "lower", "upper"]].iloc[0]
        )
    H = res.predict_cumulative_hazard(rows, times, interval=0.9)["p0"]
    z = float(ndtri(0.95))
    se = np.log(H["upper"] / H["lower"]) / (2.0 * z) * H["mean"]
    se_prob = res.predict(rows, "prob", above=list(times), se=True).xs("se", axis=1, level=1).iloc[0]
    np.testing.assert_allclose(se, se_prob.to_numpy() / band["mean"].to_numpy(), rtol=1e-6)


def test_responses_before_a_logarithm_and_after_it(data):
    one = tg.fit("Surv(log(time), event) ~ age", data, family="gaussian")
    other = tg.fit("Surv(time, event) ~ age", data, family="lognormal")
    rows = data.iloc[:2]
    for ask in ("predict_survival_function", "predict_cumulative_hazard"):
        mine, theirs = getattr(one, ask)(rows, np.log(TIMES)), getattr(other, ask)(rows, TIMES)
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    np.testing.assert_allclose(
        one.predict_hazard(rows, np.log(TIMES)), other.predict_hazard(rows, TIMES).mul(TIMES, axis=0), rtol=1e-6
    )
    np.testing.assert_allclose(np.exp(one.predict_median(rows)), other.predict_median(rows), rtol=1e-6)
    jacobian = np.log(data["time"])[data["event"] == 1].sum() / len(data)
    np.testing.assert_allclose(other.score(data), one.score(data) - jacobian, rtol=1e-10)


# -- processes -------------------------------------------------------------------------------------------------------


def posterior(res, row):
    """Weights, means and sds of f, and scales and distributions of the noise, of one row."""
    q = nodes_of(res.parts, of_rows.ask(res.parts, row).design)
    return q.weight, q.mean[:, 0], q.sd[:, 0], q.sigma[:, 0], q.noises


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gp lognormal", "gp weibull", "point loglogistic", "point student"])
def test_means_are_integrals_over_the_posterior(fits, data, kind):
    res, row = fits(kind), data.iloc[[4]]
    weight, mean, sd, sigma, distributions = posterior(res, row)
    for t in (50.0, 400.0, 5000.0):
        y, total = np.log(t), 0.0
        for w, m, s, sg, distribution in zip(weight, mean, sd, sigma, distributions, strict=True):

            def inside(x, m=m, s=s, sg=sg, distribution=distribution, y=y):
                return float(np.exp(distribution.log_sf(np.array([(y - m - s * x) / sg]))[0])) * st.norm.pdf(x)

            total += w * quad(inside, -9.0, 12.0, epsabs=0.0, epsrel=1e-9, limit=300)[0]
        at = t if res.parts.family.log_time else y
        np.testing.assert_allclose(res.predict_survival_function(row, [at]).iloc[0, 0], total, rtol=1e-7)
    point = res.predict(row, "prob", above=at, interval=0.8).iloc[0]
    band = res.predict_survival_function(row, [at], interval=0.8).iloc[0]
    mean, _, lower, upper = band
    np.testing.assert_allclose(
        point[["estimate", "lower", "upper"]], [mean, min(lower, mean), max(upper, mean)], rtol=1e-7
    )
    H = res.predict_cumulative_hazard(row, [at], interval=0.8).iloc[0]
    np.testing.assert_allclose(np.exp(-H), band.iloc[[0, 1, 3, 2]], rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["gp lognormal", "gp weibull", "point loglogistic", "point student", "point gaussian", "point weibull"]
)
def test_bands_are_those_of_draws(fits, data, kind):
    """Every draw of f and the noise counts the same, while means are of the predictive distribution."""
    res, row, rng = fits(kind), data.iloc[[4]], np.random.default_rng(1)
    weight, mean, sd, sigma, distributions = posterior(res, row)
    n = 400_000
    j = rng.choice(len(weight), n, p=weight)
    f = mean[j] + sd[j] * rng.standard_normal(n)
    log_time = res.parts.family.log_time
    (a, t) = (300.0, 500.0) if log_time else (5.0, 1.0)
    ends = np.log([a, a + t]) if log_time else np.array([a, a + t])
    sf, rate = np.empty((2, n)), np.empty(n)
    for k, distribution in enumerate(distributions):
        at = j == k
        for i in (0, 1):
            sf[i, at] = distribution.log_sf((ends[i] - f[at]) / sigma[k])
        rate[at] = -distribution.upper_tail((ends[0] - f[at]) / sigma[k]).d1 / sigma[k] / (a if log_time else 1.0)
    alive = np.exp(sf[0]) / np.exp(sf[0]).sum()

    def check(values, table):
        want = [alive @ values, *np.quantile(values, [0.5, 0.05, 0.95])]
        np.testing.assert_allclose(table.iloc[0], want, rtol=6e-3)

    options = {"times": [t], "conditional_after": a, "interval": 0.9}
    check(np.exp(sf[1] - sf[0]), res.predict_survival_function(row, **options))
    check(rate, res.predict_hazard(row, times=[a], interval=0.9))
    check(rate, res.predict_hazard(row, times=[0.0], conditional_after=a, interval=0.9))
    H = res.predict_cumulative_hazard(row, **options).iloc[0, 1:]
    np.testing.assert_allclose(H, np.quantile(sf[0] - sf[1], [0.5, 0.05, 0.95]), rtol=6e-3)
    start = 1e-12 if log_time else -1e3
    late = res.predict_survival_function(row, [t - start], conditional_after=start, interval=0.9)
    np.testing.assert_allclose(late, res.predict_survival_function(row, [t], interval=0.9), rtol=1e-3)


def test_the_same_model_by_two_methods_says_the_same_at_late_times(data):
    """The longest time is 1022 days.

    Medians of the exact posterior are 2 to 5.2% below the maximum of the likelihood: 228 rows leave the shape open.
    """
    likely, bayes = (tg.fit(FORMULA, data, family="weibull", method=method) for method in ("mle", "ep"))
    row, times = data.iloc[[4]], np.array([365.0, 1000.0, 3000.0])
    theta, weight = weibull_posterior(data, bayes)
    sigma, m = np.exp(theta[:, 3:]), theta[:, :3] @ [1.0, *row[["age", "sex"]].to_numpy()[0]]
    after = np.exp((np.log(1000.0 + np.r_[0.0, times]) - m[:, None]) / sigma)
    hazards = np.exp((np.log(times) - m[:, None]) / sigma) / (sigma * times)
    for ask, options, exact in [
        ("predict_hazard", {}, hazards),
        ("predict_cumulative_hazard", {"conditional_after": 1000.0}, after[:, 1:] - after[:, :1]),
    ]:
        one, other = (getattr(res, ask)(row, times, interval=0.95, **options)["p4"] for res in (likely, bayes))
        ends = np.array([quantiles(column, weight, [0.5, 0.025, 0.975]) for column in exact.T]).T
        np.testing.assert_allclose(other["median"], ends[0], rtol=0.01)
        np.testing.assert_allclose(other["median"], one["median"], rtol=0.06)
        for name, end in zip(("lower", "upper"), ends[1:], strict=True):
            np.testing.assert_allclose(other[name], end, rtol=0.04)
            np.testing.assert_allclose(other[name], one[name], rtol=0.12)


def quantiles(values, weight, levels):
    """Quantiles of weighted draws."""
    order = np.argsort(values)
    return values[order][np.searchsorted(np.cumsum(weight[order]), levels)]


def weibull_posterior(data, res, draws=10_000):
    """Importance draws of coefficients and log sigma under the priors of a fit, and their weights."""
    centre = np.r_[res.params.iloc[:3], np.log(res.params["sigma"])]
    spread = np.diag(np.r_[np.zeros(3), (res.bse["sigma"] / res.params["sigma"]) ** 2])
    spread[:3, :3] = np.asarray(res.cov_params())[:3, :3]
    proposal = st.multivariate_t(centre, 1.3 * spread, df=6, seed=1)
    theta = proposal.rvs(draws)
    design = np.column_stack([np.ones(len(data)), data["age"], data["sex"]])
    z = (np.log(data["time"].to_numpy()) - theta[:, :3] @ design.T) / np.exp(theta[:, 3:])
    value = (data["event"].to_numpy() * (z - theta[:, 3:]) - np.exp(z)).sum(axis=1)
    value += st.norm.logpdf(theta[:, 1:3], 0.0, res.priors.loc[["age", "sex"], "spread"].to_numpy(float)).sum(axis=1)
    _, median, log_sd, _ = res.priors.loc["sigma"]
    value += st.norm.logpdf(theta[:, 3], np.log(median), log_sd) - proposal.logpdf(theta)
    weight = np.exp(value - value.max())
    return theta, weight / weight.sum()


def test_samples_live_as_long_as_their_curve_says(fits, data):
    res, row = fits("gp weibull"), data.iloc[[4]]
    y = res.sample(row, draws=40_000, rng=3).to_numpy()[0]
    S = res.predict_survival_function(row, TIMES).to_numpy()[:, 0]
    np.testing.assert_allclose((y[:, None] > TIMES).mean(axis=0), S, atol=0.01)


def test_wide_posteriors_have_precise_bands():
    """A posterior of f much wider than the noise."""
    q = nodes(np.ones(1), np.zeros((1, 1)), np.full((1, 1), 1.0), np.array([0.1]), noises=(Logistic(),))
    f = st.norm.isf([0.05, 0.5, 0.95])
    want = Logistic().log_sf((0.4 - f) / 0.1) - Logistic().log_sf((1.2 - f) / 0.1)
    since = cumulative_hazard(False, np.array([[1.2]]), np.array([[0.4]]))
    found = q.spread_over().quantiles(since, (0.05, 0.5, 0.95))
    np.testing.assert_allclose(np.ravel(found), want, rtol=1e-3)


def test_likelihoods_of_new_rows_are_predictive_densities(fits, data):
    res = fits("gp lognormal")
    rows = data.iloc[[1, 2, 5, 6]].assign(time=[100.0, 250.0, 300.0, 900.0], event=[1, 1, 0, 0])
    h = 1e-3
    times = rows["time"].to_numpy()
    S = np.array([np.diag(res.predict_survival_function(rows, times + step)) for step in (-h, 0.0, h)])
    want = np.where(rows["event"] == 1, np.log((S[0] - S[2]) / (2.0 * h)), np.log(S[1]))
    np.testing.assert_allclose(res.score(rows), want.mean(), rtol=1e-7)
    extra = pd.concat([rows, rows.iloc[:1].assign(time=np.nan), rows.iloc[:1].assign(age=np.nan)])
    np.testing.assert_allclose(res.score(extra), res.score(rows))


def test_rows_alike_share_their_curve(fits, data):
    res = fits("gp weibull")
    rows = data.iloc[[1, 2, 1, 2, 2]]
    table = res.predict_hazard(rows, TIMES, conditional_after=[1.0, 2.0, 1.0, 2.0, 3.0], interval=0.9)
    values = table.to_numpy().reshape(5, 5, 4)
    np.testing.assert_array_equal(values[:, [0, 1]], values[:, [2, 3]])
    for i, after in enumerate((1.0, 2.0, 1.0, 2.0, 3.0)):
        alone = res.predict_hazard(rows.iloc[[i]], TIMES, conditional_after=after, interval=0.9)
        np.testing.assert_allclose(values[:, i], alone, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gp weibull", "point student"])
def test_many_rows_have_the_curves_of_few(fits, data, kind):
    res = fits(kind)
    rows = pd.DataFrame({"age": np.linspace(40.0, 80.0, 700), "sex": np.tile([1, 2], 350)})
    times = np.linspace(20.0, 1200.0, 100)
    times = times if res.parts.family.log_time else np.log(times)
    for ask in (res.predict_survival_function, res.predict_hazard):
        many, few = ask(rows, times), ask(rows.iloc[::100], times)
        np.testing.assert_allclose(many[few.columns], few, rtol=1e-6)


def test_excluded_terms_need_no_columns(fits):
    res = fits("gp weibull")
    found = res.predict_survival_function({"sex": [1, 2]}, TIMES, exclude="gp(age)")
    prob = res.predict({"sex": [1, 2]}, "prob", above=list(TIMES), exclude="gp(age)")
    np.testing.assert_allclose(found.T, prob, rtol=1e-8)


# -- order -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gp weibull", "mle weibull"])
def test_concordance_is_that_of_lifelines(fits, data, kind):
    pytest.importorskip("tobitgp.metrics")
    from lifelines.utils import concordance_index

    res = fits(kind)
    want = concordance_index(data["time"], res.predict_median(data), data["event"])
    np.testing.assert_allclose(res.concordance_index_, want, rtol=1e-12)
    np.testing.assert_allclose(res.score(data, "concordance_index"), want, rtol=1e-12)
    half = data.iloc[::2]
    want = concordance_index(half["time"], res.predict_median(half), half["event"])
    np.testing.assert_allclose(res.score(half, "concordance_index"), want, rtol=1e-12)


@pytest.mark.slow
def test_a_mixture_has_no_order(fits, data):
    res = fits("mixture weibull")
    with pytest.raises(SpecError, match="concordance is not defined"):
        res.score(data, "concordance_index")
    with pytest.raises(SpecError, match="concordance is not defined"):
        _ = res.concordance_index_


def test_restricted_means_of_counts_are_sums():
    y = np.random.default_rng(3).poisson(4.0, 80).astype(float)
    res = tg.fit("y ~ mixture(1)", {"y": y}, family="poisson")
    distribution = res.predictive
    want = distribution.sf(np.arange(6)).sum() + 0.5 * distribution.sf(6.0)
    found = res.predict_restricted_mean(t=6.5)[0]
    np.testing.assert_allclose(found, want, rtol=1e-10)
    assert res.predict_restricted_mean(t=6.5, interval=0.9).notna().all(axis=None)


def test_rows_with_labels_in_several_columns(fits, data):
    rows = data.iloc[:4].set_axis(pd.MultiIndex.from_product([["a", "b"], [1, 2]]))
    plain = fits("mle weibull").predict_survival_function(data.iloc[:4], TIMES, interval=0.9)
    table = fits("mle weibull").predict_survival_function(rows, TIMES, interval=0.9)
    assert table.columns[0] == (("a", 1), "mean")
    np.testing.assert_array_equal(table, plain)


@pytest.mark.parametrize("family", ["weibull", "boxcox", tg.PH("weibull"), tg.PH("spline")], ids=str)
@pytest.mark.slow_cases("PH(baseline='spline')")
def test_restricted_means_beyond_the_last_time_are_told(family):
    lung = tg.datasets.load("lung")
    res, last = tg.fit("Surv(time, event) ~ age", lung, family=family), lung["time"].max()
    asked = [lambda t: res.predict_restricted_mean(lung[:2], t), lambda t: res.standardise({"age": 60}, "rmst", t)]
    asked.append(lambda t: res.predict_restricted_mean(lung[:2], t - 100.0, conditional_after=100.0))
    if hasattr(res, "marginal_effects"):
        asked.append(lambda t: res.marginal_effects("rmst", times=t))
    for ask in asked:
        ask(last)
        with pytest.warns(ApproximationWarning, match=f"up to 2000 depends on the tail of the family beyond {last}"):
            ask(2000.0)


@pytest.mark.parametrize("family", ["weibull", "gengamma", tg.PH("weibull"), tg.PH("piecewise", bands=3)], ids=str)
def test_times_that_were_survived_are_not_negative(family):
    lung = tg.datasets.load("lung")
    res = tg.fit("Surv(time, event) ~ age", lung, family=family)
    row, before = {"age": [60]}, {"conditional_after": -1.0}
    for ask in (
        lambda: res.predict_survival_function(row, [100.0], **before),
        lambda: res.predict_cumulative_hazard(row, [100.0], **before),
        lambda: res.predict_hazard(row, [100.0], **before),
        lambda: res.predict_median(row, **before),
        lambda: res.predict_percentile(row, p=0.9, **before),
        lambda: res.predict_restricted_mean(row, 100.0, **before),
        lambda: res.standardise(row, times=100.0, **before),
        lambda: tg.contrast(res, {"age": 60}, {"age": 50}, times=100.0, **before),
    ):
        with pytest.raises(SpecError, match="conditional_after=-1: conditional_after must not be negative"):
            ask()
    assert res.predict_survival_function(row, [100.0], conditional_after=0.0).iloc[0, 0] < 1.0


def test_a_response_that_may_be_negative_has_survived_any_number():
    data = pd.DataFrame({"x": np.arange(20.0), "y": np.sin(np.arange(20.0))})
    res = tg.fit("y ~ x", data)
    f, sigma = res.predict({"x": [1.0]}, "latent")[0], res.params["sigma"]
    want = st.norm.sf((-0.5 - f) / sigma) / st.norm.sf((-1.0 - f) / sigma)
    got = res.predict_survival_function({"x": [1.0]}, [0.5], conditional_after=-1.0)
    np.testing.assert_allclose(got.iloc[0, 0], want, rtol=1e-8)
