"""The order of rows does not show, where samples of them lead the search, too.

Fits of several responses, whose rows are in memory, put them in an order of their own. Others visit them as they come,
so that data in parts are those in memory: their first inducing inputs and samples differ, their answers within the
tolerances of posteriors. A new form of a fit is one more row of ``FITS``.
"""

import numpy as np
import pandas as pd
import pytest
from support.answers import EXACT, NATS, SETTLED

import tobitgp as tg

N = 400  # more rows than the first search for hyper-parameters visits
MAXIMUM = {"method": tg.EP(hyper="maximize", n_starts=1)}
FITS = {
    "several": ("mvbind(low, least) ~ z*g | censor(0, 0)", MAXIMUM),
    "several, correlated": ("mvbind(y, other) ~ z", {"rescor": True, **MAXIMUM}),
    "several, curves": ("mvbind(low, other) ~ z + gp(x) | censor(0, None)", MAXIMUM),
    "several, groups": ("mvbind(y, other) ~ z + (1 | p | g)", MAXIMUM),
    "several, weights": ("mvbind(low, least) ~ z | censor(0, 0)", {"weights": "w", **MAXIMUM}),
    "a curve": ("low ~ gp(x) | censor(0)", MAXIMUM),
    "two inputs": ("low ~ gp(x, z) | censor(0)", MAXIMUM),
    "curves by level": ("low ~ gp(x, by=g) | censor(0)", MAXIMUM),
    "slopes of groups": ("low ~ z + (1 + z | g) | censor(0)", MAXIMUM),
    "noise by column": ("low ~ z + g | censor(0)", {"sigma": "~ z", **MAXIMUM}),
    "times": ("Surv(time, event) ~ gp(x)", {"family": "weibull", **MAXIMUM}),
    "hazard": ("Surv(time, event) ~ z + g", {"family": tg.PH(bands=4), **MAXIMUM}),
    "averaged": ("low ~ z + gp(x) | censor(0)", {}),
}


def rows():
    rng = np.random.default_rng(3)
    x, z, g = rng.uniform(0, 6, N).round(2), rng.normal(size=N).round(2), rng.choice(list("pqrs"), N)
    y = (np.sin(x) + 0.4 * z + 0.4 * rng.normal(size=N)).round(2)
    other = (np.cos(x) - 0.2 * z + 0.3 * y + 0.3 * rng.normal(size=N)).round(2)
    return pd.DataFrame({"x": x, "z": z, "g": g, "y": y, "other": other, "w": rng.integers(1, 4, N)}).assign(
        low=np.maximum(y, 0.0), least=np.maximum(other, 0.0), time=np.exp(np.minimum(y, 0.9)), event=(y < 0.9) * 1
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_order_of_rows(name):
    (formula, options), data = FITS[name], rows()
    first, several = tg.fit(formula, data, **options), formula.startswith("mvbind")
    for seed in (1, 2):
        again = tg.fit(formula, data.sample(frac=1.0, random_state=seed), **options)
        assert again.log_evidence == pytest.approx(first.log_evidence, abs=EXACT if several else NATS)
        assert (np.abs(again.params - first.params) / first.bse).max() < (EXACT if several else SETTLED)
        if several:
            np.testing.assert_allclose(again.bse, first.bse, rtol=EXACT)
