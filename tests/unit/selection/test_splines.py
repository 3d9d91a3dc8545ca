"""Splines of folds end where those of all rows do, and no row left out lies beyond them."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.selection.specs import with_ends

ROWS = pd.DataFrame({"x": [3.0, 1.0, 2.0, 8.0], "my x": [-2.5, 0.0, 1.0, 4.0], "g": list("abab")})


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("y ~ bs(x, df=4)", "y ~ bs(x, df=4, lower_bound=1.0, upper_bound=8.0)"),
        ("y ~ x + g", "y ~ x + g"),
        ("y ~ bs + x", "y ~ bs + x"),
        ("y ~ cr(`my x`) + g", "y ~ cr(`my x`, lower_bound=-2.5, upper_bound=4.0) + g"),
        (
            "y ~ g:bs(maximum(x, 2), 4) + cs(x) | censor(1)",
            "y ~ g:bs(maximum(x, 2), 4, lower_bound=2.0, upper_bound=8.0) + cs(x, lower_bound=1.0, upper_bound=8.0)"
            " | censor(1)",
        ),
        ("y ~ bs(x, knots=[2, 3])", "y ~ bs(x, knots=[2, 3], lower_bound=1.0, upper_bound=8.0)"),
        ("y ~ bs(x, lower_bound=0)", "y ~ bs(x, lower_bound=0)"),
        ("y ~ bs(x, extrapolation='clip')", "y ~ bs(x, extrapolation='clip')"),
    ],
)
def test_ends_are_written_into_the_formula(formula, expected):
    assert with_ends(formula, ROWS, None) == expected


def test_functions_of_the_user_are_called():
    assert with_ends("y ~ bs(f(x))", ROWS, {"f": np.square}) == "y ~ bs(f(x), lower_bound=1.0, upper_bound=64.0)"


@pytest.fixture(scope="module")
def times():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"t": rng.exponential(5, 60), "e": 1, "age": rng.uniform(20, 90, 60), "fold": np.arange(60) % 3}
    )


@pytest.mark.parametrize("options", [{"family": "weibull"}, {"family": "weibull", "sigma": "~ bs(age, df=3)"}], ids=str)
def test_every_fold_has_a_score_which_is_that_of_a_fit_with_the_ends_written_out(times, options):
    found = tg.cross_validate("Surv(t, e) ~ bs(age, df=4)", times, folds="fold", **options)
    ends = f"lower_bound={float(times.age.min())}, upper_bound={float(times.age.max())})"
    written = {name: text.replace(")", f", {ends}") for name, text in options.items()}
    for fold, rows in times.groupby("fold"):
        fit = tg.fit(f"Surv(t, e) ~ bs(age, df=4, {ends}", times[times.fold != fold], **written)
        assert found["log_likelihood"][fold] == pytest.approx(fit.score(rows), abs=1e-9)


def test_coefficients_keep_the_names_that_priors_use(times):
    options = {"method": "ep", "priors": {"bs(age, df=4)[1]": tg.Normal(0, 1)}, "family": "weibull"}
    wide = times.assign(age=np.where(times.index % 20 < 3, np.repeat([20.0, 90.0], 30), times.age))
    assert np.isfinite(tg.cross_validate("Surv(t, e) ~ bs(age, df=4)", wide, folds="fold", **options)).all(axis=None)
