"""Every kind of term: what is estimated, what the fit says it understood, and which columns predictions need."""

import numpy as np
import pytest
import scipy.interpolate
from support.spellings import SIGMA, N, check_counts, check_prediction, counts, rows

import tobitgp as tg

DATA = rows()
BELOW = DATA["y"] <= DATA["low"]
Z, V, W, DOSE = (DATA[name].to_numpy() for name in ("z", "v", "w", "dose (mg)"))
ONE, YEARS = np.ones(N), 2020 + np.arange(N) * 7 / 366
IS = {level: (DATA["g"] == level).to_numpy(float) for level in "abc"}
LEVELS = tuple(IS.values())
HS = tuple((DATA["h"] == level).to_numpy(float) for level in (1, 2, 5, 7))


def splines(df, kind):
    """Any basis of the splines with knots at quantiles."""
    if kind == "cr":
        knots = np.quantile(Z, np.linspace(0, 1, df))
        return tuple(scipy.interpolate.CubicSpline(knots, np.eye(df), bc_type="natural")(Z).T)
    knots = np.quantile(Z, np.linspace(0, 1, df - 3 + 2)[1:-1])
    return (Z, Z**2, Z**3, *(np.maximum(Z - knot, 0) ** 3 for knot in knots))


# term: columns it needs, any columns of the same span
LINEAR = {
    "1": ([], [ONE]),
    "z": (["z"], [ONE, Z]),
    "0 + z": (["z"], [Z]),
    "z - 1": (["z"], [Z]),
    "z + v - z": (["v"], [ONE, V]),
    "g": (["g"], LEVELS),
    "C(h)": (["h"], HS),
    "0 + C(g)": (["g"], LEVELS),
    "C(g, Treatment)": (["g"], LEVELS),
    "C(g, Treatment('b'))": (["g"], LEVELS),
    "C(g, Treatment(reference='c'))": (["g"], LEVELS),
    "C(g, Sum)": (["g"], LEVELS),
    "C(g, Helmert)": (["g"], LEVELS),
    "C(g, Diff)": (["g"], LEVELS),
    "C(g, Poly)": (["g"], LEVELS),
    "C(z > 0)": (["z"], [ONE, Z > 0]),
    "z:w": (["z", "w"], [ONE, Z * W]),
    "z*w": (["z", "w"], [ONE, Z, W, Z * W]),
    "z:C(g)": (["z", "g"], [ONE, *(Z * level for level in LEVELS)]),
    "(z + v + w)**2": (["z", "v", "w"], [ONE, Z, V, W, Z * V, Z * W, V * W]),
    "z/w": (["z", "w"], [ONE, Z, Z * W]),
    "bs(z, df=5)": (["z"], [ONE, *splines(5, "bs")]),
    "cr(z, df=5, constraints='center')": (["z"], splines(6, "cr")),
    "poly(z, 2)": (["z"], [ONE, Z, Z**2]),
    "log(w)": (["w"], [ONE, np.log(W)]),
    "scale(z) + center(w)": (["z", "w"], [ONE, Z, W]),
    "I(z**2)": (["z"], [ONE, Z**2]),
    "{z + v}": (["z", "v"], [ONE, Z + V]),
    "I(g == 'a')": (["g"], [ONE, IS["a"]]),
    "z + I(z ** 2) + I(z ** 3)": (["z"], [ONE, Z, Z**2, Z**3]),
    "`dose (mg)`": (["dose (mg)"], [ONE, DOSE]),
    "z:`dose (mg)`": (["z", "dose (mg)"], [ONE, Z * DOSE]),
    "exp(`dose (mg)`)": (["dose (mg)"], [ONE, np.exp(DOSE)]),
    "decimal_year(date)": (["date"], [ONE, YEARS]),
    "square(z) + ratio(z, w)": (["z", "w"], [ONE, Z**2, Z / W]),
    "z + offset(3 * v)": (["z", "v"], [ONE, Z]),
    "0 + z + offset(v) + offset(log(w))": (["z", "v", "w"], [Z]),
}
OFFSETS = {"z + offset(3 * v)": 3 * V, "0 + z + offset(v) + offset(log(w))": V + np.log(W)}
OWN = {"square": np.square, "ratio": np.divide}


@pytest.mark.parametrize("term", LINEAR)
def test_linear_terms_span_what_they_say(term):
    """Without priors the fit to exact rows is least squares on any basis of the same columns."""
    columns, basis = LINEAR[term]
    res = tg.fit(f"y ~ {term}", DATA, fixed=SIGMA, priors={}, functions=OWN)
    X, known = np.column_stack(basis).astype(float), OFFSETS.get(term, 0.0)
    fitted = X @ np.linalg.lstsq(X, DATA["y"] - known, rcond=None)[0] + known
    np.testing.assert_allclose(res.predict(), fitted, rtol=0, atol=1e-5)
    check_prediction(res, DATA, columns)


@pytest.mark.parametrize("term", LINEAR)
def test_linear_terms_beside_censoring(term):
    res = tg.fit(f"floored ~ {term} + gp(x) | censor(low)", DATA, fixed={**SIGMA, **curve("gp(x)")}, functions=OWN)
    check_counts(res, counts(left=BELOW))
    spec = str(res.model.spec)
    for partition in term.split(" + "):
        word = partition.removeprefix("0").removesuffix("- 1").strip("{}1 ").removesuffix(" - z")
        assert word.removeprefix("offset(").removesuffix(")") in spec if "offset" in word else word in spec
    assert ("no intercept" in spec) == ("0 + " in term or "- 1" in term)
    check_prediction(res, DATA, ["x", *LINEAR[term][0]])


def test_the_dot_is_every_column_left():
    data = DATA[["floored", "low", "x", "z", "v", "g", "h"]]
    res = tg.fit("floored ~ . + gp(x) + re(h) | censor(low)", data, fixed={**SIGMA, **curve("gp(x)"), "sd(re(h))": 0.4})
    assert res.model.exog_names == ["Intercept", "z", "v", "g[T.b]", "g[T.c]"]
    assert "z + v + g" in str(res.model.spec)
    check_prediction(res, data, ["x", "z", "v", "g", "h"])


def curve(name, *scales):
    """Values of a process with these length-scales."""
    return {f"sd({name})": 1.1, **{f"lengthscale({name}){scale}": 0.9 for scale in scales or ("",)}}


AB = 'kernel="periodic"'
# term: columns, values by name, words; the names are all that the process has besides a known period
PROCESSES = {
    **{
        f'gp(x, kernel="{kernel}")': (["x"], curve("gp(x)"), f"kernel {kernel}")
        for kernel in ("rbf", "matern12", "matern32", "matern52")
    },
    'gp(x, kernel="exp_quad")': (["x"], curve("gp(x)"), "kernel rbf"),
    'gp(x, kernel="rq")': (["x"], {**curve("gp(x)"), "alpha(gp(x))": 2.0}, "kernel rq"),
    'gp(x, kernel="linear")': (["x"], {"sd(gp(x))": 0.5}, "kernel linear"),
    f"gp(x, {AB})": (["x"], {**curve("gp(x)"), "period(gp(x))": 1.3}, "periodic, estimated period"),
    "gp(x, period=1.3)": (["x"], curve("gp(x, period=1.3)"), "gp(x, period=1.3): "),
    "gp(x) + gp(x, period=1.3)": (["x"], {**curve("gp(x)"), **curve("gp(x, period=1.3)")}, "period 1.3"),
    "gp(x):gp(x, period=1.3)": (
        ["x"],
        curve("gp(x):gp(x, period=1.3)", "[x, rbf]", "[x, periodic]"),
        "product of the kernels rbf over x (one length-scale) and periodic over x (period 1.3",
    ),
    "gp(x, v)": (["x", "v"], curve("gp(x, v)", "[x]", "[v]"), "a length-scale for each input"),
    "gp(x, v, ard=False)": (["x", "v"], curve("gp(x, v)"), "one length-scale for all inputs"),
    'gp(x, name="trend")': (["x"], curve("trend"), "trend: zero-mean"),
    "gp(x, by=g)": (["x", "g"], curve("gp(x, by=g)"), "a curve for each level of g"),
    "gp(x, by=h, name='sites')": (["x", "h"], curve("sites"), "a curve for each level of h"),
    "gp(log(w))": (["w"], curve("gp(log(w))"), "over log(w)"),
    "gp(x - v, I(z**2))": (["x", "v", "z"], curve("gp(x - v, I(z**2))", "[x - v]", "[I(z**2)]"), "over x - v, I(z**2)"),
    "gp(`dose (mg)`)": (["dose (mg)"], curve("gp(dose (mg))"), "over `dose (mg)`"),
    "gp(decimal_year(date))": (["date"], curve("gp(decimal_year(date))"), "over decimal_year(date)"),
    "gp(square(z), ratio(x, w))": (
        ["z", "x", "w"],
        curve("gp(square(z), ratio(x, w))", "[square(z)]", "[ratio(x, w)]"),
        "square, ratio: passed by functions=",
    ),
    "gp(x):gp(v)": (["x", "v"], curve("gp(x):gp(v)", "[x]", "[v]"), "rbf over x (one length-scale) and rbf over v"),
    "gp(x):C(g)": (["x", "g"], curve("gp(x):C(g)"), "a curve for each level of g"),
    "z:gp(x)": (["z", "x"], curve("z:gp(x)"), "slope of z that varies along x"),
    "gp(x):z:w": (["x", "z", "w"], curve("gp(x):z:w"), "slope of z times w"),
    "re(g)": (["g"], {"sd(re(g))": 0.5}, "re(g): random intercept of each g"),
    "re(h, name='site')": (["h"], {"sd(site)": 0.5}, "site: random intercept of each h"),
    "(1 | g)": (["g"], {"sd(re(g))": 0.5}, "re(g): random intercept of each g"),
    "(1 | g) + z": (["g", "z"], {"sd(re(g))": 0.5}, "intercept, z"),
    "z + (1 | g) + w": (["g", "z", "w"], {"sd(re(g))": 0.5}, "intercept, z + w"),
    "gp(x) + (1 | h) + re(g)": (
        ["x", "g", "h"],
        {**curve("gp(x)"), "sd(re(h))": 0.6, "sd(re(g))": 0.5},
        "re(h): random intercept",
    ),
    's(x, bs="gp")': (["x"], curve("gp(x)"), 's(x, bs="gp") was read as gp(x, kernel="matern32")'),
    's(x, v, bs="gp", m=-3, k=20)': (["x", "v"], curve("gp(x, v)"), 'kernel="matern32", ard=False)'),
    "hsgp(x, m=10, c=2)": (["x"], curve("gp(x)"), "hsgp(x, m=10, c=2) was read as gp(x)"),
    "hsgp(x, by=g, m=10, c=2)": (["x", "g"], curve("gp(x, by=g)"), "was read as gp(x, by=g)"),
}


@pytest.mark.parametrize("term", PROCESSES)
def test_processes(term):
    columns, values, words = PROCESSES[term]
    res = tg.fit(f"floored ~ {term} | censor(low)", DATA, fixed={**SIGMA, **values}, functions=OWN)
    check_counts(res, counts(left=BELOW))
    assert words in str(res.model.spec)
    known = {name for name in res.hyperparameters if name.startswith("period(") and "period=" in name}
    assert set(res.hyperparameters) - known == {*values, "sigma"}
    assert (res.bse[list(res.hyperparameters)] == 0).all()
    check_prediction(res, DATA, columns)


@pytest.mark.parametrize(
    ("term", "left_out", "freed"),
    [
        ("z + gp(x)", "gp(x)", ["x"]),
        ("z + gp(x)", "z", ["z"]),
        ("z + gp(x, by=g) + gp(x)", "gp(x, by=g)", ["g"]),
        ("(1 | h) + gp(x) + C(g)", "re(h)", ["h"]),
        ("z:gp(x) + offset(v)", "offset", ["v"]),
        ("gp(x) + gp(x, period=1.3):C(g)", "gp(x, period=1.3):C(g)", ["g"]),
    ],
)
@pytest.mark.filterwarnings("ignore::tobitgp.errors.ConvergenceWarning")
def test_terms_that_are_left_out_free_their_columns(term, left_out, freed):
    res = tg.fit(f"floored ~ {term} | censor(low)", DATA, method=tg.EP(hyper="maximize", n_starts=1, max_iter=1))
    less = res.predict(DATA.drop(columns=freed), exclude=left_out)
    np.testing.assert_allclose(less, res.predict(DATA, exclude=left_out), rtol=0, atol=1e-12)
    assert np.abs(less - res.predict(DATA)).max() > 1e-3
    for name in freed:
        with pytest.raises(tg.errors.DataError, match=f"'{name}'"):
            res.predict(DATA.drop(columns=name))
