"""Starts of mixtures that a user gives."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import expon

import tobitgp as tg
from tobitgp.errors import SpecError

FORMULA = "y ~ mixture(2) | censor(lower, upper)"
TRUTH = {
    "gmm": ("gaussian", {"mean": [-3.0, 3.0], "sd": [1.0, 1.0]}),
    "emm": ("exponential", {"rate": [0.3, 3.0]}),
    "pmm": ("poisson", {"rate": [1.0, 5.0]}),
}


def bound(data, family="gaussian", **options):
    res = tg.fit(FORMULA, data, family=family, **options)
    return res.llf if options.get("method") == "em" else res.elbo


@pytest.mark.parametrize("method", ["vbcm", "em"])
@pytest.mark.parametrize("case", TRUTH)
def test_from_the_truth_an_ascent_reaches_the_bound_of_the_default(case, method):
    family, truth = TRUTH[case]
    for seed in (0, 1):
        data = tg.datasets.simulate_kohjima(case, seed=seed, n=150)
        default = bound(data, family, method=method)
        assert bound(data, family, method=method, start=truth) > default - 1e-4


@pytest.mark.parametrize("method", ["vbcm", "em", tg.SVBCM(n_steps=100)])
def test_every_form_of_a_start_leads_to_the_same_optimum(method):
    data = tg.datasets.simulate_kohjima("gmm", seed=3, n=120)
    best = tg.fit(FORMULA, data, method=method)
    forms = [
        best,
        best.components,
        best.components[["mean", "sd"]].iloc[::-1],
        best.params,
        best.params.to_dict(),
        {1: {"mean": -3.0, "sd": 1.0, "weight": 0.5}, 2: {"mean": 3.0, "sd": 1.0, "weight": 0.5}},
        [{"mean": -3.0, "sd": 1.0}, {"mean": 3.0, "sd": 1.0}],
        best.predict(what="component"),
        best.predict(what="component").iloc[::-1],
        best.predict(what="component").to_numpy(),
        pd.get_dummies(data["component"]).to_numpy(),
    ]
    objective = "llf" if method == "em" else "elbo"
    for start in forms:
        found = getattr(tg.fit(FORMULA, data, method=method, start=start), objective)
        assert found == pytest.approx(getattr(best, objective), abs=1e-4)


@pytest.mark.parametrize("family", ["lognormal", "weibull"])
def test_other_families_start_at_their_parameters(family):
    data = tg.datasets.simulate_kohjima("emm", seed=3, n=120)
    best = tg.fit(FORMULA, data, family=family, method=tg.VBCM(n_init=4))
    again = tg.fit(FORMULA, data, family=family, start=best)
    assert again.elbo == pytest.approx(best.elbo, abs=1e-4)
    assert len(again.parts.fit.ends) == 1


def test_one_ascent_begins_there_and_others_are_tried_if_asked_for():
    data = tg.datasets.simulate_kohjima("gmm", seed=3, n=120)
    far = {"mean": [200.0, 201.0], "sd": [1.0, 1.0]}
    near = {"mean": [-3.0, 3.0], "sd": [1.0, 1.0]}
    assert len(tg.fit(FORMULA, data, start=near).parts.fit.ends) == 1
    assert len(tg.fit(FORMULA, data, start=near, method=tg.VBCM(n_init=6)).parts.fit.ends) > 1
    assert bound(data, start=far, method=tg.VBCM(n_init=6)) == pytest.approx(bound(data), abs=1e-3)


def test_em_from_a_start_climbs_to_the_maximum_of_an_own_optimiser():
    data = tg.datasets.simulate_kohjima("emm", seed=5, n=150)
    y, censored = data["y"].to_numpy(), data["y"].to_numpy() >= 4.0

    def minus(x):
        share, scales = 1.0 / (1.0 + np.exp(-x[0])), np.exp(x[1:])
        seen = share * expon.pdf(y, scale=scales[0]) + (1.0 - share) * expon.pdf(y, scale=scales[1])
        beyond = share * expon.sf(y, scale=scales[0]) + (1.0 - share) * expon.sf(y, scale=scales[1])
        return -np.log(np.where(censored, beyond, seen)).sum()

    best = minimize(minus, [0.0, np.log(1 / 3.0), np.log(1 / 0.3)], method="BFGS")
    res = tg.fit(FORMULA, data, family="exponential", method="em", start=TRUTH["emm"][1])
    assert res.llf == pytest.approx(-best.fun, abs=1e-5)


def test_dropped_and_weighted_rows_are_matched():
    data = tg.datasets.simulate_kohjima("gmm", seed=3, n=120).assign(w=np.resize([1.0, 2.0], 120))
    shares = pd.get_dummies(data["component"]).to_numpy(float)
    part = data.drop(index=[4, 50])
    gaps = data.copy()
    gaps.loc[[4, 50], "y"] = np.nan
    best = tg.fit(FORMULA, part, weights="w").elbo
    with pytest.warns(UserWarning, match="dropped"):
        assert tg.fit(FORMULA, gaps, weights="w", start=shares).elbo == pytest.approx(best, abs=1e-4)
    assert tg.fit(FORMULA, part, weights="w", start=np.delete(shares, [4, 50], 0)).elbo == pytest.approx(best, abs=1e-4)


def test_a_process_takes_fewer_components():
    data = tg.datasets.simulate_kohjima("gmm", seed=3, n=120)
    formula = "y ~ mixture('dp', max_components=5) | censor(lower, upper)"
    best = tg.fit(formula, data)
    assert tg.fit(formula, data, start=TRUTH["gmm"][1]).elbo == pytest.approx(best.elbo, abs=0.1)
    assert tg.fit(formula, data, start=best).elbo == pytest.approx(best.elbo, abs=1e-3)
    with pytest.raises(SpecError, match="start= has 3 components, and the mixture at most 2"):
        tg.fit(
            "y ~ mixture('dp', max_components=2) | censor(lower, upper)",
            data,
            start={"mean": [1.0, 2.0, 3.0], "sd": [1.0] * 3},
        )


SHARES = np.full((100, 2), 0.5)
WRONG = [
    ({"mean": [0.0, 1.0]}, "start= lacks 'sd'"),
    ({"mean": [0.0, 1.0], "sd": [1.0, -1.0]}, "sd is -1. Give a positive number"),
    ({"mean": [0.0, np.nan], "sd": [1.0, 1.0]}, "mean is nan. Give a finite number"),
    ({"mean": [0.0, "a"], "sd": [1.0, 1.0]}, "mean is 'a'. Give a finite number"),
    ({"mean": [0.0, 1.0], "sd": [1.0]}, "different lengths"),
    ({"mean": [0.0, 1.0], "sd": [1.0, 1.0], "rate": [1.0, 1.0]}, "names 'rate', which is not a parameter"),
    ({"mean": [0.0, 1.0], "sd": [1.0, 1.0], "weight": [0.5, 0.7]}, "the weights are 0.5, 0.7"),
    ({"mean": [0.0, 1.0, 2.0], "sd": [1.0] * 3}, "start= has 3 components, and the mixture 2"),
    ({"mean": [0.0], "sd": [1.0]}, "start= has 1 component, and the mixture 2"),
    (SHARES[:7], "start= has 7 rows, but the data have 100"),
    (SHARES * 2.0, "have the sum 2"),
    (np.column_stack([SHARES[:, 0] + 1.0, SHARES[:, 0] - 1.0]), "negative or not finite"),
    (np.full((100, 3), 1 / 3), "start= has 3 components, and the mixture 2"),
    (pd.DataFrame(SHARES, index=np.arange(1, 101)), "labels of the responsibilities"),
    (3, "start=3: start must describe a mixture"),
    ("default", "start='default': start must describe a mixture"),
    (np.zeros(4), "start must describe a mixture"),
]


@pytest.mark.parametrize(("start", "words"), WRONG)
def test_a_start_that_makes_no_sense_is_one_clear_error(start, words):
    data = tg.datasets.simulate_kohjima("gmm", seed=3)
    with pytest.raises(SpecError, match=words) as caught:
        tg.fit(FORMULA, data, start=start)
    assert str(caught.value).startswith("start=")


def test_fits_and_formulas_that_a_start_does_not_suit():
    data = tg.datasets.simulate_kohjima("emm", seed=3)
    other, line = tg.fit(FORMULA, data, family="exponential"), tg.fit("y ~ 1 | censor(lower, upper)", data)
    for start in (other, line):
        with pytest.raises(SpecError, match="start= must be a fit of the same model"):
            tg.fit(FORMULA, data, start=start)
    with pytest.raises(SpecError, match="start= is for one number of components"):
        tg.fit("y ~ mixture(range(1, 3)) | censor(lower, upper)", data, family="exponential", start=other)
