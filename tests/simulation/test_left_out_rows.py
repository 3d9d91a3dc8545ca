"""Does leave-one-out tell a wrong noise family from the right one, and does it say when it cannot be trusted?

Twenty sets of 120 rows around a curve, a quarter of them left-censored, with normal noise and with Student's noise of
two degrees of freedom; each fitted under both families, as a process and as a regression on a spline.
"""

import numpy as np
import pytest
from support.arviz import quietly

import tobitgp as tg

SETS = 20
STREAMS = range(6)
FORMULAS = {"process": "y ~ gp(x) | censor(low)", "regression": "y ~ bs(x, df=5) | censor(low)"}
FAMILIES = {"normal": "gaussian", "heavy": tg.Student(df=2.0)}


def simulate(noise, seed, n=120):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 3.0, n)
    e = rng.standard_normal(n) if noise == "normal" else rng.standard_t(2.0, n)
    y = np.sin(2.0 * x) + 0.3 * e
    return {"x": x, "y": np.maximum(y, -0.5), "low": np.full(n, -0.5)}


@pytest.mark.study
@pytest.mark.parametrize("kind", FORMULAS)
def test_the_right_family_is_preferred_and_the_wrong_one_flagged(kind):
    """Found: under normal noise the right family is preferred in 95% of the sets as a process and in all as a
    regression, under heavy tails in all. Fits of normal noise to heavy tails have rows that are not to be trusted in
    70% of the sets; fits of the right family in none as a process. As a regression they have in 5 to 30% by the
    stream of draws, 15% on the average of six: k-hat is estimated from 2000 draws, and one row near its threshold is
    enough.
    """
    preferred, flagged = {}, {}
    for noise in FAMILIES:
        wins, doubts = [], {name: [] for name in FAMILIES}
        for seed in range(SETS):
            data = simulate(noise, seed)
            fits = {name: tg.fit(FORMULAS[kind], data, family=family) for name, family in FAMILIES.items()}
            found = {name: quietly(fit.loo, draws=2000) for name, fit in fits.items()}
            wins.append(quietly(tg.compare, fits, by="loo").index[0] == noise)
            for name, loo in found.items():
                again = [quietly(fits[name].loo, draws=2000, rng=rng) for rng in STREAMS] if name == noise else [loo]
                doubts[name] += [each.n_bad > 0 for each in again]
        preferred[noise] = np.mean(wins)
        flagged |= {(noise, name): np.mean(found) for name, found in doubts.items()}
    assert min(preferred.values()) >= 0.9
    assert flagged["heavy", "normal"] >= 0.6
    assert flagged["heavy", "heavy"] <= 0.1
    assert flagged["normal", "normal"] <= 0.2
