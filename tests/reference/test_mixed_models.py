"""Coefficients of mixed models as they come, within 0.02 standard errors of restricted maximum likelihood (lmer).

The data are those of the documentation of lme4 and nlme, as given and with a covariate moved by 2,000. Standard errors
average over the variances, so that they may lie above those of lmer, which takes the variances for known.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from formulaic import model_matrix
from support.reml import reml

import tobitgp as tg

HERE = Path(__file__).parent
BUNDLED = json.loads((HERE / "mixed_models.json").read_text())
SLEEP = json.loads((HERE / "sleepstudy_lme4.json").read_text())


def read(name):
    if name != "sleepstudy":
        d = pd.DataFrame(BUNDLED["data"][name])
        return d.assign(group=[":".join(map(str, row)) for row in d.iloc[:, 1:3].to_numpy()])
    rows = [
        (str(s), day, y) for s, ys in zip(SLEEP["subjects"], SLEEP["reaction"], strict=True) for day, y in enumerate(ys)
    ]
    return pd.DataFrame(rows, columns=["Subject", "Days", "Reaction"])


# Data, response, linear terms, random effects, a covariate to move.
MODELS = {
    "sleepstudy, slopes": ("sleepstudy", "Reaction", "Days", ["1 + Days | Subject"], "Days"),
    "sleepstudy": ("sleepstudy", "Reaction", "Days", ["1 | Subject"], "Days"),
    "Penicillin": ("Penicillin", "diameter", "1", ["1 | plate", "1 | sample"], None),
    "Pastes": ("Pastes", "strength", "1", ["1 | batch", "1 | sample"], None),
    "cake": ("cake", "angle", "recipe*temp", ["1 | group"], "temp"),
    "Orthodont": ("Orthodont", "distance", "age*Sex", ["1 | Subject"], "age"),
    "Orthodont, slopes": ("Orthodont", "distance", "age", ["1 + age | Subject"], "age"),
    "Machines": ("Machines", "score", "Machine", ["1 | Worker", "1 | group"], None),
    "ergoStool": ("ergoStool", "effort", "Type", ["1 | Subject"], None),
}


def restricted(d, response, terms, effects):
    pairs = []
    for effect in effects:
        columns, _, group = effect.partition(" | ")
        Z = np.asarray(model_matrix(columns, d), dtype=float)
        Z[:, 1:] -= Z[:, 1:].mean(axis=0)  # beside an intercept, a search on even ground
        pairs.append((Z, d[group].to_numpy()))
    return reml(d[response].to_numpy(dtype=float), np.asarray(model_matrix(terms, d), dtype=float), pairs)


@pytest.mark.parametrize("name", BUNDLED["lmer"])
def test_the_other_program_is_lmer(name):
    data, response, terms, effects, _ = MODELS[name]
    found = restricted(read(data), response, terms, effects)
    for ours, theirs in zip(found, BUNDLED["lmer"][name], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_coefficients_are_those_of_restricted_maximum_likelihood(name):
    data, response, terms, effects, column = MODELS[name]
    d = read(data)
    expected = restricted(d, response, terms, effects)
    X = np.asarray(model_matrix(terms, d), dtype=float)
    formula = f"{response} ~ {terms} + {' + '.join(f'({effect})' for effect in effects)}"
    for origin in (0.0,) if column is None else (0.0, 2000.0):
        moved = d if column is None else d.assign(**{column: d[column] + origin})
        res = tg.fit(formula, moved, method="ep")
        back = np.linalg.lstsq(X, np.asarray(model_matrix(terms, moved), dtype=float), rcond=None)[0]
        beta = back @ res.params.to_numpy()[: len(back)]
        se = np.sqrt(np.diag(back @ res.cov_params().to_numpy()[: len(back), : len(back)] @ back.T))
        assert np.abs((beta - expected.beta) / expected.se).max() < 0.02
        assert (se > 0.98 * expected.se).all()
        assert (se < 1.25 * expected.se).all()
