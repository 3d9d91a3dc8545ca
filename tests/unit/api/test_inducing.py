"""What a user sees of ``tg.Inducing``."""

import warnings

import numpy as np
import pandas as pd
import pytest
from support.methods import with_settings

import tobitgp as tg
from tobitgp.errors import ApproximationWarning, SpecError
from tobitgp.method_value import given_settings

FORMULA = "y ~ gp(x) | censor(-0.4)"
QUICK = {"method": tg.VI(hyper="maximize")}


@pytest.fixture
def data():
    rng = np.random.default_rng(8)
    x, z = rng.uniform(0.0, 100.0, 90), rng.normal(size=90)
    y = np.maximum(np.sin(x / 8.0) + 0.2 * z + 0.2 * rng.normal(size=90), -0.4)
    return pd.DataFrame({"x": x, "z": z, "y": y, "g": np.arange(90) % 3})


def quiet(formula, data, method=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        return tg.fit(
            formula, data, **with_settings(QUICK, **({} if method is None else given_settings(method))), **options
        )


def test_moved_inputs_raise_the_evidence(data):
    still, moved = (quiet(FORMULA, data, method=tg.EP(inducing=n)) for n in (6, tg.Inducing(6)))
    assert moved.log_evidence > still.log_evidence + 1.0
    assert "inducing moved" in str(moved.summary(details=True))
    assert "inducing moved" not in str(still.summary(details=True))


@pytest.mark.parametrize("method", [tg.VI(hyper="maximize", inducing=5), tg.Laplace(hyper="maximize", inducing=5)])
def test_too_few_are_the_same_whatever_the_order_of_rows(data, method):
    one, two = (quiet("y ~ gp(x) + z | censor(-0.4)", rows, method=method) for rows in (data, data[::-1]))
    assert two.log_evidence == pytest.approx(one.log_evidence, abs=1e-3)


def test_not_optimised_is_the_number_itself(data):
    number, value = (quiet(FORMULA, data, method=tg.EP(inducing=n)) for n in (8, tg.Inducing(8, optimize=False)))
    assert value.log_evidence == number.log_evidence


@pytest.mark.slow
def test_places_to_start_from(data):
    places = np.linspace(5.0, 95.0, 8)
    still = quiet(FORMULA, data, method=tg.EP(inducing=places))
    for start in (places, places[:, None], list(places)):
        moved = quiet(FORMULA, data, method=tg.EP(inducing=tg.Inducing(start)))
        assert moved.log_evidence > still.log_evidence
    alike = quiet(FORMULA, data, method=tg.EP(inducing=tg.Inducing(places, optimize=False)))
    assert alike.log_evidence == still.log_evidence


@pytest.mark.slow
def test_by_term(data):
    formula = "y ~ gp(x) + gp(z) + re(g) | censor(-0.4)"
    res = quiet(formula, data, method=tg.EP(inducing={"gp(x)": tg.Inducing(7), "gp(z)": 3}))
    assert [block.size for block in res.parts.fitted.points[0].blocks[1:3]] == [7, 3]
    rows = res.parts.gp.problem.X[1]
    Z = res.parts.fitted.points[0].blocks[2].Z
    assert all((np.abs(rows - z) < 1e-12).any() for z in Z)


def test_a_fit_with_moved_inputs_is_saved(data, tmp_path):
    res = quiet(FORMULA, data, method=tg.EP(inducing=tg.Inducing(7)))
    res.save(tmp_path / "fit.tobitgp")
    loaded = tg.load(tmp_path / "fit.tobitgp")
    new = pd.DataFrame({"x": np.linspace(0.0, 100.0, 11)})
    pd.testing.assert_frame_equal(loaded.predict(new, interval=0.9), res.predict(new, interval=0.9))
    assert "inducing moved" in str(loaded.summary(details=True))


@pytest.mark.parametrize("start", [0, -3, True, "auto", None, 2.5, np.empty((0, 1)), [np.nan], np.zeros((2, 1, 1))])
def test_refused_starts(start):
    with pytest.raises(SpecError, match="Inducing"):
        tg.Inducing(start)


@pytest.mark.parametrize("inducing", [-1, 0, True, "all", 2.5, [], [np.nan], tg.Inducing])
@pytest.mark.parametrize("formula", ["y ~ x | censor(-0.4)", "y ~ re(g) | censor(-0.4)"])
def test_values_that_go_with_no_term_are_refused_where_there_is_none(formula, inducing, data):
    with pytest.raises(SpecError, match=r"^inducing=.*'auto', None, a positive number, or a finite array is allowed"):
        tg.fit(formula, data, method=tg.EP(inducing=inducing))


@pytest.mark.parametrize("inducing", [None, 5, np.int64(5), [0.1, 0.2], np.zeros((2, 1)), {}])
def test_values_of_other_formulas_may_stand_where_there_is_no_term(inducing, data):
    """A call of select() gives one value to formulas with gp() terms and without."""
    res = tg.fit("y ~ x | censor(-0.4)", data, method=tg.EP(inducing=inducing, hyper="maximize"))
    assert res.log_evidence == tg.fit("y ~ x | censor(-0.4)", data, method=tg.EP(hyper="maximize")).log_evidence


def test_refusals(data):
    with pytest.raises(SpecError, match="optimize=1"):
        tg.Inducing(5, optimize=1)
    with pytest.raises(SpecError, match=r"\(M, 1\)"):
        tg.fit(FORMULA, data, method=tg.EP(inducing=tg.Inducing(np.zeros((3, 2)))))
    with pytest.raises(SpecError, match=r"no gp\(\) term"):
        tg.fit("y ~ re(g) | censor(-0.4)", data, method=tg.EP(inducing=tg.Inducing(5)))
    with pytest.raises(SpecError, match=r"re\(g\)"):
        tg.fit("y ~ gp(x) + re(g) | censor(-0.4)", data, method=tg.EP(inducing={"re(g)": tg.Inducing(5)}))
    with pytest.raises(SpecError, match=r"tg\.MLE has no such setting"):
        tg.fit("y ~ x | censor(-0.4)", data, method=tg.MLE(inducing=tg.Inducing(5)))
