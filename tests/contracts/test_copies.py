"""A fit of any kind can be pickled, copied and dumped at any time, and its copies answer as it does."""

import contextlib
import copy
import io
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from golden.fits import FITS, SURV, fit, simulated
from support.stored import quiet_fit

import tobitgp as tg
from tobitgp.inference import rebuilt

PROCESSES = [
    fit("chain beside a line", "left ~ z + gp(x, kernel='matern32') | censor(-0.5)", method=tg.EP(hyper="maximize")),
    fit(
        "chain of groups", "left ~ C(b) + gp(x, by=b, kernel='matern12') | censor(-0.5)", method=tg.EP(hyper="maximize")
    ),
    fit("chain, averaged", "left ~ gp(x, kernel='matern12', approximation='markov') | censor(-0.5)"),
    fit("chain of a sum", "left ~ gp(x, approximation='markov', kernel='matern52') + re(g) | censor(-0.5)"),
    fit(
        "neighbours",
        "left ~ gp(x, x2, kernel='matern32', approximation='vecchia') | censor(-0.5)",
        method=tg.EP(hyper="maximize"),
    ),
    fit("crossed groups", "left ~ (1 + z | g) + (1 | h) | censor(-0.5)", method=tg.EP(hyper="maximize")),
    fit("correlated curves", "left ~ gp(x, by=h, cor=True) | censor(-0.5)", n=60, method=tg.EP(hyper="maximize")),
]
OTHERS = {
    "several responses": (
        "mvbind(left, y2) ~ z + gp(x) + (1 | g) | censor(-0.5, None)",
        {"method": tg.EP(hyper="maximize")},
    ),
    "bands of time": (f"{SURV} ~ z", {"family": "ph", "method": tg.EP(hyper="maximize")}),
    "parametric hazards": (f"{SURV} ~ z", {"family": tg.PH("weibull")}),
    "cure": (f"{SURV} ~ z", {"family": "weibull", "cure": "~ 1"}),
    "power": ("tleft ~ z | censor(0.6)", {"family": "boxcox"}),
    "power of a process": ("tleft ~ gp(x) | censor(0.6)", {"family": "boxcox", "method": tg.EP(hyper="maximize")}),
    "start-stop": ("Surv(start, time, event) ~ z", {"family": "weibull", "id": "person"}),
    "causes": ("Surv(time, cause) ~ z", {"family": "weibull"}),
}
COPIES = {
    "pickle": lambda res: pickle.loads(pickle.dumps(res)),
    "deepcopy": copy.deepcopy,
    "joblib": lambda res: through_file(res),
}


def through_file(res):
    file = io.BytesIO()
    joblib.dump(res, file)
    file.seek(0)
    return joblib.load(file)


def answers(res, new):
    """Predictions, as numbers."""
    res = res[res.causes[0]] if isinstance(res, tg.CompetingRisksResults) else res
    found = [res.predict(new)]
    if not isinstance(res, tg.MixtureResults):
        found += [res.predict(new, interval=0.9), res.sample(new, 3, rng=1)]
    return np.concatenate([np.ravel(np.asarray(answer, dtype=float)) for answer in found])


def assert_copies(res, new):
    before = [make(res) for make in COPIES.values()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = answers(res, new)
        str(res.summary())
        for name in ("residuals", "posterior", "check"):
            # Not every kind has them, nor after every fit; what they leave behind is copied too.
            with contextlib.suppress(tg.errors.TobitGPError, AttributeError):
                getattr(res, name)()
        for other in (*before, *(make(res) for make in COPIES.values())):
            np.testing.assert_array_equal(answers(other, new), want)


@pytest.mark.slow
@pytest.mark.parametrize("case", [*FITS.values(), *PROCESSES], ids=lambda case: f"{case.formula}, {case.name}")
def test_recorded_fits(case):
    res, new, _, _ = case.run()
    assert_copies(res, new)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_other_kinds(name):
    formula, options = OTHERS[name]
    rows = simulated(n=60)
    rows["start"], rows["person"] = 0.0, np.arange(60)
    rows["cause"] = np.where(rows["event"] == 0, "censored", rows["h"])
    rows["cause"] = pd.Categorical(rows["cause"], ["censored", "u", "v", "w"])
    assert_copies(quiet_fit(formula, rows, **options), rows.iloc[-6:])


def test_copies_are_no_larger_once_the_fit_has_answered():
    rows = simulated()
    for formula in ("left ~ gp(x, kernel='matern12', approximation='markov') | censor(-0.5)", "y ~ gp(x)"):
        res = tg.fit(formula, rows, method=tg.EP(hyper="maximize"))
        before = len(pickle.dumps(res.parts))
        res.predict(rows, interval=0.9)
        assert len(pickle.dumps(res.parts)) == before


def test_copies_hold_triangles_without_their_zeros():
    res = tg.fit("y ~ gp(x, line=False)", simulated(n=150), method=tg.EP(inducing=None, hyper="maximize"))
    posterior = res.parts.fitted.points[0]
    full = sum(part.L.nbytes for part in (posterior.factor, *posterior.blocks) if hasattr(part, "L"))
    for part in (posterior.factor, posterior.blocks[-1]):
        again = pickle.loads(pickle.dumps(part))
        np.testing.assert_array_equal(again.L, part.L)
        assert again.L.strides == part.L.strides
        assert len(pickle.dumps(part)) < 0.52 * part.L.nbytes + 4000
    assert len(pickle.dumps(posterior)) < 0.52 * full + 20_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("y ~ z + gp(x) + gp(x2, kernel='matern52')", {"method": tg.EP(inducing=None)}),
        ("left ~ z + gp(x, x2) | censor(-0.5)", {"method": tg.EP(inducing=None)}),
        ("left ~ gp(x, x2) | censor(-0.5)", {"method": "vi", "family": "student"}),
    ],
)
def test_copies_of_dense_fits_hold_no_factors(formula, options):
    rows = simulated(n=120)
    rows.loc[100:, ["x", "x2"]] = rows.loc[:19, ["x", "x2"]].to_numpy() + 1e-9  # inputs that are all but the same
    res = tg.fit(formula, rows, **options)
    points = res.parts.fitted.points
    assert sum(point.follows for point in points) > 10
    assert all(point.follows == (len(point.w) >= rebuilt._DENSE * len(rows)) for point in points)
    factors = sum(8 * len(point.w) ** 2 for point in points)
    copied = pickle.dumps(res)
    assert len(copied) < factors / 3
    want = answers(res, rows)
    np.testing.assert_array_equal(answers(pickle.loads(copied), rows), want)
    again = copy.deepcopy(pickle.loads(copied))  # of one that has not yet been looked at
    assert len(pickle.dumps(again)) == pytest.approx(len(copied), rel=0.01)
    np.testing.assert_array_equal(answers(again, rows), want)


@pytest.mark.slow
def test_posteriors_made_from_their_sites_are_those_of_the_fit(monkeypatch):
    rows = simulated(n=80)
    formula = "left ~ z + gp(x, x2) | censor(-0.5)"
    found = answers(tg.fit(formula, rows), rows)
    monkeypatch.setattr("tobitgp.inference.partition_fit.following", lambda posterior: posterior)
    np.testing.assert_allclose(answers(tg.fit(formula, rows), rows), found, rtol=1e-7, atol=1e-7)
