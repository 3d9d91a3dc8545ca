"""Levels that were not seen in training, however the groups are written."""

import numpy as np
import pandas as pd
import pytest
from support.spellings import SIGMA, rows

import tobitgp as tg

DATA = rows()
NEW = DATA.head(6).assign(g=["a", "zz", "b", "zz", "yy", "c"], h=[1, 99, 2, 99, 98, 7])
UNSEEN = np.array([False, True, False, True, True, False])
CURVE = {"sd": 1.0, "lengthscale": 0.8}


def of(term):
    return {f"{word}({term})": value for word, value in CURVE.items()}


@pytest.mark.parametrize(
    ("term", "fixed", "column"),
    [
        ("g", {}, "g"),
        ("C(g)", {}, "g"),
        ("C(g, Sum)", {}, "g"),
        ("C(h)", {}, "h"),
        ("z:C(g)", {}, "g"),
        ("gp(x, by=g)", of("gp(x, by=g)"), "g"),
        ("gp(x, by=h)", of("gp(x, by=h)"), "h"),
        ("gp(x):C(g)", of("gp(x):C(g)"), "g"),
        ("z:gp(x):C(h)", of("z:gp(x):C(h)"), "h"),
        ("hsgp(x, by=g)", of("gp(x, by=g)"), "g"),
    ],
)
def test_fixed_levels_have_to_be_known(term, fixed, column):
    res = tg.fit(f"floored ~ {term} | censor(low)", DATA, fixed={**SIGMA, **fixed})
    new = "zz" if column == "g" else "99"
    words = rf"(Column '{column}'|C\({column}\)) has levels that were not seen in training: .*{new}.*rows row1, row3"
    with pytest.raises(tg.errors.UnseenLevelError, match=words):
        res.predict(NEW)
    assert np.isfinite(res.predict(NEW[~UNSEEN])).all()


@pytest.mark.parametrize("term", ["re(g)", "(1 | g)", "re(h)", "(1 | h)", "re(g, name='site')"])
@pytest.mark.parametrize("hyper", ["fixed", "maximize"])
def test_an_unseen_group_has_its_prior(term, hyper):
    """Its mean is that without groups; its variance larger by that of a group."""
    name = "site" if "site" in term else f"re({'h' if 'h' in term else 'g'})"
    options = (
        {"fixed": {**SIGMA, **of("gp(x)"), f"sd({name})": 0.7}}
        if hyper == "fixed"
        else {"method": tg.EP(hyper="maximize")}
    )
    data = DATA.assign(floored=DATA["floored"] + 0.4 * (DATA["g"] == "a") + 0.5 * (DATA["h"] == 5))
    res = tg.fit(f"floored ~ z + {term} + gp(x) | censor(low)", data, **options)
    sd = res.hyperparameters[f"sd({name})"]
    assert sd > 0.1
    whole, without = res.predict(NEW, se=True), res.predict(NEW, se=True, exclude=name)
    np.testing.assert_allclose(whole["estimate"][UNSEEN], without["estimate"][UNSEEN], rtol=0, atol=1e-12)
    np.testing.assert_allclose(whole["se"][UNSEEN] ** 2, without["se"][UNSEEN] ** 2 + sd**2, rtol=1e-10)
    assert np.abs(whole["estimate"] - without["estimate"])[~UNSEEN].min() > 1e-3

    column = NEW["h" if "h" in term else "g"].to_numpy()
    shared = np.equal.outer(column, column) & np.logical_and.outer(UNSEEN, UNSEEN)
    own = res.posterior(NEW).covariance.to_numpy()[np.ix_(UNSEEN, UNSEEN)]
    rest = res.posterior(NEW, exclude=name).covariance.to_numpy()[np.ix_(UNSEEN, UNSEEN)]
    np.testing.assert_allclose(own - rest, sd**2 * shared[np.ix_(UNSEEN, UNSEEN)], rtol=0, atol=1e-10)
    draws = res.sample(NEW, draws=4000, what="latent", rng=5).to_numpy()
    apart = (draws[1] - draws[4]).var()
    expected = own[0, 0] + own[2, 2] - 2 * own[0, 2]
    assert apart == pytest.approx(expected, rel=5 * np.sqrt(2 / 4000))


@pytest.mark.parametrize("groups", ["re(h) + gp(x, by=g)", "(1 | h) + re(g)"])
def test_only_levels_of_random_intercepts_may_be_new(groups):
    values = {"sd(re(h))": 0.5, **(of("gp(x, by=g)") if "by" in groups else {"sd(re(g))": 0.4})}
    res = tg.fit(f"floored ~ z + {groups} | censor(low)", DATA, fixed={**SIGMA, **values})
    known = NEW.assign(g="a")
    pd.testing.assert_series_equal(
        res.predict(known)[UNSEEN], res.predict(known.assign(h=5), exclude="re(h)")[UNSEEN], rtol=0, atol=1e-12
    )
    if "by" in groups:
        with pytest.raises(tg.errors.UnseenLevelError, match="zz"):
            res.predict(NEW)
    else:
        assert np.isfinite(res.predict(NEW)).all()


def test_a_base_level_has_to_exist():
    with pytest.raises(tg.errors.DataError, match="there is no level 'zz'"):
        tg.fit("y ~ C(g, Treatment('zz'))", DATA)
