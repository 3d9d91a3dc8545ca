import re
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from support.rivers import make_daily, make_samples, normalise, pools, years

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, DataError, SpecError

LINEAR = "c ~ decimal_year(date) + log(q)"
CURVES = "c ~ gp(decimal_year(date), name='trend') + gp(log(q), name='flow')"


@pytest.fixture(scope="module")
def daily():
    return make_daily()


@pytest.fixture(scope="module")
def linear(daily):
    return tg.fit(LINEAR, make_samples(daily), family="lognormal")


@pytest.fixture(scope="module")
def curves(daily):
    return tg.fit(CURVES, make_samples(daily), family="lognormal", method=tg.EP(hyper="maximize"))


@pytest.mark.slow
def test_a_line_has_a_closed_form(daily, linear):
    """exp(b0 + b1 t + b2 log q + s^2/2): a ratio of years is exp(b1 years), whatever the discharges."""
    b, se = linear.params, linear.bse
    a, slope, flow = (b.iloc[k] for k in range(3))
    found = tg.flow_normalise(linear, daily, contrasts=[(2001, 2003)], draws=8000, rng=1)
    known = normalise(daily, lambda t, log_q: np.exp(a + slope * t + flow * log_q + b["sigma"] ** 2 / 2))
    np.testing.assert_allclose(found.table["flow_normalised"], known, rtol=3e-3)
    ends = 100 * np.expm1(2 * (slope + np.array([-1, 1]) * norm.ppf(0.95) * se.iloc[1]))
    row = found.contrasts.loc[(2001, 2003)]
    np.testing.assert_allclose(row[["percent_lower", "percent_upper"]].to_numpy(float), ends, rtol=0.04)
    assert row["p_increase"] == pytest.approx(norm.cdf(slope / se.iloc[1]), abs=0.01)
    assert row["slope"] == pytest.approx(row["change"] / 2)


@pytest.mark.slow
def test_loads_of_a_line(daily, linear):
    b = linear.params
    a, slope, flow = (b.iloc[k] for k in range(3))
    found = tg.flow_normalise(linear, daily, what="flux", draws=4000, rng=1).table["flow_normalised"]
    known = normalise(daily, lambda t, lq: np.exp(a + slope * t + flow * lq + b["sigma"] ** 2 / 2), load=True)
    np.testing.assert_allclose(found, known, rtol=5e-3)


def test_a_process_beside_its_predictions_on_all_days(daily, curves):
    """Means of what `predict` says of each day with each of its discharges."""
    rows = list(pools(daily))
    every = daily.loc[np.repeat(np.arange(len(daily)), [len(k) for k in rows]), ["date"]].reset_index(drop=True)
    every["q"] = daily["q"].to_numpy()[np.concatenate(rows)]
    C = curves.predict(every, "uncensored", interval=None)
    of_day = np.array([part.mean() for part in np.split(np.asarray(C), np.cumsum([len(k) for k in rows])[:-1])])
    known = pd.Series(of_day, index=daily["date"].dt.year).groupby(level=0).mean()
    found = tg.flow_normalise(curves, daily, draws=4000, rng=1).table
    se = (found["upper"] - found["lower"]) / (2 * norm.ppf(0.95))
    assert (np.abs(found["flow_normalised"] - known) < 4 * se / np.sqrt(4000) + 1e-3 * known).all()


def test_bands_of_years_are_not_those_of_days(daily, curves):
    days = tg.flow_normalise(curves, daily, by=None, draws=300, rng=1).table
    of_years = tg.flow_normalise(curves, daily, draws=300, rng=1).table
    widths = (days["upper"] - days["lower"]).groupby(days.index.year).mean()
    assert (of_years["upper"] - of_years["lower"] < 0.95 * widths).all()
    means = days["flow_normalised"].groupby(days.index.year).mean()
    np.testing.assert_allclose(of_years["flow_normalised"], means, rtol=1e-10)


def test_the_median_leaves_out_what_noise_adds(daily, linear):
    mean, median = (
        tg.flow_normalise(linear, daily, what=what, draws=50, rng=1).table["flow_normalised"]
        for what in ("concentration", "median")
    )
    np.testing.assert_allclose(mean / median, np.exp(linear.params["sigma"] ** 2 / 2), rtol=1e-3)


def test_excluded_processes_count_as_noise(daily):
    """With little memory the process and the noise share the residual variance."""
    text = LINEAR + " + gp(decimal_year(date), kernel='matern12', name='serial')"
    res = tg.fit(text, make_samples(daily), family="lognormal", fixed={"sd(serial)": 0.15, "lengthscale(serial)": 0.1})
    found = tg.flow_normalise(res, daily, exclude="serial", draws=400, rng=1)
    median = tg.flow_normalise(res, daily, exclude="serial", what="median", draws=400, rng=1)
    ratio = found.table["flow_normalised"] / median.table["flow_normalised"]
    np.testing.assert_allclose(ratio, np.exp((0.15**2 + res.params["sigma"] ** 2) / 2), rtol=3e-3)


def test_windows_reach_the_table(daily, linear):
    wet = daily.assign(q=np.where(daily["date"].dt.year > 2002, 1.2, 0.8) * daily["q"].clip(0.4, 3.5))
    all_years, own = (tg.flow_normalise(linear, wet, window=w, draws=50, rng=1).table for w in ("all", 1))
    np.testing.assert_allclose(own["flow_normalised"], own["estimate"], rtol=1e-3)
    assert own.loc[2001, "flow_normalised"] < all_years.loc[2001, "flow_normalised"]


def test_a_year_column_of_both_tables_will_do(daily):
    dated = daily.assign(year=2001 + np.arange(len(daily)) / 365.25)
    res = tg.fit("c ~ year + log(q)", make_samples(dated), family="lognormal")
    found = tg.flow_normalise(res, dated, draws=50)
    assert np.isnan(found.samples.correlation)
    assert len(found.table) == 4
    assert found.plot().get_ylabel() == "concentration"


def test_water_years_months_and_days(daily, linear):
    found = tg.flow_normalise(linear, daily, by="month", contrasts=[("2001-01", "2003-01")], draws=100)
    assert found.table.index[0] == pd.Period("2001-01")
    assert found.contrasts["slope"].iloc[0] == pytest.approx(found.contrasts["change"].iloc[0] / 2, rel=1e-2)
    assert tg.flow_normalise(linear, daily, by="water_year", draws=10).table.index.tolist() == [2002, 2003, 2004]
    assert len(tg.flow_normalise(linear, daily, by=None, draws=10).table) == len(daily)


def test_dates_may_be_text(daily, linear):
    texts = daily.assign(date=daily["date"].dt.strftime("%d %B %Y"))
    found = tg.flow_normalise(linear, texts, draws=20, rng=1).table
    pd.testing.assert_frame_equal(found, tg.flow_normalise(linear, daily, draws=20, rng=1).table)


def test_draws_depend_on_the_seed_alone(daily, curves):
    first, again, other = (tg.flow_normalise(curves, daily, draws=20, rng=seed).table for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_a_noise_without_a_mean_is_refused(daily):
    res = tg.fit(LINEAR, make_samples(daily), family="loglogistic", fixed={"sigma": 1.2})
    with pytest.raises(SpecError, match=r"no mean.*what='median'"):
        tg.flow_normalise(res, daily)
    assert np.isfinite(tg.flow_normalise(res, daily, what="median", draws=20).table).all(axis=None)


def test_a_fitted_shape_is_drawn(daily):
    samples = make_samples(daily)
    res = tg.fit(LINEAR, samples, family="gengamma")
    found = tg.flow_normalise(res, daily, draws=100).table["flow_normalised"]
    plain = tg.flow_normalise(tg.fit(LINEAR, samples, family="lognormal"), daily, draws=100).table["flow_normalised"]
    np.testing.assert_allclose(found, plain, rtol=0.03)


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"what": "mass"}, SpecError, "what='mass'"),
        ({"what": None}, SpecError, "what=None"),
        ({"window": 0}, SpecError, "window=0"),
        ({"window": "some"}, SpecError, "window='some'"),
        ({"half_window_days": -1}, SpecError, "half_window_days=-1"),
        ({"half_window_days": 2.5}, SpecError, "half_window_days=2.5"),
        ({"interval": 95}, SpecError, "95"),
        ({"interval": None}, SpecError, "interval=None"),
        ({"draws": 1}, SpecError, "draws=1"),
        ({"by": "week"}, SpecError, "by='week'"),
        ({"contrasts": [(2001, 2044)]}, SpecError, "names 2044. Choose complete periods from 2001 to 2004"),
        ({"contrasts": [2001]}, SpecError, "pairs of periods"),
        ({"contrasts": 2001}, SpecError, "contrasts=2001: must be pairs of periods"),
        ({"contrasts": [({}, 2001)]}, SpecError, "names {}. Choose complete periods"),
        ({"window": [1, 2]}, SpecError, "window=[1, 2]"),
        ({"window": np.array([1, 2])}, SpecError, "window=array([1, 2])"),
        ({"discharge": "flow"}, DataError, "discharge='flow'"),
        ({"exclude": "season"}, SpecError, "season"),
    ],
)
def test_bad_questions_are_refused(daily, linear, asked, error, words):
    with pytest.raises(error, match=re.escape(words)):
        tg.flow_normalise(linear, daily, **asked)


def test_other_fits_are_refused(daily):
    samples = make_samples(daily)
    with pytest.raises(SpecError, match="not MixtureResults"):
        tg.flow_normalise(tg.fit("c ~ mixture(1)", samples, family="gaussian"), daily)
    logs = tg.fit("log(c) ~ decimal_year(date) + log(q)", samples, family="gaussian")
    with pytest.raises(SpecError, match=r"log\(c\), a logarithm.*family='lognormal'"):
        tg.flow_normalise(logs, daily)
    roots = tg.fit("sqrt(c) ~ decimal_year(date) + log(q)", samples, family="lognormal")
    with pytest.raises(SpecError, match=r"sqrt\(c\), a transformation"):
        tg.flow_normalise(roots, daily)


@pytest.mark.slow
def test_a_column_that_changes_every_day_is_taken_as_it_is_on_each(daily):
    warm = daily.assign(temp=np.random.default_rng(3).normal(size=len(daily)))
    samples = make_samples(warm)
    samples["c"] *= np.exp(0.8 * samples["temp"])
    res = tg.fit(LINEAR + " + temp", samples, family="lognormal")
    found = tg.flow_normalise(res, warm, draws=2000, rng=1).table["flow_normalised"]
    a, slope, flow, heat, sigma = res.params
    t, log_q = years(warm["date"]), np.log(warm["q"].to_numpy())
    of_pools = np.array([np.mean(np.exp(flow * log_q[rows])) for rows in pools(warm)])
    of_day = of_pools * np.exp(a + slope * t + heat * warm["temp"] + sigma**2 / 2)
    np.testing.assert_allclose(found, of_day.groupby(warm["date"].dt.year).mean(), rtol=5e-3)


def test_p_increase_is_that_of_the_slope(daily):
    res = tg.fit(LINEAR, make_samples(daily, trend=0.01, sigma=0.5), family="lognormal")
    found = tg.flow_normalise(res, daily, draws=4000, rng=3).contrasts["p_increase"].iloc[0]
    known = norm.cdf(res.params.iloc[1] / res.bse.iloc[1])
    assert 0.5 < known < 0.8
    assert found == pytest.approx(known, abs=4 * 0.5 / np.sqrt(4000))


def test_values_that_may_be_negative_have_no_percent(daily):
    samples = make_samples(daily)
    res = tg.fit(LINEAR.replace("c ", "log_c "), samples.assign(log_c=np.log(samples["c"])), family="gaussian")
    found = tg.flow_normalise(res, daily, draws=50, rng=1).contrasts.iloc[0]
    assert found[["percent", "percent_lower", "percent_upper"]].isna().all()
    assert found["change"] > 0


def test_one_year_has_nothing_to_be_compared_with(daily, linear):
    found = tg.flow_normalise(linear, daily[daily["date"].dt.year == 2002], draws=20)
    assert found.contrasts.empty
    assert "p_increase" in found.contrasts
    assert "2002 to 2002" in str(found.summary())
    assert "flow-normalised, 90% interval" in found.plot().get_legend_handles_labels()[1]


def test_discharges_that_no_sample_had(daily):
    low = make_samples(daily[daily["q"] < 2.0])
    res = tg.fit(LINEAR, low, family="lognormal")
    with pytest.warns(ApproximationWarning, match=r"\d+% of the days have a discharge outside those of the samples"):
        found = tg.flow_normalise(res, daily, draws=20)
    share = np.mean((daily["q"] < low["q"].min()) | (daily["q"] > low["q"].max()))
    assert found.outside == pytest.approx(share)


def test_years_without_samples(daily):
    res = tg.fit(LINEAR, make_samples(daily[daily["date"] < "2003-01-20"], every=5), family="lognormal")
    with pytest.warns(ApproximationWarning, match=r"days are more than half a year .*\(2001-01-01 to 2003-01-\d\d\)"):
        tg.flow_normalise(res, daily, draws=20)
    tg.flow_normalise(res, daily[daily["date"] < "2003-06-01"], draws=20)


def test_a_stored_fit_without_rows_is_asked_the_same(daily, linear, tmp_path):
    linear.save(tmp_path / "fit.tgp")
    again = tg.load(tmp_path / "fit.tgp")
    found = tg.flow_normalise(again, daily, draws=20, rng=1)
    assert found.samples is None
    assert np.isnan(found.outside)
    pd.testing.assert_frame_equal(found.table, tg.flow_normalise(linear, daily, draws=20, rng=1).table)
    assert "Samples:" not in str(found.summary())
    found.plot()


def test_the_result_is_frozen_and_prints(daily, linear):
    found = tg.flow_normalise(linear, daily.head(600), draws=50)
    with pytest.raises(FrozenInstanceError):
        found.what = "flux"
    assert repr(found).splitlines()[1].startswith("year")
    assert "<table" in found._repr_html_()
    assert found.summary_frame() is not found.table
    text = str(found.summary())
    for words in ("Flow-normalised concentration", LINEAR, "2001 to 2001", "Serial correlation:", "Left out", "2002"):
        assert words in text


def test_the_figure_shows_samples_points_and_a_band(daily):
    samples = make_samples(daily).assign(limit=0.5)
    samples["c"] = np.maximum(samples["c"], 0.5)
    res = tg.fit(LINEAR + " | censor(limit)", samples, family="lognormal")
    ax = tg.flow_normalise(res, daily, draws=50).plot()
    labels = ax.get_legend_handles_labels()[1]
    assert labels[:2] == ["samples", "non-detects, at their limits"]
    assert {"flow-normalised", "90% interval", "estimate, actual discharge"} <= set(labels)
    ax.figure.canvas.draw()
    assert {"2001", "2002", "2003"} <= {tick.get_text() for tick in ax.get_xticklabels()}
    loads = tg.flow_normalise(res, daily, what="flux", draws=20).plot()
    assert loads.get_ylabel() == "load (kg/day)"
    assert "samples" not in loads.get_legend_handles_labels()[1]


def test_the_figure_shows_samples_above_a_limit_at_it(daily):
    samples = make_samples(daily).assign(above=lambda s: s["c"] > 1.5)
    samples["upper"] = np.where(samples["above"], np.inf, samples["c"])
    samples["lower"] = np.minimum(samples["c"], 1.5)
    res = tg.fit("interval(lower, upper) ~ decimal_year(date) + log(q)", samples, family="lognormal")
    drawn = {line.get_label(): line.get_ydata() for line in tg.flow_normalise(res, daily, draws=20).plot().lines}
    assert len(drawn["samples"]) == (~samples["above"]).sum()
    np.testing.assert_allclose(drawn["above a limit, at it"], np.full(samples["above"].sum(), 1.5))
    assert "non-detects, at their limits" not in drawn
