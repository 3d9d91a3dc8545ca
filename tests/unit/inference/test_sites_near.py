"""Sites predicted at parameters near those at which they are known."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.inference import evidence_ascent
from tobitgp.inference.evidence_ascent import Objective
from tobitgp.inference.sites_near import SitesNear, mirrored, moved, predicted

FORMULA = "y ~ gp(x, z, kernel='matern12', approximation='vecchia') | censor(-0.3)"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x, z = rng.uniform(size=(2, 150))
    y = np.sin(7.0 * x) * z + 0.3 * rng.normal(size=150)
    return pd.DataFrame({"x": x, "z": z, "y": np.maximum(y, -0.3)})


@pytest.fixture(scope="module")
def known(data):
    """What a fit knows of its sites around the maximum, and the fit."""
    made = []
    between = SitesNear.between

    def kept(*arguments):
        made.append(between(*arguments))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SitesNear, "between", kept)
        res = tg.fit(FORMULA, data)
    return made[-1], res


def test_where_sites_are_known_they_are_what_is_predicted(known):
    near, _ = known
    np.testing.assert_allclose(predicted(near.at(near.free)), predicted(near.data), rtol=1e-12)


def test_predictions_are_straight_lines_with_known_bends(known, rng):
    near, _ = known
    step, here = 0.05 * rng.normal(size=len(near.free)), predicted(near.data)
    seen = here[1] != 0.0  # rows with a positive precision
    straight = here + np.tensordot(step, near.slopes, 1)
    np.testing.assert_allclose(predicted(near.at(near.free + step))[:, seen], straight[:, seen], rtol=1e-9, atol=1e-12)
    bend = 0.01 * rng.normal(size=here.shape)
    bent = near.bent([(near.free + step, moved(near.data, straight - here + bend))])
    further = predicted(bent.at(near.free + 2.0 * step))
    expected = here + 2.0 * (straight - here) + 4.0 * bend
    np.testing.assert_allclose(further[:, seen], expected[:, seen], rtol=1e-9, atol=1e-12)


def test_mirrored_sites_lie_as_far_on_the_other_side(known, rng):
    near, _ = known
    change = 0.1 * rng.normal(size=predicted(near.data).shape)
    there = mirrored(near.data, moved(near.data, change))
    np.testing.assert_allclose(predicted(there), predicted(moved(near.data, -change)), rtol=1e-9, atol=1e-12)


def test_integrals_do_not_depend_on_predicted_starts(data, known, monkeypatch):
    _, res = known
    monkeypatch.setattr(Objective, "is_slow", False)
    other = tg.fit(FORMULA, data)
    assert res.log_evidence == pytest.approx(other.log_evidence, abs=1e-6)
    assert res.log_evidence_integrated == pytest.approx(other.log_evidence_integrated, abs=1e-3)
    new = {"x": [0.1, 0.5, 0.9], "z": [0.8, 0.2, 0.5]}
    one, two = (each.predict(new, what="latent", se=True) for each in (res, other))
    assert (np.abs(one["estimate"] - two["estimate"]) < 0.01 * two["se"]).all()
    np.testing.assert_allclose(one["se"], two["se"], rtol=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["loglogistic", "weibull"])
def test_rows_of_integrals_have_the_same_fit_from_predicted_sites(family, monkeypatch):
    """Many rows under noise that is not normal: as without predictions, in fewer visits."""
    rng = np.random.default_rng(4)
    x, z = rng.uniform(size=(2, 1200))
    time, end = np.exp(np.sin(6.0 * x) + z + 0.4 * rng.normal(size=1200)), rng.exponential(8.0, 1200)
    rows = pd.DataFrame({"x": x, "z": z, "time": np.minimum(time, end), "event": time <= end})
    formula = "Surv(time, event) ~ gp(x) + z"
    res = tg.fit(formula, rows, family=family)
    monkeypatch.setattr(evidence_ascent, "_MANY_ROWS", np.inf)
    plain = tg.fit(formula, rows, family=family)
    visits = [fit.fit_history.set_index("stage").loc["integrate", "passes"] for fit in (res, plain)]
    assert visits[0] < 0.8 * visits[1]
    assert res.log_evidence == pytest.approx(plain.log_evidence, abs=1e-3)
    assert (np.abs(res.params - plain.params) < 3e-3 * plain.bse).all()
    here = rows.head(50)
    np.testing.assert_allclose(res.predict(here, interval=0.95), plain.predict(here, interval=0.95), rtol=1e-3)
