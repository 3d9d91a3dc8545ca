import numpy as np
import pytest

import tobitgp as tg


@pytest.fixture(scope="session")
def curve():
    """One curve, one limit."""
    return tg.fit("y ~ gp(x) | censor(lower)", tg.datasets.simulate_groot_lucas())


@pytest.fixture(scope="session")
def lung():
    data = tg.datasets.load("lung").dropna(subset=["ph_ecog", "wt_loss"])
    formula = "Surv(time, event) ~ gp(age) + gp(wt_loss) + ph_ecog + C(sex)"
    return tg.fit(formula, data, family="lognormal", hyper="maximize")


@pytest.fixture(scope="session")
def awkward():
    """Names that are markup in HTML and in LaTeX."""
    data = tg.datasets.simulate_groot_lucas().rename(columns={"x": "a_b<c>&", "y": "y%_$"})
    data["z~^{top}|#"] = np.cos(8 * data["a_b<c>&"])
    formula = "`y%_$` ~ `z~^{top}|#` + gp(`a_b<c>&`, name='<i>t_1') | censor(lower)"
    return tg.fit(formula, data, hyper="maximize")
