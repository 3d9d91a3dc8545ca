"""Terms add up, can be left out, and free their columns."""

import numpy as np
import pandas as pd
import pytest
from support.dense import at_its_average

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.kinds.process_nodes import term_nodes
from tobitgp.results.terms import model_terms

WEIGHTS = np.tile([1.0, 2.0, 4.0], 20)


@pytest.fixture(scope="module")
def additive(mixed):
    data = mixed.assign(t=np.linspace(0.0, 1.0, len(mixed)), o=0.3 * mixed["z"])
    formula = "y ~ poly(z, 2) + g + gp(x) + gp(t) + offset(o) | censor(low, 1.4)"
    return tg.fit(formula, data, method=tg.EP(hyper="integrate")), data


def means(table):
    return table.xs("estimate", axis=1, level="statistic")


def test_terms_add_up_to_latent(additive, averaged, ammonium):
    for res in (additive[0], averaged, ammonium):
        table = res.predict(what="terms", interval=0.9)
        assert table.columns.names == ["term", "statistic"]
        assert np.allclose(means(table).sum(axis=1), res.predict(what="latent"), atol=1e-10, rtol=0)
        assert list(table.columns.get_level_values(0).unique()) == [term.name for term in model_terms(res.parts)]
    names = list(means(additive[0].predict(what="terms")).columns)
    assert names == ["Intercept", "poly(z, 2)", "g", "gp(x)", "gp(t)", "offset"]


def test_quoted_names():
    data = pd.DataFrame({"a b": [0.0, 1.0, 2.0, 4.0], "y": [1.0, 2.0, 3.0, 5.0]})
    res = tg.fit("y ~ `a b` + I(`a b` ** 2)", data, fixed={"sigma": 1.0}, method="ep")
    assert [term.name for term in model_terms(res.parts)][:2] == ["Intercept", "a b"]
    assert np.allclose(means(res.predict(what="terms")).sum(axis=1), res.predict(), atol=1e-10)
    assert np.allclose(
        res.predict(data, exclude="a b"), res.predict() - means(res.predict(what="terms"))["a b"], atol=1e-10
    )


@pytest.mark.parametrize("draws", [60_000, pytest.param(1_000_000, marks=pytest.mark.study)])
def test_bands_against_draws(averaged, rng, draws):
    """Draws of the weights themselves, term by term."""
    parts = averaged.parts
    fitted, gp, rows = parts.fitted, parts.gp, slice(0, 4)
    table = averaged.predict(what="terms", interval=0.9).iloc[rows]
    inputs = [at.rows(rows) for at in gp.inputs(parts.training.design)]
    j = rng.choice(len(fitted.weights), draws, p=fitted.weights)
    g, z = np.empty((draws, 4)), np.empty(draws)
    for k, point in enumerate(fitted.points):
        mine = j == k
        S = np.linalg.inv(point.factor.L @ point.factor.L.T)
        w = rng.multivariate_normal(point.w, 0.5 * (S + S.T), size=mine.sum(), method="cholesky")
        A, d, _ = point.blocks[1].features(inputs[1].X)
        A = A - point.blocks[1].features(gp.inputs(parts.training.design)[1].X).A.mean(axis=0)
        A = np.concatenate([A, inputs[2].X], axis=1)  # the line
        e = np.sqrt(d) * rng.normal(size=(mine.sum(), 4))
        g[mine] = gp.problem.units.scale * (w[:, fitted.n_linear :] @ A.T + e)
        z[mine] = gp.linear.mean[1] + gp.linear.sd[1] * w[:, 1]
    effect = np.outer(z, parts.training.design.H[rows, 1])
    for draw, name in ((g, "gp(x)"), (effect, "z")):
        sd = draw.std(axis=0)
        assert (np.abs(draw.mean(axis=0) - table[name]["estimate"]) < 5 * sd / np.sqrt(draws)).all()
        assert np.allclose(sd, table[name]["se"], rtol=0.02)
        for end, p in (("lower", 0.05), ("upper", 0.95)):
            share = (draw < table[name][end].to_numpy()).mean(axis=0)
            assert (np.abs(share - p) < 5 * np.sqrt(p * (1 - p) / draws)).all()


@pytest.mark.slow
def test_excluded_terms_are_zero(additive):
    res, data = additive
    table = means(res.predict(what="terms"))
    for name in ("poly(z, 2)", "g", "gp(x)", "gp(t)", "offset"):
        rest = res.predict(what="latent", exclude=[name])
        assert np.allclose(rest, table.drop(columns=name).sum(axis=1), atol=1e-10)
        assert np.allclose(res.predict(data, "latent", exclude=name), rest, atol=1e-10)
        assert name not in res.predict(what="terms", exclude=name).columns.get_level_values(0)
    both = res.predict(what="latent", exclude=["gp(x)", "gp(t)"], se=True)
    assert (both["se"] > 0).all()


def test_an_excluded_process_has_no_spread(maximised, mixed):
    with_gp, without = (
        maximised.predict(what="latent", se=True),
        maximised.predict(what="latent", se=True, exclude="gp(x)"),
    )
    q = term_nodes(maximised.parts, maximised.parts.training.design)["gp(x)"]
    assert not np.allclose(with_gp["estimate"], without["estimate"])
    assert np.allclose(with_gp["estimate"] - without["estimate"], q.mean[0])
    mean, V = at_its_average(maximised, maximised.parts.training.design.H)
    assert np.allclose(without["estimate"], mean)
    assert np.allclose(without["se"] ** 2, np.diag(V))


def test_a_process_beside_an_intercept_is_measured_from_its_average(averaged, mixed):
    table = averaged.predict(what="terms", se=True)
    assert np.isclose(table[("gp(x)", "estimate")].mean(), 0.0, atol=1e-10)
    assert np.isclose(table[("Intercept", "se")].iloc[0], averaged.bse["Intercept"])
    options = {"weights": WEIGHTS, "method": tg.EP(hyper="maximize"), "fixed": {"sigma": 0.3}}
    weighted = tg.fit("y ~ z + g + gp(x) | censor(low, 1.4)", mixed, **options)
    part = weighted.predict(what="terms")[("gp(x)", "estimate")]
    assert np.isclose(np.average(part, weights=WEIGHTS), 0.0, atol=1e-10)


@pytest.mark.parametrize("formula", ["y ~ 0 + gp(x)", "y ~ 0 + z + gp(x)"])
def test_without_an_intercept_a_process_keeps_its_level(mixed, formula):
    res = tg.fit(f"{formula} | censor(low, 1.4)", mixed, method=tg.EP(hyper="maximize"))
    table = means(res.predict(what="terms"))
    assert np.allclose(table.sum(axis=1), res.predict(what="latent"), atol=1e-10)
    assert abs(table["gp(x)"].mean()) > 0.1
    only = res.predict(what="latent", exclude="gp(x)")
    assert np.allclose(only, table.drop(columns="gp(x)").sum(axis=1), atol=1e-10)


@pytest.mark.slow
def test_excluded_terms_free_their_columns(additive):
    res, data = additive
    new = data.head(5)
    for what in ("latent", "observed", "terms"):
        whole = res.predict(new, what, exclude=["gp(x)", "g"])
        less = res.predict(new.drop(columns=["x", "g"]), what, exclude=["gp(x)", "g"])
        (pd.testing.assert_series_equal if what != "terms" else pd.testing.assert_frame_equal)(whole, less)
    assert np.allclose(res.predict(new.assign(g="new"), exclude="g"), res.predict(new, exclude="g"))
    assert res.predict(new.assign(x=np.nan), exclude="gp(x)").notna().all()
    as_dict = {name: new[name].tolist() for name in ("z", "t", "o")}
    assert np.allclose(res.predict(as_dict, exclude=["gp(x)", "g"]), res.predict(new, exclude=["gp(x)", "g"]))
    with pytest.raises(DataError, match="'z'"):
        res.predict(new.drop(columns="z"), exclude="gp(x)")


def test_shared_columns_are_still_needed(mixed):
    res = tg.fit("y ~ x + gp(x)", mixed, fixed={"sigma": 0.5})
    with pytest.raises(DataError, match="'x'"):
        res.predict({"z": [1.0]}, exclude="x")
    assert np.allclose(
        res.predict(pd.DataFrame(index=[7, 8]), "latent", exclude=["x", "gp(x)"]),
        means(res.predict(what="terms"))["Intercept"].iloc[:2],
    )


@pytest.mark.parametrize("name", ["gp(z)", "Intercept", 3])
def test_unknown_terms_are_refused(averaged, name):
    with pytest.raises(SpecError, match=r"'z', 'g', 'gp\(x\)'"):
        averaged.predict(exclude=[name])


def test_categories_codings_and_named_processes(mixed):
    data = mixed.assign(g=pd.Categorical(mixed["g"]), k=np.arange(len(mixed)) % 3).rename(columns={"z": "a b"})
    formula = "y ~ C(k) + g + `a b`:g + gp(log(1 + x), name='curve') + offset(0.1 * x) | censor(low, 1.4)"
    res = tg.fit(formula, data, method=tg.EP(hyper="maximize"))
    table = means(res.predict(what="terms"))
    assert list(table.columns) == ["Intercept", "C(k)", "g", "`a b`:g", "curve", "offset"]
    assert np.allclose(table.sum(axis=1), res.predict(what="latent"), atol=1e-10, rtol=0)
    for names, columns in ((["C(k)"], ["k"]), (["curve", "offset"], ["x"]), (["g", "`a b`:g"], ["g", "a b"])):
        assert np.allclose(res.predict(data.drop(columns=columns), exclude=names), res.predict(exclude=names))
    effects = res.marginal_effects()
    assert effects.index.get_level_values(0).tolist() == ["k", "k", "g", "a b", "x"]
    assert np.isclose(effects.loc[("k", "2 - 0"), "dydx"], res.params["C(k)[T.2]"])


def test_a_prior_of_the_intercept_leaves_processes_centred(mixed):
    res = tg.fit(
        "y ~ gp(x) | censor(low, 1.4)", mixed, priors={"Intercept": tg.Normal(0.0, 1.0)}, method=tg.EP(hyper="maximize")
    )
    assert np.isclose(res.predict(what="terms")[("gp(x)", "estimate")].mean(), 0.0, atol=1e-10)
    known = tg.fit("y ~ gp(x) | censor(low, 1.4)", mixed, fixed={"Intercept": 0.3}, method=tg.EP(hyper="maximize"))
    assert np.allclose(means(known.predict(what="terms"))["Intercept"], 0.3)
