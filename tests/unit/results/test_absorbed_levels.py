"""Processes beside an absorbed factor answer as beside its dense columns under the same prior."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.summary_texts import without_tests

import tobitgp as tg
from tobitgp.data import linear_columns
from tobitgp.errors import DataError
from tobitgp.inference import assembly
from tobitgp.inference.linear_prior import LinearPlan
from tobitgp.numerics.bordered import Factored
from tobitgp.priors.structure import Grouping
from tobitgp.results.process.process_draws import draw_process
from tobitgp.results.process.process_results import GPResults

KNOWN = {"sd(gp(x))": 0.8, "lengthscale(gp(x))": 0.3, "sigma": 0.5}


@pytest.fixture
def data(rng):
    n, k = 360, 12
    g, h = np.concatenate([np.arange(k), rng.integers(k, size=n - k)]), rng.integers(30, size=n)
    x, z = rng.uniform(size=n), rng.normal(size=n)
    y = np.sin(6.0 * x) + 0.5 * z + rng.normal(size=k)[g] + 0.5 * rng.normal(size=n)
    data = pd.DataFrame({"y": np.maximum(y, -0.5), "x": x, "z": z, "g": [f"g{i:02d}" for i in g], "h": h})
    return data.assign(b=data.h.mod(3).map("b{}".format), w=rng.integers(1, 4, size=n))


def answers(res, data):
    """What a fit says of its parameters and of some rows."""
    few = data.iloc[:20]
    return {
        "evidence": res.log_evidence,
        "params": res.params,
        "bse": res.bse,
        "covariance": res.cov_params(),
        "ends": res.conf_int(),
        "p": res.pvalues,
        "latent": res.predict(few, what="latent", se=True),
        "observed": res.predict(few, what="observed", se=True),
        "terms": res.predict(few, what="terms", interval=0.9),
        "excluded": res.predict(few, what="latent", exclude=res.parts.gp.terms[0].name),
        "joint": res.posterior(few).covariance,
        "left out": res.loo().pointwise,
    }


def in_one(prior):
    """The prior of an absorbed factor as one of correlated coefficients."""
    root, p = prior._coloured(np.eye(len(prior.sd))), len(prior.sd)
    own = slice(prior.factor.start, prior.factor.start + prior.factor.size)
    if prior.cells:
        root[own] -= root[prior.intercept]
    constant = np.eye(p)[prior.intercept] if prior.constant is None and prior.intercept is not None else prior.constant
    return replace(prior, factor=None, cells=False, intercept=None, root=root, constant=constant)


def both(monkeypatch, formula, data, **options):
    """Answers with the factor absorbed, and with it an array of columns under the same prior."""
    monkeypatch.setattr(linear_columns, "MOST_DENSE", 4)
    res = tg.fit(formula, data, **options)
    assert res.converged
    factor = res.parts.gp.linear.factor
    a = answers(res, data)
    prior = in_one(res.parts.gp.linear)
    monkeypatch.setattr(linear_columns, "MOST_DENSE", 10_000)
    monkeypatch.setattr(LinearPlan, "centre", lambda plan, mean: prior.centre)
    monkeypatch.setattr(assembly, "find_prior", lambda *given: prior)
    written = tg.fit(formula, data, **options)
    assert factor is not None
    assert written.parts.gp.linear.factor is None
    return a, answers(written, data)


def alike(a, b, rtol=1e-6):
    """Answers are equal."""
    for name, values in a.items():
        atol = rtol * float(np.nanmax(b["bse"]) ** 2)
        np.testing.assert_allclose(values, b[name], rtol=rtol, atol=atol, err_msg=name)


MODELS = {
    "ep": ("y ~ gp(x) + C(g) | censor(-0.5)", {"method": "ep"}),
    "vi": ("y ~ gp(x) + C(g) | censor(-0.5)", {"method": "vi"}),
    "laplace": ("y ~ gp(x) + C(g) | censor(-0.5)", {"method": "laplace"}),
    "columns before and after": ("y ~ z + C(g) + I(z**2) + gp(x) | censor(-0.5)", {}),
    "without an intercept": ("y ~ 0 + C(g) + z + gp(x) | censor(-0.5)", {}),
    "nothing but the factor": ("y ~ 0 + C(g) + gp(x) | censor(-0.5)", {}),
    "weights": ("y ~ gp(x) + C(g) + z | censor(-0.5)", {"weights": "w"}),
    "interaction": ("y ~ gp(x) + C(b):g | censor(-0.5)", {}),
    "fixed": ("y ~ gp(x) + C(g) + z | censor(-0.5)", {"fixed": {**KNOWN, "C(g)[T.g03]": 0.5, "z": 0.4}}),
    "student": ("y ~ gp(x) + C(g) | censor(-0.5)", {"family": tg.Student(df=4.0)}),
    "its own intercepts": ("y ~ gp(x) + C(g) + re(g) | censor(-0.5)", {"fixed": {**KNOWN, "sd(re(g))": 0.7}}),
    "its own curves": (
        "y ~ gp(x, by=g) + C(g) | censor(-0.5)",
        {"fixed": {"sd(gp(x, by=g))": 0.8, "lengthscale(gp(x, by=g))": 0.3, "sigma": 0.5}},
    ),
    "levels of other curves": (
        "y ~ gp(x, by=b) + b + C(g) | censor(-0.5)",
        {"fixed": {"sd(gp(x, by=b))": 0.8, "lengthscale(gp(x, by=b))": 0.3, "sigma": 0.5}},
    ),
    "beside a chain": ("y ~ gp(x, kernel='matern12', approximation='markov') + C(g) | censor(-0.5)", {}),
    # Which inducing inputs are chosen turns with the last digits.
    "searched": ("y ~ gp(x) + C(g) | censor(-0.5)", {"fixed": {}, "method": tg.EP(inducing=np.linspace(0.0, 1.0, 12))}),
    "no process": ("y ~ z + C(g) + re(h) | censor(-0.5)", {"fixed": {}}),
    "other intercepts": ("y ~ gp(x) + C(g) + re(h) | censor(-0.5)", {"fixed": {**KNOWN, "sd(re(h))": 0.7}}),
}


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_an_array(name, data, monkeypatch):
    formula, options = MODELS[name]
    alike(*both(monkeypatch, formula, data, **{"fixed": KNOWN, **options}))


def fit(monkeypatch, formula, data, **options):
    monkeypatch.setattr(linear_columns, "MOST_DENSE", 4)
    return tg.fit(formula, data, **options)


def test_factor_shares_the_groups_of_its_levels(data, monkeypatch):
    """Two groupings would leave one of them among the common columns."""
    res = fit(monkeypatch, "y ~ gp(x) + C(g) + re(g) | censor(-0.5)", data, fixed={**KNOWN, "sd(re(g))": 0.7})
    layout, factor = res.parts.fitted.points[0].layout, res.parts.gp.linear.factor
    assert (factor.term, factor.first, layout.m, layout.size) == (1, 1, 2, 12)
    assert isinstance(res._linear.covariance[0], Factored)
    assert res._linear.covariance[0].root.shape == (12, layout.p)
    other = fit(monkeypatch, "y ~ gp(x) + C(h) + re(g) | censor(-0.5)", data, fixed={**KNOWN, "sd(re(g))": 0.7})
    assert (other.parts.gp.linear.factor.term, other.parts.fitted.points[0].layout.size) == (None, 29)
    reference = "y ~ gp(x) + C(g, Treatment('g03')) + re(g) | censor(-0.5)"
    assert fit(monkeypatch, reference, data, fixed={**KNOWN, "sd(re(g))": 0.7}).parts.gp.linear.factor.term is None


def test_draws_have_the_moments_of_the_coefficients(data, monkeypatch):
    res = fit(monkeypatch, "y ~ gp(x) + C(g) + z | censor(-0.5)", data, fixed=KNOWN)
    p, V = res.parts.fitted.n_linear, res.cov_params().to_numpy()
    drawn = draw_process(res.parts, 20_000, 1, question="a test").parameters()[:, :p]
    root = np.linalg.cholesky(V[:p, :p])
    z = np.linalg.solve(root, (drawn - res.params.to_numpy()[:p]).T)
    assert np.abs(z.mean(axis=1)).max() < 4.5 / np.sqrt(20_000)
    np.testing.assert_allclose(np.cov(z), np.eye(p), atol=4.5 * np.sqrt(2.0 / 20_000))


def test_contrasts_are_those_of_the_whole_covariance(data, monkeypatch):
    res = fit(monkeypatch, "y ~ gp(x) + C(g) + z | censor(-0.5)", data)
    assert len(res.parts.fitted.points) > 1
    a, b = res.params.index.get_indexer(["C(g)[T.g02]", "C(g)[T.g07]"])
    V = res.cov_params().to_numpy()
    test = res.t_test("C(g)[T.g02] = C(g)[T.g07]")
    assert test.sd[0] ** 2 == pytest.approx(V[a, a] + V[b, b] - 2.0 * V[a, b], rel=1e-10)
    np.testing.assert_allclose(res.bse.iloc[[a, b]], np.sqrt(V[[a, b], [a, b]]), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["y ~ gp(x) + C(g) + re(g) | censor(-0.5)", "y ~ gp(x) + C(b):g | censor(-0.5)"])
def test_stored_fits_answer_the_same(formula, data, monkeypatch, tmp_path):
    res = fit(monkeypatch, formula, data, method=tg.EP(hyper="maximize"))
    res.save(tmp_path / "fit.tgp")
    read = tg.load(tmp_path / "fit.tgp")
    pd.testing.assert_frame_equal(read.cov_params(), res.cov_params())
    pd.testing.assert_frame_equal(read.predict(data, se=True), res.predict(data, se=True))
    pd.testing.assert_frame_equal(read.predict(data, what="terms"), res.predict(data, what="terms"))
    assert without_tests(read.summary()) == without_tests(res.summary())


@pytest.mark.parametrize(
    "change", [{"first": 1}, {"term": 0}, {"start": 2}, {"size": 10}, {"grouping": Grouping("g", 12)}, None], ids=str
)
def test_stored_factors_that_are_not_the_formula_s_are_refused(change, data, monkeypatch, tmp_path):
    res = fit(monkeypatch, "y ~ gp(x) + C(g) | censor(-0.5)", data, fixed=KNOWN)
    prior = res.parts.gp.linear
    factor = None if change is None else prior.factor._replace(**change)
    changed = replace(res.parts, gp=replace(res.parts.gp, linear=replace(prior, factor=factor)))
    GPResults.from_parts(changed).save(tmp_path / "fit.tgp")
    with pytest.raises(DataError, match="absorbed factor is not that of the formula"):
        tg.load(tmp_path / "fit.tgp")


def test_summary_says_where_the_prior_of_the_intercept_is(data, monkeypatch):
    res = fit(monkeypatch, "y ~ gp(x) + C(g) | censor(-0.5)", data, fixed=KNOWN)
    assert "at the base level" in " ".join(str(res.summary(details=True)).split())


def test_random_intercepts_beside_the_factor_are_its_terms(data, monkeypatch):
    res = fit(monkeypatch, "y ~ gp(x) + C(g) + re(g) | censor(-0.5)", data, fixed={**KNOWN, "sd(re(g))": 0.7})
    first = data.drop_duplicates("g").sort_values("g")
    terms = res.predict(first, what="terms", interval=0.95)["re(g)"][["estimate", "lower"]]
    np.testing.assert_allclose(res.group_effects("re(g)")[["estimate", "lower"]], terms, rtol=1e-9, atol=1e-12)


def test_approximations_have_the_prior_of_the_factor(data, monkeypatch):
    """The exact evidence has it as a covariance between rows, whose levels it ties."""
    seen = data.assign(y=data.y + 0.1 * data.z)
    res = fit(monkeypatch, "y ~ gp(x) + C(g)", seen, fixed=KNOWN)
    found = tg.compare_bounds(res)
    assert found.attrs["reference"] == "exact"
    assert abs(found.loc["ep", "diff"]) < 0.02
    assert found.loc["ep", "value"] == pytest.approx(res.log_evidence, abs=1e-6)


def test_effects_of_levels_are_their_coefficients(data, monkeypatch):
    res = fit(monkeypatch, "y ~ gp(x) + C(g) + z | censor(-0.5)", data, fixed=KNOWN)
    effects = res.marginal_effects().loc["g"]
    own = res.params[[f"C(g)[T.{level}]" for level in sorted(data.g.unique())[1:]]]
    np.testing.assert_allclose(effects["dydx"], own, rtol=1e-6)
    np.testing.assert_allclose(effects["se"], res.bse[own.index], rtol=1e-6)


def test_partitions_are_the_rows_in_memory(data, monkeypatch, tmp_path):
    formula, options = "y ~ gp(x) + C(g) + re(g) | censor(-0.5)", {"fixed": {**KNOWN, "sd(re(g))": 0.7}}
    whole = fit(monkeypatch, formula, data, **options)
    for i in range(3):
        data.iloc[i::3].to_parquet(tmp_path / f"{i}.parquet")
    monkeypatch.setattr("tobitgp.inference.search.SAMPLE_ROWS", 150)
    parts = fit(monkeypatch, formula, f"{tmp_path}/*.parquet", **options)
    assert parts.parts.gp.linear.factor == whole.parts.gp.linear.factor
    assert parts.log_evidence == pytest.approx(whole.log_evidence, abs=1e-3)
    np.testing.assert_allclose(parts.params, whole.params, atol=1e-3)
    np.testing.assert_allclose(parts.bse, whole.bse, rtol=1e-3)
