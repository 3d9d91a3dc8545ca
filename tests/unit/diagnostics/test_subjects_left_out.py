"""Subjects are left out and counted, into however many rows their follow-up is cut."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import tobitgp as tg
from tobitgp.errors import SpecError

FAMILIES = {
    "weibull": "weibull",
    "ph weibull": tg.PH("weibull"),
    "spline": tg.PH("spline", df=2),
    "piecewise": tg.PH("piecewise", bands=4),
    "ph": "ph",
}
QUIET = pytest.mark.filterwarnings("ignore::tobitgp.errors.ApproximationWarning")


def subjects(n=60):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"who": np.arange(n), "z": rng.normal(size=n), "w": rng.integers(1, 4, n)})
    data["time"] = np.exp(1.0 + 0.5 * data.z) * rng.weibull(1.5, n)
    event = rng.random(n) < 0.7
    return data.assign(event=event.astype(int), cause=event * np.where(rng.random(n) < 0.4, 2, 1), start=0.0)


def cut(whole):
    middle = 0.5 * whole["time"]
    return pd.concat([whole.assign(time=middle, event=0, cause=0), whole.assign(start=middle)], ignore_index=True)


WHOLE = subjects()
PARTS = cut(WHOLE)


def both(family, event="event", terms="z", **options):
    return (
        tg.fit(f"Surv(time, {event}) ~ {terms}", WHOLE, family=family, **options),
        tg.fit(f"Surv(start, time, {event}) ~ {terms}", PARTS, family=family, id="who", **options),
    )


def assert_alike(one, parts):
    for by in ("loo", "waic"):
        want, got = getattr(one, by)(), getattr(parts, by)()
        for name in ("elpd", "se", "p", "n"):
            np.testing.assert_allclose(getattr(got, name), getattr(want, name), rtol=1e-4)
        assert len(got.trusted) == len(WHOLE)
        assert "60 subjects" in got.summary()
        assert got.pointwise["elpd"].dropna().index.tolist() == list(range(60, 120))
    np.testing.assert_allclose([parts.bic, parts.df_resid], [one.bic, one.df_resid], rtol=1e-6)


@QUIET
@pytest.mark.slow_cases("ph")
@pytest.mark.parametrize("family", FAMILIES)
def test_cuts_do_not_change_what_leaving_out_says(family):
    assert_alike(*both(FAMILIES[family]))


@QUIET
def test_subjects_have_weights():
    assert_alike(*both(tg.PH("weibull"), weights="w"))


@QUIET
def test_subjects_of_competing_risks_are_left_out():
    assert_alike(*both(tg.PH("piecewise", bands=3), "cause"))


@QUIET
def test_waic_is_that_of_sums_over_rows():
    res = both(tg.PH("weibull"))[1]
    of_rows = res.log_likelihood_draws(4000).to_numpy()
    total = of_rows[:, :60] + of_rows[:, 60:]
    elpd = logsumexp(total, axis=0) - np.log(4000) - total.var(axis=0)
    np.testing.assert_allclose(res.waic().elpd, elpd.sum(), rtol=1e-10)
    np.testing.assert_allclose(res.waic().se, np.sqrt(60) * elpd.std(), rtol=1e-8)


@QUIET
def test_a_file_keeps_the_subjects(tmp_path):
    res = both(tg.PH("weibull"))[1]
    res.save(tmp_path / "fit.tgp")
    assert tg.load(tmp_path / "fit.tgp").bic == res.bic


@QUIET
def test_fits_of_subjects_and_of_rows_are_not_compared():
    res = both(tg.PH("weibull"))[1]
    rows = tg.fit("Surv(start, time, event) ~ 1", PARTS, family=tg.PH("weibull"))
    with pytest.raises(SpecError, match="Fit all of them with id="):
        tg.compare({"subjects": res, "rows": rows}, by="loo")
    of_subjects = tg.fit("Surv(start, time, event) ~ 1", PARTS, family=tg.PH("weibull"), id="who")
    assert tg.compare({"z": res, "none": of_subjects}, by="loo")["n"].tolist() == [60, 60]


def test_rows_of_a_subject_need_one_weight():
    rows = PARTS.assign(w=np.arange(len(PARTS)) // 60 + 1)
    res = tg.fit("Surv(start, time, event) ~ z", rows, family=tg.PH("weibull"), id="who", weights="w")
    with pytest.raises(SpecError, match="Give all rows of a subject one weight"):
        res.loo()


@QUIET
def test_arviz_is_given_the_likelihoods_of_subjects():
    pytest.importorskip("arviz")
    res = both(tg.PH("weibull"))[1]
    given = res.to_arviz(100)
    of_rows = res.log_likelihood_draws(100).to_numpy()
    (found,) = given["log_likelihood"].data_vars.values()
    assert found.dims == ("chain", "draw", "subject")
    np.testing.assert_allclose(found.values[0], of_rows[:, :60] + of_rows[:, 60:], rtol=1e-10)
    assert found["subject"].values.tolist() == list(range(60, 120))
