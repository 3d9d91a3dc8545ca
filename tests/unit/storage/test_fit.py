"""A loaded fit answers as the fit that was saved."""

import copy
import io
import os
import pickle
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from support.methods import having, with_settings
from support.processes import environment, printed_by
from support.stored import LINEAR, again, assert_same, quiet_fit
from support.summary_texts import without_tests

import tobitgp as tg
from tobitgp.errors import DataError, SpecError

QUICK = {"method": tg.EP(hyper="maximize", n_starts=1)}


def check_estimates(res, loaded):
    assert without_tests(loaded.summary()) == without_tests(res.summary())
    assert repr(loaded) == repr(res)
    for name in ("params", "bse", "tvalues", "pvalues", "counts", "fit_history"):
        assert_same(getattr(res, name), getattr(loaded, name))
    for name in ("nobs", "df_model", "log_evidence", "elbo", "log_evidence_integrated"):
        assert np.array_equal(getattr(res, name), getattr(loaded, name), equal_nan=True), name
    for name in ("evidence_kind", "converged", "method", "formula", "hyperparameters"):
        assert getattr(res, name) == getattr(loaded, name), name
    assert_same(res.conf_int(0.1), loaded.conf_int(0.1))
    assert_same(res.cov_params(), loaded.cov_params())
    assert loaded.model.exog_names == res.model.exog_names
    assert loaded.model.spec == res.model.spec


def check_predictions(res, loaded, new, *, limits=True):
    whats = ["latent", "median", "uncensored", "terms"] + ["observed"] * limits
    whats += ["conditional"] * (res.model.spec.response.kind != "interval")
    for what in whats:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_same(res.predict(new, what, interval=0.9, se=True), loaded.predict(new, what, interval=0.9, se=True))
    assert_same(res.predict(new, "quantile", q=[0.1, 0.5]), loaded.predict(new, "quantile", q=[0.1, 0.5]))
    assert_same(res.predict(new, "prob", below=1.0), loaded.predict(new, "prob", below=1.0))
    assert_same(tuple(res.posterior(new)), tuple(loaded.posterior(new)))
    assert_same(res.sample(new, 7, rng=3), loaded.sample(new, 7, rng=3))
    assert_same(res.get_prediction(new).summary_frame(), loaded.get_prediction(new).summary_frame())


@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
@pytest.mark.parametrize("family", ["gaussian", "lognormal"])
@pytest.mark.parametrize("hyper", ["integrate", "maximize"])
def test_methods_families_and_averages(rich, tmp_path, method, family, hyper):
    res = quiet_fit(
        "y ~ z + g + gp(x) | censor(low, 1.6)", rich, method=having(method, hyper=hyper, n_starts=1), family=family
    )
    loaded = again(res, tmp_path)
    check_estimates(res, loaded)
    check_predictions(res, loaded, rich.iloc[::4])
    assert_same(
        res.t_test("z = 0, g[T.b] = g[T.c]").summary_frame(), loaded.t_test("z = 0, g[T.b] = g[T.c]").summary_frame()
    )
    assert str(res.wald_test("z = 0")) == str(loaded.wald_test("z = 0"))


@pytest.mark.parametrize("linear", LINEAR)
def test_linear_parts(rich, tmp_path, linear):
    res = quiet_fit(f"y ~ {linear} | censor(low, 1.6)", rich, method="ep", fixed={"sigma": 0.3})
    loaded = again(res, tmp_path)
    check_estimates(res, loaded)
    new = rich.iloc[[3, 10, 4, 22]]
    assert_same(res.predict(new, "terms", se=True), loaded.predict(new, "terms", se=True))
    names = [name for name in res.predict(new, "terms").columns.get_level_values(0).unique() if name != "Intercept"]
    free = rich[["low"]].iloc[:3]
    assert_same(res.predict(free, exclude=names), loaded.predict(free, exclude=names))
    if "day" not in linear and linear != "1":
        assert_same(res.marginal_effects(at="mean"), loaded.marginal_effects(at="mean"))
        assert_same(res.marginal_effects("prob", new, below=1.0), loaded.marginal_effects("prob", new, below=1.0))


@pytest.mark.parametrize(
    ("formula", "limits"),
    [
        ("y ~ gp(x) | censor(0.8)", True),
        ("y ~ gp(x, t) | censor(upper=1.6)", True),
        ("y ~ 0 + gp(x, t, ard=False, kernel='matern32') | censor(low, 1.6)", True),
        ("y ~ gp(x, name='trend') + gp(log(x) + z, kernel='matern12') | censor(low)", True),
        ("Surv(y, seen) ~ g + gp(t)", False),
        ("interval(low, y) ~ z + gp(x)", False),
        ("text ~ z + gp(x)", False),
        ("y ~ z | censor(event=seen)", False),
        ("y ~ offset(`a b`) + gp(x)", True),
        ("y ~ gp(decimal_year(day))", True),
    ],
)
def test_processes_and_censoring(rich, tmp_path, formula, limits):
    res = quiet_fit(formula, rich, family="gaussian", **QUICK)
    loaded = again(res, tmp_path)
    check_estimates(res, loaded)
    check_predictions(res, loaded, rich.iloc[::5], limits=limits)
    if not limits:
        with pytest.raises(SpecError, match="unknown"):
            loaded.predict(rich, "observed")


def test_dot_weights_and_dict(rich, tmp_path):
    data = rich[["w", "z", "y", "x", "u", "k"]]
    res = quiet_fit("y ~ x + . - k", data, weights="w", method="ep", fixed={"sigma": 0.3})
    loaded = again(res, tmp_path)
    check_estimates(res, loaded)
    assert loaded.nobs == data["w"].sum()
    columns = {name: data[name].tolist() for name in data}
    assert_same(res.predict(columns), loaded.predict(columns))
    assert_same(
        quiet_fit("y ~ x + . - k", columns, weights="w", method="ep", fixed={"sigma": 0.3}).params, loaded.params
    )


def test_priors_fixed_inducing_and_dropped_rows(rich, tmp_path):
    data = rich.assign(z=rich["z"].where(rich.index > 3))
    options = {
        "method": tg.EP(inducing=None),
        "fixed": {"z": 0.25, "sigma": 0.2},
        "priors": {"sd(gp(x))": tg.LogNormal(1.0, 0.5)},
    }
    res = quiet_fit("y ~ z + gp(x) | censor(low, 1.6)", data, censored="drop", **options)
    check_estimates(res, again(res, tmp_path))
    res = quiet_fit("y ~ z + gp(x) | censor(low, 1.6)", data, censored="ignore", priors={}, **QUICK)
    check_estimates(res, again(res, tmp_path))


def test_own_functions(rich, tmp_path):
    given = {"half": lambda x: x / 2, "twice": lambda x: 2 * x, "spare": lambda x: x}
    res = quiet_fit("y ~ half(z) + bs(twice(x), df=4) + gp(half(t))", rich, functions=given, **QUICK)
    loaded = again(res, tmp_path, given)
    check_predictions(res, loaded, rich.iloc[::5])
    with pytest.raises(SpecError, match="'twice': twice"):
        tg.load(tmp_path / "a.tgp")
    with pytest.raises(SpecError, match=r"functions=\{'half': half\}"):
        tg.load(tmp_path / "a.tgp", {"twice": given["twice"]})
    with pytest.raises(SpecError, match="functions="):
        tg.load(tmp_path / "a.tgp", [1])


def test_what_needs_rows_says_so(stored, rich, tmp_path):
    loaded = again(stored[0], tmp_path)
    message = "holds no training rows"
    for ask in (
        loaded.predict,
        lambda: loaded.predict(what="conditional"),
        lambda: loaded.predict(what="terms"),
        loaded.residuals,
        loaded.posterior,
        loaded.sample,
        lambda: loaded.get_prediction().summary_frame(),
        loaded.marginal_effects,
        loaded.plot,
        loaded.plot_terms,
        loaded.plot_residuals,
    ):
        with pytest.raises(SpecError, match=message):
            ask()
    assert loaded.model.data.frame is None
    loaded.plot_evidence().figure.canvas.draw()
    assert_same(stored[0].marginal_effects("observed", "mean"), loaded.marginal_effects("observed", "mean"))


def test_the_file_holds_no_rows_and_no_names(stored, rich, tmp_path):
    with zipfile.ZipFile(io.BytesIO(stored[1])) as archive:
        shapes = [np.load(archive.open(name)).shape for name in archive.namelist()[1:]]
        text = archive.read("fit.json").decode()
        dates = {entry.date_time for entry in archive.infolist()}
    assert not any(len(rich) in shape for shape in shapes)
    assert dates == {(1980, 1, 1, 0, 0, 0)}
    for word in (str(tmp_path), os.path.expanduser("~"), os.getcwd(), '"day"', '"t"', '"text"'):
        assert word not in text


@pytest.mark.slow
def test_same_bytes_in_another_process(stored, tmp_path):
    code = "import sys, tobitgp as tg, pickle; res = pickle.load(open(sys.argv[1], 'rb')); res.save(sys.argv[2])"
    (tmp_path / "fit.pickle").write_bytes(pickle.dumps(stored[0]))
    for seed in ("1", "2"):
        path = tmp_path / f"{seed}.tgp"
        printed_by("-c", code, tmp_path / "fit.pickle", path, env=environment(PYTHONHASHSEED=seed))
        assert path.read_bytes() == stored[1]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda res: pickle.loads(pickle.dumps(res))])
def test_pickle_and_deepcopy(stored, rich, tmp_path, duplicate):
    for res in (stored[0], again(stored[0], tmp_path)):
        other = duplicate(res)
        check_estimates(res, other)
        check_predictions(res, other, rich.iloc[::7])


def test_replaces_a_file_and_leaves_nothing_behind(stored, tmp_path, monkeypatch):
    path = tmp_path / "fit.tgp"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(DataError, match=r"fit\.tgp cannot be written: disk on fire"):
        stored[0].save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["fit.tgp"]
    assert path.read_text() == "old"
    monkeypatch.undo()
    stored[0].save(str(path))
    assert path.read_bytes() == stored[1]
    assert [p.name for p in tmp_path.iterdir()] == ["fit.tgp"]


def fail(*args):
    raise OSError(5, "disk on fire")


def test_places_that_are_no_file(stored, tmp_path):
    with pytest.raises(DataError, match="is a folder"):
        stored[0].save(tmp_path)
    with pytest.raises(DataError, match="there is no folder"):
        stored[0].save(tmp_path / "nowhere" / "fit.tgp")
    for path in (tmp_path, tmp_path / "nothing.tgp"):
        with pytest.raises(DataError, match="cannot be read"):
            tg.load(path)
    for path in (None, 3, b"fit.tgp", ""):
        with pytest.raises(SpecError, match="not the name of a file"):
            tg.load(path)
        with pytest.raises(SpecError, match="not the name of a file"):
            stored[0].save(path)


def test_through_a_link(stored, tmp_path):
    (tmp_path / "real.tgp").write_text("old")
    (tmp_path / "link.tgp").symlink_to(tmp_path / "real.tgp")
    stored[0].save(tmp_path / "link.tgp")
    assert (tmp_path / "link.tgp").is_symlink()
    assert (tmp_path / "real.tgp").read_bytes() == stored[1]


def test_levels_that_are_dates(rich, tmp_path):
    data = rich.assign(g=pd.Categorical(rich["day"].dt.to_period("Y").dt.to_timestamp()))
    res = quiet_fit("y ~ g", data, method="ep", fixed={"sigma": 1.0})
    assert_same(res.predict(data), again(res, tmp_path).predict(data))


def test_a_fit_made_without_its_data(stored, rich, tmp_path):
    parts = stored[0].parts
    bare = tg.GPResults(parts.spec, parts.training, parts.gp, parts.fitted)
    loaded = again(bare, tmp_path)
    assert_same(stored[0].predict(rich), loaded.predict(rich))
    with pytest.raises(SpecError, match="no training rows"):
        loaded.marginal_effects(at="mean")


def test_memory_order_is_kept(rich, tmp_path):
    """BLAS takes other ways, and rounds otherwise, for transposed matrices."""
    res = quiet_fit("y ~ 0 + gp(x) + gp(t) | censor(low, 1.6)", rich, **with_settings(QUICK, inducing=None))
    loaded = again(res, tmp_path)
    for a, b in zip(res.parts.fitted.points, loaded.parts.fitted.points, strict=True):
        pairs = [(a.factor.L, b.factor.L), *((x.L, y.L) for x, y in zip(a.blocks[:2], b.blocks[:2], strict=True))]
        for x, y in pairs:
            assert (x.strides[0] < x.strides[1]) == (y.strides[0] < y.strides[1])
