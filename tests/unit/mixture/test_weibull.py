import mpmath as mp
import numpy as np
import pytest

from tobitgp.mixture.mixture_rows import MixtureRows
from tobitgp.mixture.weibull import Weibull


@pytest.mark.parametrize("shape", [0.05, 1.3, 75.0])
@pytest.mark.parametrize("ends", [(-7.0, 0.01), (-7.0, -6.9), (-1e-3, 1e-3), (0.001, 0.00100001), (-400.0, 0.02)])
def test_intervals_against_many_digits(shape, ends):
    """Log mass and expected e^t of log times between two ends, where the lower one's hazard may underflow."""
    u = 0.3
    low, high = (np.array([end]) for end in ends)
    rows = MixtureRows("interval", low, high, high - low, np.ones(1))
    log_p, (hazard, *_) = Weibull().terms(rows, np.array([[u], [shape]]))
    with mp.workdps(400):
        A, B = (mp.exp(mp.mpf(u) + mp.mpf(shape) * mp.mpf(float(end[0]))) for end in (low, high))
        # the width is taken before rounding, so it decides where the two differ
        B = A * mp.exp(mp.mpf(shape) * mp.mpf(float((high - low)[0])))
        mass = mp.exp(-A) - mp.exp(-B)
        want = float(mp.log(mass)), float(((1 + A) * mp.exp(-A) - (1 + B) * mp.exp(-B)) / mass)
    if want[0] > -300.0:
        assert log_p[0, 0] == pytest.approx(want[0], rel=1e-10, abs=1e-11)
        assert hazard[0, 0] == pytest.approx(want[1], rel=1e-9)
    else:
        assert log_p[0, 0] < -290.0
