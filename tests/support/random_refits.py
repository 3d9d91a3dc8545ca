"""Random questions that fit the model again: from a frame of another library, opened, selected, cross-validated."""

import inspect

import numpy as np
import pandas as pd

import tobitgp as tg
from support.random_questions import question, some

MEASURES = ("log_likelihood", "nlpd", "concordance_index", "integrated_brier_score", "mae", "rmse")
READ = set(inspect.signature(tg.Model).parameters)


def plainer(formula):
    """The formula with an intercept alone, behind which limits and windows stay."""
    left, _, right = formula.partition(" ~ ")
    return f"{left} ~ 1{' | ' * (' | censor' in right or ' | truncate' in right)}{right.partition(' | ')[2]}"


@question(0.4)
def frames(res, model, rng):
    data = model.data.reset_index(drop=True)
    again = tg.fit(model.formula, other_frame(data, rng), **model.options)
    plain = tg.fit(model.formula, data, **model.options)
    np.testing.assert_allclose(again.params.to_numpy(float), plain.params.to_numpy(float), rtol=1e-6)
    found = again.predict(other_frame(data.head(3), rng))
    assert not isinstance(found, (pd.Series, pd.DataFrame))
    assert len(found) == 3


def other_frame(data, rng):
    import polars
    import pyarrow

    if rng.random() < 0.5:
        return polars.from_pandas(data)
    return pyarrow.Table.from_pandas(data, preserve_index=False)


@question(0.4)
def opened(res, model, rng):
    reading = {name: value for name, value in model.options.items() if name in READ}
    fitting = {name: value for name, value in model.options.items() if name not in READ}
    return tg.Model(model.formula, model.data, **reading).fit(**fitting).params


@question(0.4)
def selected(res, model, rng):
    formulas = [model.formula, plainer(model.formula)]
    tg.select(formulas, model.data, by=some(rng, ["evidence", "aic", "bic", "loo"]), **model.options)


@question(0.4)
def validated(res, model, rng):
    options = {"folds": int(rng.integers(2, 4)), "metrics": [some(rng, MEASURES)]}
    tg.cross_validate(model.formula, model.data, **options, **model.options)
