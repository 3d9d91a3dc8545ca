"""Random intercepts as a table."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError

pytestmark = pytest.mark.diagonal


@pytest.fixture(scope="module")
def wards(mixed):
    rng = np.random.default_rng(2)
    return mixed.assign(ward=rng.integers(7, 15, len(mixed)), team=rng.choice(list("uvw"), len(mixed)))


@pytest.fixture(scope="module", params=["maximize", "integrate"])
def fitted(request, wards):
    formula = "y ~ z + gp(x, by=g) + re(ward) + re(team, name='crew') | censor(low, 1.4)"
    return tg.fit(formula, wards, method=tg.EP(hyper=request.param))


@pytest.mark.parametrize("interval", [0.95, 0.5, None])
def test_a_row_for_each_group_as_in_the_terms(fitted, wards, interval):
    table = fitted.group_effects(interval=interval)
    assert table.index.names == ["term", "level"]
    assert list(table.columns) == ["estimate", "se", "lower", "upper"][: 4 if interval else 2]
    rows = fitted.predict(what="terms", interval=interval, se=True)
    for name, column in (("re(ward)", "ward"), ("crew", "team")):
        mine = table.loc[name]
        assert mine.index.tolist() == sorted(wards[column].unique())
        assert np.allclose(mine.loc[wards[column]], rows[name], rtol=1e-9, atol=1e-12)
        alone = fitted.group_effects(name, interval=interval)
        assert alone.index.unique("term").tolist() == [name]
        pd.testing.assert_frame_equal(alone.loc[name], mine, check_index_type=False)


@pytest.mark.slow
def test_from_the_fit_alone(fitted, tmp_path):
    fitted.save(tmp_path / "wards.tgp")
    pd.testing.assert_frame_equal(tg.load(tmp_path / "wards.tgp").group_effects(), fitted.group_effects())
    parts = fitted.parts
    bare = tg.GPResults(parts.spec, parts.training, parts.gp, parts.fitted)
    pd.testing.assert_frame_equal(bare.group_effects(), fitted.group_effects())


def test_the_bar_and_log_time(lung):
    data = lung.dropna(subset=["inst"])
    res = tg.fit(
        "time ~ age + (1 | inst) | censor(event=event)", data, family="lognormal", method=tg.EP(hyper="maximize")
    )
    table = res.group_effects("re(inst)").loc["re(inst)"]
    rows = res.predict(what="terms")[("re(inst)", "estimate")]
    assert np.allclose(table["estimate"].loc[data["inst"]], rows)


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"term": "re(wards)"}, "'re\\(ward\\)', 'crew'"),
        ({"term": "gp(x, by=g)"}, "crew"),
        ({"interval": 95}, "interval="),
    ],
)
def test_bad_arguments(fitted, asked, match):
    with pytest.raises(SpecError, match=match):
        fitted.group_effects(**asked)


def test_a_model_without_random_intercepts_says_so(maximised):
    with pytest.raises(SpecError, match=r"no random effects. In a formula, re\(g\)"):
        maximised.group_effects()
