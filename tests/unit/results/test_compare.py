"""Models side by side: the numbers, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from support.methods import with_settings

import tobitgp as tg
from tobitgp.errors import SpecError

COLUMNS = ["value", "diff", "se_diff", "weight", "kind", "n", "converged"]

RBF = "y ~ gp(x) | censor(lower)"
ROUGH = "y ~ gp(x, kernel='matern32') | censor(lower)"


@pytest.fixture(scope="module")
def data():
    found = tg.datasets.simulate_groot_lucas()
    found["y"] = found["y"].clip(lower=found["lower"]) + 5.0
    found["lower"] += 5.0
    found["z"], found["w"] = np.cos(7 * found["x"]), 1.0
    return found


@pytest.fixture(scope="module")
def fit(data):
    def made(formula=RBF, rows=data, **options):
        return tg.fit(formula, rows, **with_settings(options, hyper="maximize"))

    return made


@pytest.fixture(scope="module")
def rbf(fit):
    return fit()


@pytest.fixture(scope="module")
def rough(fit):
    return fit(ROUGH)


def test_the_best_is_first_and_weights_are_posterior_probabilities(rbf, rough):
    table = tg.compare({"rough": rough, "rbf": rbf})
    assert list(table.columns) == COLUMNS
    assert list(table.index) == ["rbf", "rough"]
    assert table["value"].tolist() == [rbf.log_evidence, rough.log_evidence]
    assert table["diff"].tolist() == [0.0, rough.log_evidence - rbf.log_evidence]
    ratio = np.exp(rbf.log_evidence - rough.log_evidence)
    assert np.allclose(table["weight"], [ratio / (1 + ratio), 1 / (1 + ratio)], rtol=1e-12)
    assert table["se_diff"].isna().all()
    assert set(table["kind"]) == {"ep"}
    assert table["n"].tolist() == [30, 30]
    assert table["converged"].tolist() == [True, True]


def test_two_linear_models_have_the_evidence_of_the_exact_integral(fit, data):
    """Without censoring the difference is that of two multivariate normal densities."""
    from scipy.stats import multivariate_normal

    priors = {"x": tg.Normal(0.0, 2.0), "z": tg.Normal(0.0, 0.5)}
    options = {"fixed": {"sigma": 0.7}}
    fewer = fit("y ~ 0 + x + offset(5 + 0*x)", priors={"x": priors["x"]}, **options)
    more = fit("y ~ 0 + x + z + offset(5 + 0*x)", priors=priors, **options)
    x, z, y = data["x"].to_numpy(), data["z"].to_numpy(), data["y"].to_numpy() - 5.0
    cov = 0.49 * np.eye(30) + 4.0 * np.outer(x, x)
    expected = multivariate_normal(cov=cov + 0.25 * np.outer(z, z)).logpdf(y) - multivariate_normal(cov=cov).logpdf(y)
    with pytest.warns(UserWarning, match=r"linear columns differ \(z\).*compare 'x' with 'x \+ gp\(x\)'"):
        table = tg.compare({"fewer": fewer, "more": more})
    difference = table.loc["more", "value"] - table.loc["fewer", "value"]
    assert difference == pytest.approx(expected, abs=1e-8)
    assert set(table["kind"]) == {"exact"}


def test_names_of_a_list_are_formulas_made_unique(rbf, rough):
    assert list(tg.compare([rbf, rough, rbf]).index) == [RBF, f"{RBF} (2)", ROUGH]


def test_methods_are_compared_by_the_bound_alone(rbf, fit):
    both = {"ep": rbf, "vi": fit(method="vi", fixed=rbf.hyperparameters)}
    with pytest.raises(SpecError, match=r"'ep' of 'ep', 'elbo' of 'vi'.*by='elbo'"):
        tg.compare(both)
    table = tg.compare(both, by="elbo")
    assert set(table["kind"]) == {"elbo"}
    assert table.loc["ep", "value"] == rbf.elbo < rbf.log_evidence
    assert table.index[0] == "vi"


def test_families_of_one_response_are_compared(rbf, fit):
    table = tg.compare({"normal": rbf, "log": fit(family="lognormal")})
    assert set(table["kind"]) == {"ep"}


def test_log_evidence_integrated(data):
    averaged = tg.fit(RBF, data, method=tg.EP(hyper="integrate"))
    assert tg.compare([averaged], by="log_evidence_integrated")["value"].tolist() == [averaged.log_evidence_integrated]


REFUSED = {
    "ignored": ({"censored": "ignore"}, "censored='model' and 'b' censored='ignore'"),
    "dropped": ({"censored": "drop"}, "censored='model' and 'b' censored='drop'"),
    "fewer rows": ({"rows": slice(1, None)}, "different rows.*n = 30.*n = 29"),
    "other rows": ({"rows": "swap"}, "their labels differ"),
    "other limits": ({"formula": "y ~ gp(x) | censor(lower + 0.01)"}, "differ in the response"),
    "log of it": ({"formula": "log(y) ~ gp(x) | censor(log(lower))"}, "family='lognormal'"),
    "weights": ({"weights": "w"}, "differ in the response"),
}


@pytest.mark.filterwarnings("ignore:.*beyond the limits", "ignore:.*weights are not whole")
@pytest.mark.parametrize("case", REFUSED)
def test_other_data_are_refused(case, rbf, fit, data):
    options, words = REFUSED[case]
    rows = data.copy()
    if "rows" in options:
        rows = rows.iloc[::-1] if options["rows"] == "swap" else rows[options["rows"]]
    exact = np.flatnonzero((rows["y"] > rows["lower"]).to_numpy())[:2]
    rows.iloc[exact, rows.columns.get_loc("w")] = [2.0, 0.5] if case != "weights" else [1.5, 0.5]
    other = fit(**{**options, "rows": rows})
    with pytest.raises(SpecError, match=words):
        tg.compare({"a": rbf, "b": other})


def test_as_many_but_other_rows_are_refused(fit, data):
    def without(row):
        rows = data.copy()
        rows.loc[row, "x"] = np.nan
        with pytest.warns(UserWarning, match="dropped"):
            return fit(rows=rows)

    first, second = data.index[data["y"] > data["lower"]][:2]
    with pytest.raises(SpecError, match="different rows: the numbers of rows are equal"):
        tg.compare([without(first), without(second)])


def test_rows_left_out_on_the_way_do_not_matter(fit, data):
    """One fit drops a row, the other never sees it, under other labels."""
    holed = data.copy()
    holed.loc[data.index[0], "x"] = np.nan
    with pytest.warns(UserWarning, match="dropped"):
        first = fit(rows=holed)
    table = tg.compare([first, fit(rows=data.iloc[1:].reset_index(drop=True))])
    assert np.allclose(table["diff"], 0.0, atol=1e-8)


def test_what_a_fit_has_not_is_refused_with_what_it_has(rbf):
    with pytest.raises(SpecError, match=r"hyper='integrate'.*'log_evidence', 'elbo'"):
        tg.compare([rbf], by="log_evidence_integrated")
    with pytest.raises(SpecError, match="maximised likelihood"):
        tg.compare([rbf], by="aic")
    with pytest.raises(SpecError, match="'elbo'"):
        tg.compare([rbf], by="R2")


def test_fits_without_evidence_are_ranked_by_aic(data, rbf):
    fits = [tg.fit(f"y ~ {right} | censor(lower)", data, method="mle") for right in ("1", "x")]
    table = tg.compare(fits)
    pd.testing.assert_frame_equal(table, tg.compare(fits, by="aic"))
    assert set(table["kind"]) == {"aic"}
    with pytest.raises(SpecError, match="'loo', 'waic'"):
        tg.compare([*fits, rbf])


@pytest.mark.parametrize("given", [[], {}, [3], "text"])
def test_what_are_no_fits_is_refused(given):
    with pytest.raises(SpecError, match="fitted model"):
        tg.compare(given)


@pytest.fixture
def stripped(tmp_path):
    """The same fit as it comes from a file, without its rows."""

    def again(res):
        res.save(tmp_path / "fit.tgp")
        return tg.load(tmp_path / "fit.tgp")

    return again


def test_fits_without_rows_are_compared_by_their_counts(rbf, rough, fit, data, stripped):
    table = tg.compare({"rbf": stripped(rbf), "rough": rough, "again": stripped(rough)})
    assert list(table.index) == ["rbf", "rough", "again"]
    with pytest.raises(SpecError, match="different rows"):
        tg.compare({"a": stripped(rbf), "b": stripped(fit(rows=data.iloc[1:]))})
    with pytest.raises(SpecError, match="censored='drop' or 'ignore'"):
        tg.compare({"a": rbf, "b": stripped(fit(censored="ignore"))}, by="elbo")


def test_akaikes_weights_prefer_the_smaller(rbf):
    class Likelihood:
        parts, counts, nobs, _n_units, model = rbf.parts, rbf.counts, rbf.nobs, rbf._n_units, rbf.model
        evidence_kind, converged, _subjects = "loglik", True, rbf._subjects

        def __init__(self, aic):
            self.aic, self._subjects = aic, rbf._subjects

    table = tg.compare({"a": Likelihood(12.0), "b": Likelihood(10.0)}, by="aic")
    assert list(table.index) == ["b", "a"]
    assert table["diff"].tolist() == [0.0, 2.0]
    assert np.allclose(table["weight"], [1 / (1 + np.exp(-1)), np.exp(-1) / (1 + np.exp(-1))])


@pytest.mark.parametrize(("method", "by"), [("vbcm", "elbo"), ("vbcm", "log_evidence"), ("em", "bic")])
def test_probabilities_of_counts_are_not_ranked_beside_densities(rng, method, by):
    data = {"y": rng.poisson(5.0, 40) + 1.0}
    fits = {name: tg.fit("y ~ mixture(1)", data, family=name, method=method) for name in ("weibull", "poisson")}
    for some in (fits, dict(reversed(fits.items()))):
        with pytest.raises(SpecError, match="'poisson' has probabilities of whole numbers"):
            tg.compare(some, by=by)
    assert len(tg.compare({"one": fits["poisson"], "two": fits["poisson"]}, by=by)) == 2
    with pytest.raises(SpecError, match="probabilities of whole numbers"):
        tg.select({"family": ["poisson", "lognormal"]}, data, formula="y ~ mixture(1)", method=method, by=by)
