"""A loaded mixture answers as the one that was saved."""

import warnings

import numpy as np
import pandas as pd
import pytest
from support.mixtures import NAMES
from support.stored import again, assert_same

import tobitgp as tg
from tobitgp.errors import DataError, SpecError

NUMBERS = ("nobs", "df_model", "elbo", "log_evidence", "llf", "aic", "bic", "n_effective", "converged", "method")


@pytest.fixture
def data(rng):
    y = np.concatenate([rng.poisson(4.0, 40), rng.poisson(20.0, 40)]).astype(float) + 1.0
    return pd.DataFrame({"y": y.clip(2.0, 25.0)})


def quiet(formula, data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = tg.fit(formula, data, **options)
        res.cov_params()
        return res


def check(res, loaded, data):
    assert type(loaded) is tg.MixtureResults
    assert repr(loaded) == repr(res)
    assert str(loaded.summary(0.1)) == str(res.summary(0.1))
    for name in NUMBERS:
        assert repr(getattr(res, name)) == repr(getattr(loaded, name)), name
    for name in ("params", "bse", "counts", "components", "fit_history"):
        assert_same(getattr(res, name), getattr(loaded, name))
    assert_same(res.cov_params(), loaded.cov_params())
    options = {} if res.parts.family.name == "poisson" else {"interval": 0.9}
    for what in ("uncensored", "observed", "conditional"):
        assert_same(res.predict(data, what, se=True), loaded.predict(data, what, se=True))
    assert_same(res.predict(data, "median", **options), loaded.predict(data, "median", **options))
    assert_same(res.predict(data, "component"), loaded.predict(data, "component"))
    curve = [one.predict_survival_function(times=[3.0, 9.0], interval=0.9) for one in (res, loaded)]
    assert_same(*curve)
    assert loaded.score(data) == res.score(data)
    assert loaded.parts.fit.method == res.parts.fit.method
    assert loaded.model.spec == res.model.spec


@pytest.mark.filterwarnings("ignore:The mean of this distribution is infinite")
@pytest.mark.parametrize("family", NAMES)
@pytest.mark.parametrize(
    "method", [tg.VBCM(n_init=3), tg.SVBCM(n_steps=200), tg.EMCM(floor=0.01)], ids=lambda m: m.name
)
@pytest.mark.filterwarnings("ignore:The mean of this distribution is infinite")
def test_families_and_methods(family, method, data, tmp_path):
    res = quiet("y ~ mixture(2) | censor(2, 25)", data, family=family, method=method)
    check(res, again(res, tmp_path), data)


@pytest.mark.slow
def test_families_made_of_functions(data, tmp_path):
    res = quiet("y ~ mixture(2) | censor(2, 25)", data, family="gamma", method=tg.VBCM(n_init=1))
    check(res, again(res, tmp_path), data)


def test_what_was_tried_and_processes(data, tmp_path):
    res = quiet("y ~ mixture(range(1, 4)) | censor(2, 25)", data)
    loaded = again(res, tmp_path)
    check(res, loaded, data)
    assert_same(res.selection, loaded.selection)
    process = quiet("y ~ mixture('dp', max_components=4) | censor(2, 25)", data, priors={"concentration": 0.5})
    check(process, again(process, tmp_path), data)


def test_files_hold_no_rows(data, tmp_path):
    res = quiet("y ~ mixture(2) | censor(2, 25)", data)
    loaded = again(res, tmp_path)
    assert loaded.parts.training is None
    for ask in (loaded.predict, loaded.residuals, loaded.plot_components, loaded.predict_survival_function):
        with pytest.raises(SpecError, match="holds no training rows"):
            ask()
    many = quiet("y ~ mixture(2) | censor(2, 25)", pd.concat([data] * 50, ignore_index=True))
    many.save(tmp_path / "many.tgp")
    res.save(tmp_path / "one.tgp")
    assert (tmp_path / "many.tgp").stat().st_size < 1.5 * (tmp_path / "one.tgp").stat().st_size


def test_loaded_mixtures_are_compared(data, tmp_path):
    fits = {f"{k}": quiet(f"y ~ mixture({k}) | censor(2, 25)", data) for k in (1, 2)}
    loaded = {name: again(res, tmp_path) for name, res in fits.items()}
    assert_same(tg.compare(fits), tg.compare(loaded))


BROKEN = {
    "order": lambda fit: fit.order[::-1] * 0,
    "counts": lambda fit: fit.counts[:1],
    "state": lambda fit: fit.state._replace(components=fit.state.components[:, :1]),
}


@pytest.mark.parametrize("field", BROKEN)
def test_parts_that_do_not_belong_together_are_refused(field, data, tmp_path):
    from dataclasses import replace

    res = quiet("y ~ mixture(2) | censor(2, 25)", data)
    parts = replace(res._with_covariance, fit=replace(res.parts.fit, **{field: BROKEN[field](res.parts.fit)}))
    tg.MixtureResults(parts).save(tmp_path / "broken.tgp")
    with pytest.raises(DataError, match="cannot be loaded"):
        tg.load(tmp_path / "broken.tgp")
