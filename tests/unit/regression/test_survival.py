"""Survival of regressions, against scipy's laws and finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as st
from tobitgp.regression.scales import Predictor
from tobitgp.regression.survival import CURVES, hazard, remaining, survival

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.logistic import Logistic
from tobitgp.distributions.normal import Normal
from tobitgp.distributions.student import Student

PEERS = [(Normal(), st.norm), (Logistic(), st.logistic), (Gumbel(), st.gumbel_l), (Student(3.0), st.t(3.0))]
ETA, TAU = np.array([1.5, -0.4]), np.log([0.6, 1.3])


def rows(law, log_time):
    return Predictor(ETA, TAU, law, log_time)


@pytest.mark.parametrize("log_time", [True, False])
@pytest.mark.parametrize(("law", "peer"), PEERS, ids=lambda x: getattr(x, "name", ""))
def test_curves_are_those_of_the_law(law, peer, log_time):
    end, start = np.array([4.0, 2.5]), np.array([1.0, 2.0])
    y, y0 = (np.log(end), np.log(start)) if log_time else (end, start)
    sigma = np.exp(TAU)
    at = rows(law, log_time)
    log_sf = peer.logsf((y - ETA) / sigma)
    np.testing.assert_allclose(CURVES["cumulative_hazard"](at, end).value, -log_sf, rtol=1e-12)
    np.testing.assert_allclose(survival(at, end, start).value, np.exp(log_sf - peer.logsf((y0 - ETA) / sigma)))
    rate = peer.pdf((y - ETA) / sigma) / sigma / np.exp(log_sf) / (end if log_time else 1.0)
    np.testing.assert_allclose(hazard(at, end).value, rate, rtol=1e-10)


@pytest.mark.parametrize("log_time", [True, False])
@pytest.mark.parametrize("law", [law for law, _ in PEERS], ids=lambda law: law.name)
@pytest.mark.parametrize("of", CURVES)
@pytest.mark.parametrize("start", [None, np.array([1.0, 2.0])])
def test_derivatives(law, of, log_time, start):
    end, at, h = np.array([4.0, 2.5]), rows(law, log_time), 1e-6
    found = CURVES[of](at, end, start)
    for name, slope in (("eta", found.d_eta), ("tau", found.d_tau)):
        up, down = (
            CURVES[of](replace(at, **{name: getattr(at, name) + side * h}), end, start).value for side in (1, -1)
        )
        np.testing.assert_allclose(slope, (up - down) / (2.0 * h), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("law", [law for law, _ in PEERS], ids=lambda law: law.name)
def test_far_out_nothing_is_lost(law):
    at = rows(law, True)
    times = np.array([[0.0, 1e-300, 1e-30, 1e30, 1e300]]).T
    for start in (None, np.array([0.0, 1e40])):
        for of in CURVES.values():
            found = of(at, times, start)
            for values in found[:3]:
                assert not np.isnan(values).any()
    assert (np.diff(CURVES["cumulative_hazard"](at, times).value, axis=0) >= 0.0).all()
    np.testing.assert_array_equal(hazard(at, np.full(2, -1.0)).value, 0.0)


@pytest.mark.parametrize("log_time", [True, False])
@pytest.mark.parametrize("law", [law for law, _ in PEERS], ids=lambda law: law.name)
@pytest.mark.parametrize("start", [0.5, 3.0, 12.0])
def test_what_remains_inverts_survival(law, log_time, start):
    at, after = rows(law, log_time), np.full(2, start)
    for p in (0.999, 0.5, 1e-4):
        left = remaining(at, p, after)
        np.testing.assert_allclose(survival(at, start + left, after).value, p, rtol=1e-7)
    if log_time:
        np.testing.assert_allclose(remaining(at, 0.3, np.zeros(2)), remaining(at, 0.3), rtol=1e-10)
