"""Limits from samples with non-detects cover as often as docs/trust/nondetects.csv says, of samples of its own."""

import numpy as np
import pytest

from benchmarks.nondetects import Case, held, table

SETS = 300


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [Case("lognormal, s = 1", 20, 0.6), Case("lognormal, s = 1.5", 50, 0.3)])
def test_default_limits_cover(case):
    rows = [row for seed in range(1000, 1000 + SETS) for row in held(case, seed, False)]
    found = table(rows).set_index(["quantity", "method"])["coverage"]
    reach = 3.5 * np.sqrt(0.95 * 0.05 / SETS)
    assert found["mean", "mle profile"] == pytest.approx(0.95, abs=reach)
    assert found["percentile 90", "profile"] == pytest.approx(0.95, abs=reach)
    assert found["new value", "predictive"] == pytest.approx(0.95, abs=0.012)
    assert found["mean", "km t"] < 0.95
    assert found["mean", "km chebyshev"] > found["mean", "km bca"]
