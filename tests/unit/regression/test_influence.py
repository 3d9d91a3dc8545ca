import numpy as np
import pytest
from support.responses import response

from tobitgp.data.outcome import outcome
from tobitgp.regression import maximise
from tobitgp.regression.deviance_residuals import dfbeta, pseudo_r2


def test_dfbeta_is_near_what_leaving_a_row_out_does(mixed):
    rows, H = mixed
    fit = maximise(outcome(rows), H, scores=True)
    change = dfbeta(fit.scores, fit.inverse_information, rows.weight)
    for i in (0, 17, 80):
        kept = np.delete(np.arange(len(H)), i)
        ends = rows.lower[kept], rows.upper[kept]
        without = maximise(outcome(response(*ends, weight=rows.weight[kept])), H[kept])
        left_out = fit.parameters - without.parameters
        assert np.abs(change[i] - left_out).max() < 0.2 * np.abs(left_out).max()
    np.testing.assert_allclose(change.sum(axis=0), 0.0, atol=1e-8)


def test_pseudo_r2():
    assert pseudo_r2(-50.0, -50.0, 30.0) == (0.0, 0.0)
    assert pseudo_r2(0.0, -50.0, 30.0) == pytest.approx((1.0, 1.0))
    assert np.isnan(pseudo_r2(60.0, 50.0, 30.0)).all()
