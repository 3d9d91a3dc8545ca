"""What measuring a candidate is expected to tell, against fits with its responses and against draws."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import tobitgp as tg
from tobitgp.distributions.symmetric_noise import StudentNoise
from tobitgp.errors import SpecError
from tobitgp.selection import suggestion

pytestmark = pytest.mark.filterwarnings("ignore:No row is censored", "ignore:1 value is beyond")
GIVEN = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.3, "sigma": 0.4}
CANDIDATES = pd.DataFrame({"x": [0.15, 0.5, 0.6, 1.3], "l": -0.3, "u": 0.8})


@pytest.fixture(scope="module")
def data():
    x = np.array([0.0, 0.1, 0.35, 0.55, 0.9, 1.0])
    y = np.array([0.3, 0.1, -0.4, -0.2, 0.7, 0.9])
    return pd.DataFrame({"x": x, "y": y, "l": -9.0, "u": 9.0})


@pytest.fixture(scope="module")
def fit(data):
    return tg.fit("y ~ 0 + gp(x, line=False) | censor(l, u)", data, fixed=GIVEN)


def variances(data, row, y, kind):
    """Of f in the candidates when the response of one row is there too."""
    limits = {"l": -9.0, "u": 9.0} | ({"l": y} if kind == "left" else {"u": y} if kind == "right" else {})
    more = pd.concat([data, pd.DataFrame([{"x": row["x"], "y": y, **limits}])], ignore_index=True)
    res = tg.fit("y ~ 0 + gp(x, line=False) | censor(l, u)", more, fixed=GIVEN)
    return np.square(res.predict(CANDIDATES, what="latent", se=True)["se"].to_numpy())


def test_without_limits_the_variance_falls_as_in_a_fit_with_any_response(data, fit):
    free = CANDIDATES.assign(l=-50.0, u=50.0)
    found = tg.suggest(fit, free, k=4)
    now = np.square(fit.predict(free, what="latent", se=True)["se"]).mean()
    rows = data
    for (_, row), gain in zip(found.iterrows(), found["gain"], strict=True):
        rows = pd.concat([rows, pd.DataFrame([{"x": row["x"], "y": 0.2, "l": -9.0, "u": 9.0}])], ignore_index=True)
        res = tg.fit("y ~ 0 + gp(x, line=False) | censor(l, u)", rows, fixed=GIVEN)
        after = np.square(res.predict(free, what="latent", se=True)["se"]).mean()
        assert now - after == pytest.approx(gain, rel=1e-5)
        now = after


@pytest.mark.parametrize("at", [0, 1, 3])
def test_with_limits_it_falls_so_far_on_average_over_what_may_be_seen(data, fit, at):
    row = CANDIDATES.iloc[at]
    found = tg.suggest(fit, CANDIDATES.iloc[[at]], reference=CANDIDATES)
    latent = fit.predict(CANDIDATES, what="latent", se=True)
    m, t = latent["estimate"][at], np.hypot(latent["se"][at], 0.4)
    left, right = norm.cdf(row["l"], m, t), norm.sf(row["u"], m, t)
    after = left * variances(data, row, row["l"], "left") + right * variances(data, row, row["u"], "right")
    after += (1.0 - left - right) * variances(data, row, 0.1, "exact")
    assert found["gain"].iloc[0] == pytest.approx((np.square(latent["se"]) - after).mean(), rel=1e-5)
    # Known to lie below a limit, f has in a fit by expectation propagation the mean and variance that it truly has.
    inside = quad(lambda y: norm.pdf(y, m, t), row["l"], row["u"])[0]
    assert inside == pytest.approx(1.0 - left - right)


def test_rows_that_will_be_censored_are_not_worth_while(fit):
    table = pd.DataFrame({"x": [1.3, 1.31], "l": [-50.0, 20.0], "u": 50.0})
    first, second = tg.suggest(fit, table, k=2)["gain"]
    assert tg.suggest(fit, table)["x"].tolist() == [1.3]
    assert 0.0 <= second < 1e-6 * first
    unknown = tg.suggest(fit, table[["x"]], k=1)
    assert unknown["gain"].iloc[0] >= first


def test_improvement_of_one_row_is_the_closed_form(fit):
    latent = fit.predict(CANDIDATES, what="latent", se=True)
    for maximize, sign in ((True, 1.0), (False, -1.0)):
        found = tg.suggest(fit, CANDIDATES, 4, "expected_improvement", maximize=maximize, best=0.5 * sign, rng=1)
        z = (sign * latent["estimate"] - 0.5) / latent["se"]
        closed = latent["se"] * (z * norm.cdf(z) + norm.pdf(z))
        assert found.index[0] == closed.idxmax()
        assert found["gain"].iloc[0] == pytest.approx(closed.max(), rel=0.08)
        assert len(set(found.index)) == 4
        assert (np.diff(found["gain"]) <= 1e-12).all()


def test_the_best_so_far_is_that_of_the_training_rows(fit, tmp_path):
    best = fit.predict(what="latent").max()
    one, two = (
        tg.suggest(fit, CANDIDATES, 2, "expected_improvement", best=given, rng=3) for given in (None, float(best))
    )
    pd.testing.assert_frame_equal(one, two)
    fit.save(tmp_path / "fit")
    with pytest.raises(SpecError, match="best= must be given"):
        tg.suggest(tg.load(tmp_path / "fit"), CANDIDATES, 1, "expected_improvement")


def test_exceedance_falls_as_in_simulated_fits(data, fit):
    free = CANDIDATES.assign(l=-50.0, u=50.0)
    found = tg.suggest(fit, free, goal="limit_exceedance", limit=0.2)
    row = found.iloc[0]
    latent = fit.predict(free, what="latent", se=True)
    p = norm.sf(0.2, latent["estimate"], latent["se"])
    m, t = row["estimate"], np.hypot(row["se"], 0.4)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    after = 0.0
    for z, w in zip(nodes, weights / weights.sum(), strict=True):
        more = pd.DataFrame([{"x": row["x"], "y": m + t * z, "l": -9.0, "u": 9.0}])
        res = tg.fit(
            "y ~ 0 + gp(x, line=False) | censor(l, u)", pd.concat([data, more], ignore_index=True), fixed=GIVEN
        )
        then = res.predict(free, what="latent", se=True)
        q = norm.sf(0.2, then["estimate"], then["se"])
        after += w * np.mean(q * (1.0 - q))
    assert found["gain"].iloc[0] == pytest.approx(np.mean(p * (1.0 - p)) - after, rel=1e-3)


def test_chosen_rows_tell_more_than_others(data):
    rng = np.random.default_rng(4)
    res = tg.fit("y ~ gp(x, line=False) | censor(l, u)", data)
    table = pd.DataFrame({"x": rng.uniform(0.0, 2.0, 60), "l": -9.0, "u": 9.0})
    chosen = tg.suggest(res, table, k=5)

    def left(rows):
        more = pd.concat([data, rows[["x", "l", "u"]].assign(y=0.0)], ignore_index=True)
        again = tg.fit("y ~ gp(x, line=False) | censor(l, u)", more, fixed=res.params[list(GIVEN)].to_dict())
        return np.square(again.predict(table, what="latent", se=True)["se"]).mean()

    assert left(chosen) < min(left(table.sample(5, random_state=seed)) for seed in range(10))


def test_logarithms_of_times(data):
    times = data.assign(y=np.exp(data["y"]), l=0.01, u=50.0)
    res = tg.fit("y ~ 0 + gp(x, line=False) | censor(l, u)", times, family="lognormal", fixed=GIVEN)
    table = CANDIDATES.assign(l=np.exp(-0.3), u=np.exp(0.8))
    plain = tg.fit("y ~ 0 + gp(x, line=False) | censor(l, u)", data, fixed=GIVEN)
    for goal, limits in (("integrated_variance", (None, None)), ("limit_exceedance", (np.exp(0.2), 0.2))):
        found = [
            tg.suggest(fit, rows, 3, goal, limit=limit)["gain"]
            for fit, rows, limit in zip((res, plain), (table, CANDIDATES), limits, strict=True)
        ]
        np.testing.assert_allclose(*found, rtol=1e-6)


def test_rows_with_missing_inputs_are_passed_over(fit):
    table = CANDIDATES.assign(x=[np.nan, 0.5, 0.6, 1.3])
    found = tg.suggest(fit, table, k=4, reference=CANDIDATES)
    assert sorted(found.index) == [1, 2, 3]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"goal": "variance"}, "one of 'integrated_variance'"),
        ({"k": 0}, "from 1 to the number of candidates, 4"),
        ({"k": 5}, "from 1 to the number of candidates, 4"),
        ({"goal": "limit_exceedance"}, "must be a number"),
        ({"limit": 1.0}, "None otherwise"),
        ({"candidates": CANDIDATES.assign(x=np.nan)}, "their inputs are missing"),
        ({"candidates": CANDIDATES.assign(x=np.nan), "goal": "expected_improvement"}, "their inputs are missing"),
        ({"goal": "limit_exceedance", "limit": np.nan}, "a finite number"),
        ({"goal": "expected_improvement", "best": "a"}, "a finite number"),
        ({"best": 1.0}, "best= cannot be combined"),
        ({"goal": "expected_improvement", "reference": CANDIDATES}, "reference= cannot be combined"),
    ],
)
def test_what_makes_no_sense_is_refused(fit, given, words):
    with pytest.raises(SpecError, match=words):
        tg.suggest(fit, **({"candidates": CANDIDATES} | given))


@pytest.mark.parametrize(
    ("candidates", "words"),
    [
        ({"x": [1.0], "u": [1.0, 2.0]}, "candidates: All arrays must be"),
        ("rows.csv", "not str"),
        (CANDIDATES.assign(se=1.0), "Rename it"),
        (CANDIDATES.drop(columns="u"), "Add the column 'u'"),
    ],
)
def test_tables_that_say_too_little_are_refused(fit, candidates, words):
    with pytest.raises(tg.errors.DataError, match=words):
        tg.suggest(fit, candidates)


def test_where_no_draw_improves_the_nearest_rows_come_first(fit):
    found = tg.suggest(fit, CANDIDATES, 2, "expected_improvement", best=40.0)
    assert (found["gain"] == 0.0).all()
    score = (CANDIDATES.assign(**fit.predict(CANDIDATES, what="latent", se=True))).eval("(estimate - 40) / se")
    assert found.index.tolist() == score.sort_values(ascending=False).index[:2].tolist()


@pytest.mark.parametrize(("df", "ratio"), [(1.8, (1.8 + 3.0) / (1.8 + 1.0)), (4.0, 7.0 / 5.0)])
def test_noise_of_long_tails_tells_as_much_as_its_information(df, ratio, data):
    information = suggestion.information
    assert 1.0 / information(StudentNoise(df)) == pytest.approx(ratio, rel=0.01)
    res = tg.fit("y ~ 0 + gp(x, line=False)", data, family=tg.Student(df), fixed=GIVEN)
    assert (tg.suggest(res, CANDIDATES, k=3)["gain"] > 0.0).all()


def test_fits_without_a_posterior_are_refused(data):
    with pytest.raises(SpecError, match="under a prior"):
        tg.suggest(tg.fit("y ~ x", data), CANDIDATES)


def test_too_many_rows_are_refused(fit, monkeypatch):
    monkeypatch.setattr(suggestion, "MOST_ROWS", 5)
    with pytest.raises(SpecError, match="supports 5 candidates"):
        tg.suggest(fit, CANDIDATES, reference=CANDIDATES)
