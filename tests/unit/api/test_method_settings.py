"""Methods as values with settings, and errors that say where a setting is written."""

import copy
import dataclasses
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.method_value import MethodValue

LINEAR, PROCESS, MIXTURE = "y ~ x | censor(lower)", "y ~ gp(x) | censor(lower)", "y ~ mixture(2)"
TRIED = {"sigma": 0.3, "sd(gp(x))": 8.0, "lengthscale(gp(x))": 0.2}
VALUES = [tg.EP(), tg.VI(), tg.Laplace(), tg.MLE(), tg.VBCM(), tg.SVBCM(), tg.EMCM()]


@pytest.fixture(scope="module")
def data():
    return tg.datasets.simulate_groot_lucas()


@pytest.mark.parametrize("method", VALUES, ids=str)
def test_values_are_frozen_and_show_what_differs_from_the_defaults(method):
    assert repr(method) == f"{type(method).__name__}()"
    assert method == type(method)()
    other = dataclasses.replace(method, max_iter=7)
    assert repr(other) == f"{type(method).__name__}(max_iter=7)"
    assert eval(f"tg.{other!r}") == other != method
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.max_iter = 3


Z = np.linspace(0.0, 1.0, 4)[:, None]
LOCATED = {
    "array": lambda Z: tg.EP(inducing=Z),
    "dict": lambda Z: tg.VI(inducing={"gp(x)": Z, "gp(z)": 3}),
    "moved": lambda Z: tg.Laplace(inducing=tg.Inducing(Z)),
    "moved in a dict": lambda Z: tg.EP(inducing={"gp(x)": tg.Inducing(Z)}),
    "bands": lambda Z: tg.PH("piecewise", bands=1.0 + Z[:, 0]),
}


@pytest.mark.parametrize("of", LOCATED.values(), ids=LOCATED)
def test_settings_that_hold_arrays_are_compared_by_their_values(of):
    """Equal settings have equal hashes; another number, or another class, differs."""
    assert of(Z) == of(Z.copy()) == copy.deepcopy(of(Z)) == pickle.loads(pickle.dumps(of(Z)))
    assert len({of(Z), of(Z.copy()), of(2.0 * Z)}) == 2
    assert of(Z) != of(2.0 * Z)
    assert of(Z) not in (of(Z[:-1]), tg.EP(inducing=4), tg.EP(), "auto", None)


def test_methods_of_other_classes_differ():
    assert len({*VALUES, *(type(method)() for method in VALUES)}) == len(VALUES)
    assert tg.EP(inducing=Z) != tg.Laplace(inducing=Z)


def test_every_method_is_compared_by_value():
    """A class that forgets ``eq=False`` would compare arrays by ``==``."""

    def below(cls):
        return {sub for each in cls.__subclasses__() for sub in (each, *below(each))}

    for cls in below(MethodValue):
        assert cls.__eq__ is MethodValue.__eq__, cls
        assert cls.__hash__ is MethodValue.__hash__, cls


@pytest.mark.parametrize("method", [tg.VI(inducing=4, hyper="maximize"), tg.Laplace(inducing=4, n_starts=1), tg.EP()])
def test_advice_is_the_method_of_the_user_with_one_setting_changed(data, method):
    """In summaries, warnings and errors about the settings, whatever else the user set."""
    fixed = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.02, "sigma": 0.1}
    finer = dataclasses.replace(method, inducing=None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        res = tg.fit(PROCESS, data, method=dataclasses.replace(method, inducing=4), fixed=fixed)
    advice = f"method=tg.{finer!r}, or approximation='vecchia' in gp()"
    assert any(advice in str(one.message) for one in caught)
    assert advice in res.check().table.loc["inducing inputs", "words"]
    maximised = tg.fit(PROCESS, data, method=dataclasses.replace(method, inducing="auto", hyper="maximize"))
    integrating = dataclasses.replace(method, inducing="auto", hyper="integrate")
    with pytest.raises(SpecError, match=re.escape(f"Fit with method=tg.{integrating!r}.")):
        tg.compare([maximised], by="log_evidence_integrated")


def test_long_values_are_shown_by_dots():
    assert repr(tg.EP(inducing=np.linspace(0, 1, 50)[:, None], tol=1e-3)) == "EP(inducing=..., tol=0.001)"


@pytest.mark.parametrize(("name", "value"), [("ep", tg.EP()), ("vi", tg.VI()), ("laplace", tg.Laplace())])
def test_a_name_means_the_default_settings(data, name, value):
    by_name, by_value = (tg.fit(PROCESS, data, method=method) for method in (name, value))
    assert by_name.log_evidence == by_value.log_evidence
    assert by_name.method == by_value.method == name


def test_maximum_likelihood_takes_as_many_steps_as_it_is_given(data):
    whole = tg.fit(LINEAR, data, method=tg.MLE(max_iter=50))
    assert whole.method == "mle"
    assert whole.llf == tg.fit(LINEAR, data).llf
    with pytest.warns(tg.errors.ConvergenceWarning, match=r"method=tg\.MLE\(max_iter=1000\)"):
        tg.fit(LINEAR, data, method=tg.MLE(max_iter=1))


def test_settings_reach_the_search(data):
    few, many = (tg.fit(PROCESS, data, method=tg.EP(inducing=m, hyper="maximize")) for m in (14, 18))
    assert [len(res.inducing_inputs["gp(x)"]) for res in (few, many)] == [14, 18]
    assert len(few.parts.fitted.points) == 1
    assert len(tg.fit(PROCESS, data, method=tg.EP(hyper="integrate")).parts.fitted.points) > 1
    loose = tg.fit(PROCESS, data, method=tg.EP(hyper="maximize", n_starts=1, tol=1.0))
    assert len(loose.fit_history) <= len(tg.fit(PROCESS, data, method=tg.EP(hyper="maximize", n_starts=4)).fit_history)


MOVED = [
    (PROCESS, {"hyper": "integrate"}, "hyper='integrate'", "tg.EP(hyper='integrate')"),
    (PROCESS, {"inducing": 20, "n_starts": 4}, "inducing=20, n_starts=4", "tg.EP(inducing=20, n_starts=4)"),
    (PROCESS, {"bound": "local"}, "bound='local'", "tg.VI(bound='local')"),
    (PROCESS, {"bound": "local", "method": "vi"}, "bound='local'", "tg.VI(bound='local')"),
    (PROCESS, {"tol": 0.1, "method": "laplace"}, "tol=0.1", "tg.Laplace(tol=0.1)"),
    (PROCESS, {"max_iter": 9}, "max_iter=9", "tg.EP(max_iter=9)"),
    (LINEAR, {"max_iter": 9}, "max_iter=9", "tg.MLE(max_iter=9)"),
    (LINEAR, {"hyper": "maximize"}, "hyper='maximize'", "tg.EP(hyper='maximize')"),
    (MIXTURE, {"n_starts": 3, "tol": 1e-6}, "n_starts=3, tol=1e-06", "tg.VBCM(n_init=3, tol=1e-06)"),
    (MIXTURE, {"max_iter": 90, "method": "em"}, "max_iter=90", "tg.EMCM(max_iter=90)"),
    (PROCESS, {"inducing": 18, "method": tg.EP(damping=0.8)}, "inducing=18", "tg.EP(damping=0.8, inducing=18)"),
]


@pytest.mark.parametrize(("formula", "options", "shown", "written"), MOVED)
def test_a_setting_beside_the_method_is_read_and_its_new_place_named(data, formula, options, shown, written):
    expected = f"{shown}: settings of the method belong to it. Write method={written}."
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        new = tg.fit(formula, data, method=eval(written))  # what it says to write
    for call in (lambda: tg.fit(formula, data, **options), lambda: tg.Model(formula, data).fit(**options)):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            found = call()
        own = [each for each in heard if each.category is FutureWarning]
        assert [str(each.message) for each in own] == [expected]
        assert own[0].filename == __file__
        pd.testing.assert_series_equal(found.params, new.params)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "laplace", "bound": "local"}, "bound='local': tg.Laplace has no such setting. Write method=tg.VI("),
        ({"method": "mle", "hyper": "maximize"}, "hyper='maximize': tg.MLE has no such setting. Write method=tg.EP("),
        ({"method": "nuts", "hyper": "maximize"}, "method='nuts': must be one of 'auto',"),
        ({"method": tg.EP, "tol": 0.1}, "method=tg.EP: must be a value."),
    ],
)
def test_a_setting_does_not_replace_the_method_that_was_named(data, options, words):
    with pytest.raises(SpecError) as caught:
        tg.fit(PROCESS, data, **options)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    "call",
    [
        lambda data, how: tg.Model(PROCESS, data).evidence(TRIED, **how).value,
        lambda data, how: float(tg.select([PROCESS], data, **how).table["value"].iloc[0]),
        lambda data, how: float(tg.cross_validate(PROCESS, data, folds=2, rng=1, **how)["log_likelihood"].mean()),
        lambda data, how: tg.SurvivalModel("gp(x)", **how).method,
        lambda data, how: tg.sklearn.CensoredGPRegressor(**how).method,
    ],
)
def test_every_call_that_passes_options_on_reads_it(data, call):
    with pytest.warns(FutureWarning, match=r"^inducing=20: .*Write method=tg\.EP\(inducing=20\)\.$"):
        found = call(data, {"inducing": 20})
    assert found == call(data, {"method": tg.EP(inducing=20)})


def test_values_of_a_setting_are_tried_as_methods(data):
    with pytest.warns(FutureWarning, match=r"Write method=tg\.EP\(inducing=1[68]\)"):
        old = tg.select({"inducing": [16, 18]}, data, formula=PROCESS)
    new = tg.select({"method": [tg.EP(inducing=16), tg.EP(inducing=18)]}, data, formula=PROCESS)
    assert sorted(old.table["value"]) == sorted(new.table["value"])
    assert sorted(old.table.index) == ["inducing=16", "inducing=18"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tg.MLE(inducing=20), "inducing=20: tg.MLE has no such setting. It has max_iter."),
        (lambda: tg.VBCM(n_starts=3), "n_starts=3: tg.VBCM has no such setting. Write n_init=."),
        (lambda: tg.EP(n_init=3), "n_init=3: tg.EP has no such setting. Write n_starts=."),
        (lambda: tg.Laplace(bound="local"), "bound='local': tg.Laplace has no such setting. It has hyper, inducing,"),
        (lambda: tg.MLE(max_iter=0), "max_iter=0: must be a whole number"),
        (lambda: tg.EP(hyper="both"), "hyper='both': must be one of 'auto', 'integrate', 'maximize'."),
        (lambda: tg.EP(inducing={"gp(x)": -1}), "inducing=-1: "),
    ],
)
def test_settings_that_a_method_does_not_have_or_take_are_named(make, words):
    with pytest.raises(SpecError) as caught:
        make()
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        (MIXTURE, {"method": tg.EP(inducing=20)}, "method=tg.EP(inducing=20) does not fit mixtures."),
        (PROCESS, {"method": tg.VBCM(n_init=2)}, "method=tg.VBCM(n_init=2) fits mixtures, and this formula has none."),
        (PROCESS, {"method": tg.EP}, "method=tg.EP: must be a value. Write method=tg.EP()."),
        (PROCESS, {"method": 3}, "method=3: must be one of 'auto', 'ep',"),
    ],
)
def test_methods_of_other_kinds_of_fits_are_refused(data, formula, options, words):
    with pytest.raises(SpecError) as caught:
        tg.fit(formula, data, **options)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("name", "method"), [("T-GPR", tg.EP()), ("VT-GPR", tg.VI(bound="local")), ("vt-gpr", tg.VI(bound="local"))]
)
def test_processes_by_the_names_of_the_papers(data, name, method):
    fixed = {"sigma": 0.3, "sd(gp(x))": 1.0, "lengthscale(gp(x))": 1.0}
    named, meant = (tg.fit(PROCESS, data, method=each, fixed=fixed) for each in (name, method))
    assert named.log_evidence == meant.log_evidence
    assert named.method == meant.method


@pytest.mark.parametrize(("name", "method"), [("VBCM", tg.VBCM()), ("SVBCM", tg.SVBCM()), ("EMCM", tg.EMCM())])
def test_mixtures_by_the_names_of_the_papers(data, name, method):
    named, meant = (tg.fit(MIXTURE, data, method=each) for each in (name, method))
    pd.testing.assert_series_equal(named.params, meant.params)
    assert named.method == meant.method
