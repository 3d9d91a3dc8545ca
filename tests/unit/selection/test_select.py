"""Several specs in, a table and the best fit out."""

import warnings

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import DataError, FormulaError, SpecError
from tobitgp.selection.specs import read_specs

RBF = "y ~ gp(x) | censor(lower)"
KERNELS = {"rbf": RBF, "rough": "y ~ gp(x, kernel='matern32') | censor(lower)"}


@pytest.fixture(scope="module")
def data():
    found = tg.datasets.simulate_groot_lucas()
    found["y"] = found["y"].clip(lower=found["lower"])
    found["z"] = np.cos(7 * found["x"])
    return found


@pytest.mark.slow
def test_ranks_as_compare_ranks_the_same_fits(data):
    found = tg.select(KERNELS, data, method=tg.EP(hyper="maximize"))
    fits = {name: tg.fit(formula, data, method=tg.EP(hyper="maximize")) for name, formula in KERNELS.items()}
    assert found.table.equals(tg.compare(fits))
    assert found.best is found.results["rbf"]
    assert found.best.log_evidence == fits["rbf"].log_evidence
    assert repr(found).splitlines()[1].split()[0] == "rbf"


@pytest.mark.slow
def test_processes_change_nothing(data):
    own = {"f": lambda x: 2.0 * x}
    specs = {**KERNELS, "own": "y ~ gp(f(x)) | censor(lower)"}
    one, two = (
        tg.select(specs, data, n_jobs=n, functions=own, method=tg.EP(hyper="maximize"), rng=np.random.default_rng(4))
        for n in (1, 2)
    )
    assert one.table.equals(two.table)
    new = {"x": [0.1, 0.7]}
    for name in specs:
        assert one.results[name].predict(new).equals(two.results[name].predict(new))


@pytest.mark.slow
def test_arguments_are_varied_in_all_combinations(data):
    grid = {"method": [tg.EP(hyper="maximize"), tg.VI(hyper="maximize")], "formula": list(KERNELS.values())}
    found = tg.select(grid, data, by="elbo")
    assert len(found.table) == 4
    assert (
        found.table.loc[f"method=VI(hyper='maximize'), {RBF}", "value"]
        == tg.fit(RBF, data, method=tg.VI(hyper="maximize")).elbo
    )


@pytest.mark.parametrize(
    ("specs", "given", "names"),
    [
        (["y ~ x", "y ~ x"], {}, ["y ~ x", "y ~ x (2)"]),
        ({"method": "y ~ x"}, {}, ["method"]),
        ({"method": ["ep"]}, {"formula": "y ~ x"}, ["method=ep"]),
        ({"formula": "y ~ x", "family": ["gaussian", "lognormal"]}, {}, ["family=gaussian", "family=lognormal"]),
        (
            {"fixed": [{"sigma": 1.0}, None], "method": [tg.EP(inducing=np.zeros((9, 9)))]},
            {"formula": "y ~ x"},
            ["fixed={'sigma': 1.0}", "fixed=None"],
        ),
        (
            {"method": [tg.EP(inducing=np.zeros((9, 9))), tg.EP(inducing=5)]},
            {"formula": "y ~ x"},
            ["method=EP(inducing=...)", "method=EP(inducing=5)"],
        ),
    ],
)
def test_names(specs, given, names):
    assert [candidate.name for candidate in read_specs(specs, given)] == names


REFUSED = {
    "kernel": ({"kernel": ["rbf", "rq"]}, {"formula": RBF}, "dict of formulas"),
    "misspelt": ({"metod": ["ep", "vi"]}, {"formula": RBF}, "did you mean 'method'"),
    "misspelt beside": ([RBF], {"metod": "ep"}, "did you mean 'method'"),
    "twice": ({"method": ["ep", "vi"]}, {"formula": RBF, "method": "ep"}, "Give it once"),
    "no formula": ({"method": ["ep", "vi"]}, {}, "requires formula="),
    "formula beside": ([RBF], {"formula": RBF}, "contains formulas"),
    "no values": ({"method": []}, {"formula": RBF}, "no values"),
    "one text": (RBF, {}, "list or dict of formulas"),
    "nothing": ([], {}, "empty"),
    "no text": ([3], {}, "must contain formulas, not 3"),
    "jobs": ([RBF], {"n_jobs": 0}, "n_jobs=0"),
    "by": ([RBF], {"by": "R2"}, "by='R2'"),
    "aic": ([RBF], {"by": "aic"}, "by='aic': requires maximum likelihood"),
    "aic of a posterior": ([RBF], {"by": "aic", "method": "ep"}, "cannot be combined"),
    "integrates": (
        [RBF],
        {"by": "log_evidence_integrated", "method": tg.EP(hyper="maximize")},
        "requires integrated hyper-parameters",
    ),
    "methods": ({"method": ["ep", "vi"]}, {"formula": RBF}, "by='elbo'"),
    "treatments": ({"censored": ["model", "drop"]}, {"formula": RBF}, "censored='drop'"),
    "method": ([RBF], {"method": "mcmc"}, "method='mcmc'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused_before_any_fit(case, data, monkeypatch):
    monkeypatch.setattr(tg.Model, "fit", lambda *_, **__: pytest.fail("fitted"))
    specs, options, words = REFUSED[case]
    with pytest.raises(SpecError, match=words):
        tg.select(specs, data, **options)


def test_methods_may_differ_where_no_row_is_censored(data):
    found = tg.select({"method": [tg.EP(hyper="maximize"), tg.VI(hyper="maximize")]}, data, formula="y ~ x")
    assert set(found.table["kind"]) == {"exact"}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_that_fails_has_an_empty_row_and_the_others_go_on(data, n_jobs):
    specs = {"lost": "y ~ gp(q) | censor(lower)", **KERNELS}
    with pytest.warns(UserWarning, match=r"'lost' failed .* no column 'q'") as said:
        found = tg.select(specs, data, n_jobs=n_jobs, method=tg.EP(hyper="maximize"))
    assert len(said) == 1
    assert list(found.table.index) == ["rbf", "rough", "lost"]
    assert found.table.loc["lost", ["value", "diff", "weight", "n"]].isna().all()
    assert not found.table.loc["lost", "converged"]
    assert found.table["weight"].sum() == pytest.approx(1.0)


def test_a_fit_that_fails_is_no_fit_of_the_others(data):
    starts = [{"sigma": 0.3}, {"sd(gp(q))": 1.0}]
    with pytest.warns(UserWarning, match="sd.gp.q"):
        found = tg.select({"start": starts}, data, formula=RBF, method=tg.EP(hyper="maximize"), n_jobs=2)
    assert found.table["value"].notna().tolist() == [True, False]


def test_if_all_fail_the_first_error_is_raised(data):
    with pytest.raises(FormulaError, match="no column 'q'"):
        tg.select(["y ~ gp(q)", "y ~ gp(r)"], data)
    with pytest.raises(DataError):
        tg.select([RBF], 3)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_warnings_arrive_once_under_the_names_of_the_models(data, n_jobs):
    rows = data.copy()
    rows.loc[2, "x"] = np.nan
    specs = {**KERNELS, "flat": "y ~ x + gp(constant) | censor(lower)"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tg.select(specs, rows.assign(constant=1.0), n_jobs=n_jobs, method=tg.EP(hyper="maximize"), fixed=None)
    said = [str(note.message) for note in caught]
    assert sum("1 of 30 rows is dropped" in text for text in said) == 1
    assert any(text.startswith("'rbf', 'rough', 'flat': 1 of 30 rows") for text in said)
    constant = [note for note in caught if "is constant" in str(note.message)]
    assert len(constant) == 1
    assert str(constant[0].message).startswith("'flat': ")
    assert constant[0].category is tg.errors.BoundaryWarning
    assert constant[0].filename == __file__


def test_progress_counts_the_models(data, capsys):
    seen = []
    tg.select(KERNELS, data, method=tg.EP(hyper="maximize"), progress=lambda *step: seen.append(step))
    assert [step[:2] for step in seen] == [("rbf", 1), ("rough", 2)]
    assert seen[0][2] == tg.fit(RBF, data, method=tg.EP(hyper="maximize")).log_evidence
    assert capsys.readouterr().err == ""


def test_fall_back_to_another_method_is_ranked_by_the_bound(data, monkeypatch):
    import dataclasses

    original = tg.Model.fit

    def falls_back(self, **options):
        res = original(self, **{**options, "method": (tg.VI if "matern" in self.formula else tg.EP)(hyper="maximize")})
        fitted = res.parts.fitted
        trace = dataclasses.replace(fitted.trace, fell_back=fitted.method.name == "vi")
        parts = dataclasses.replace(res.parts, fitted=dataclasses.replace(fitted, trace=trace))
        res._parts = parts
        return res

    monkeypatch.setattr(tg.Model, "fit", falls_back)
    with pytest.warns(UserWarning, match="'rough' fell back"):
        found = tg.select(KERNELS, data, method=tg.EP(hyper="maximize"))
    assert set(found.table["kind"]) == {"elbo"}


def test_html_escapes_names(data):
    found = tg.select({"a<b>&_%": "y ~ x | censor(lower)"}, data, method=tg.EP(hyper="maximize"))
    assert "a&lt;b&gt;&amp;_%" in found._repr_html_()
    assert "<b>" not in found._repr_html_()


def test_families_with_exact_evidence_are_ranked_beside_others_by_a_bound(recwarn):
    """A normal distribution of uncensored rows has its evidence exactly, a Weibull one does not."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=40)}).assign(t=lambda d: np.exp(d["x"] + rng.normal(size=40)))
    chosen = tg.select({"family": ["weibull", "lognormal"]}, data, formula="t ~ x")
    assert {fit.evidence_kind for fit in chosen.results.values()} == {"ep", "exact"}
    assert [str(w.message) for w in recwarn] == [
        "Some of these models have theirs exactly, and evidence would not be of one kind; ranked by='elbo'."
    ]
    assert set(chosen.table["kind"]) == {"elbo"}
