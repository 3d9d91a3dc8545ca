"""Bad input, case by case: one typed error that names the offender and what is allowed, and the data as they were."""

import copy
import re

import numpy as np
import pandas as pd
import pytest
from support.small_table import CURVE, LINE, column, columns, rows

import tobitgp as tg
from tobitgp.errors import DataError, FormulaError, SpecError

MANY = {f"v{k}": rows()["z"] ** k for k in range(31)}
TIMES = {"family": "weibull"}
BELOW = rows()["y"].to_numpy() <= -0.3
ERRORS = {
    # response and limits
    "inf in y": (LINE, rows(y=column("y", r4=np.inf)), {}, DataError, "The response y is.*row 4"),
    "NaN limit": (LINE, rows(l=column("l", r4=np.nan)), {}, DataError, "lower limit l is missing in row 4"),
    "l > u": ("y ~ x | censor(l, u)", rows(u=-1.0), {}, DataError, "lower limit is above.*rows 0, 1, 2, 3, 4"),
    "l == u": ("y ~ x | censor(0, 0)", rows(), {}, DataError, "lower limit is equal to the upper limit"),
    "l = inf": ("y ~ x | censor(l)", rows(l=np.inf), {}, DataError, "lower limit l is inf"),
    "limit inf in the formula": ("y ~ gp(x) | censor(inf)", rows(), {}, DataError, "lower limit inf is inf"),
    "u = -inf": ("y ~ x | censor(upper=u)", rows(u=-np.inf), {}, DataError, "upper limit u is -inf"),
    "no limit column": ("y ~ x | censor(limit)", rows(), {}, FormulaError, "'limit'"),
    "limit of text": ("y ~ x | censor(g)", rows(), {}, DataError, "'g'"),
    "limits too few": ("y ~ x | censor(l)", columns(l=[-0.3] * 29), {}, DataError, "'l' 29"),
    "limits too many": (CURVE, columns(l=np.full(31, -0.3)), {}, DataError, "'l' 31"),
    "ends too few": ("interval(lo, hi) ~ x", columns(hi=[9.0] * 29), {}, DataError, "'hi' 29"),
    "event 0/2": ("Surv(time, event) ~ x", rows(event=[0, 2] * 15), TIMES, DataError, "column 'event' .*holds 0, 2 "),
    "event NaN": (
        "Surv(time, event) ~ x",
        rows(event=column("event", r3=np.nan)),
        TIMES | {"missing": "raise"},
        DataError,
        r"missing values in 'event' \(1\), first in row 3",
    ),
    "Surv without a family": (
        "Surv(time, event) ~ x",
        rows(),
        {},
        SpecError,
        "requires family=.*'gaussian'.*'weibull'",
    ),
    "Surv without a family of components": (
        "Surv(time, event) ~ mixture(2)",
        rows(),
        {},
        SpecError,
        "requires family=.*'poisson'",
    ),
    "limit of truth values": (
        "y ~ x | censor(b)",
        rows(b=BELOW),
        {},
        DataError,
        "limit b holds True and False.*nondetect=b",
    ),
    "limit of 0 and 1": (
        "y ~ x | censor(b)",
        rows(b=1 * BELOW),
        {},
        DataError,
        "limit b holds only 0 and 1.*nondetect=b",
    ),
    "upper limit of 0 and 1": (
        "exp(y) ~ x | censor(upper=b)",
        rows(b=1 * BELOW),
        {},
        DataError,
        "only 0 and 1.*event=b",
    ),
    "limits before the logarithm": (
        "log(time) ~ x | censor(d)",
        rows(d=np.where(BELOW, rows()["time"], rows()["time"] / 3)),
        {},
        DataError,
        r"time equals its limit d in .*but log\(time\) never does.*censor\(log\(d\)\)",
    ),
    "non-detects without limits": (
        "y ~ x | censor(nondetect=b)",
        rows(b=BELOW, y=rows()["y"].mask(BELOW)),
        {},
        DataError,
        "y is missing in .*below a detection limit.*put the limit there",
    ),
    "a comparison for y": ("y > 0 ~ x", rows(), {}, FormulaError, r"write y ~ x.*censor\(0\)"),
    "two responses": ("y + time ~ x", rows(), {}, FormulaError, r"Surv\(y, time\).*I\(y \+ time\)"),
    "event of a half": (
        "Surv(time, event) ~ x",
        rows(event=column("event", r3=0.5)),
        TIMES,
        DataError,
        "column 'event' .*0.5.*row 3",
    ),
    "event of many values": ("Surv(exp(y), z) ~ gp(x)", rows(), TIMES, DataError, "column 'z' must be 0 or 1"),
    "y of two columns": (LINE, columns(y=np.zeros((30, 2))), {}, DataError, "'y' has 2 dimensions"),
    "time of two columns": (
        "Surv(time, event) ~ x",
        columns(time=np.ones((30, 2))),
        TIMES,
        DataError,
        "'time' has 2 dimensions",
    ),
    "y of pairs": (LINE, rows(y=pd.Series([[0.0, 1.0]] * 30)), {}, DataError, "'y' .*holds list"),
    "y of text": ("g ~ gp(x)", rows(), {}, DataError, "'g' holds 'a', 'b', 'c' in rows 0, 1, 2, 3, 4"),
    "complex y": (LINE, rows(y=1j), {}, DataError, "'y'.*complex"),
    "bool y": (LINE, rows(y=[True, False] * 15), {}, DataError, "'y'"),
    # covariates
    "inf in x": (LINE, rows(x=column("x", r7=np.inf)), {}, DataError, "'?x'?.*row 7"),
    "inf in gp x": (CURVE, rows(x=column("x", r7=np.inf)), {}, DataError, "'?x'?.*row 7"),
    "-inf beside gp": ("y ~ z + gp(x)", rows(z=column("z", r3=-np.inf)), {}, DataError, "'z'.*row 3"),
    "constant x": (LINE, rows(x=1.0), {}, DataError, "'x' .*is constant"),
    "constant x beside gp": ("y ~ x + gp(z)", rows(x=1.0), {}, DataError, "'x' .*is constant"),
    "identical columns beside gp": ("y ~ x + w + gp(z)", rows(w=rows()["x"]), {}, DataError, "'w' .*determined by 'x'"),
    "identical columns": ("y ~ x + w | censor(l)", rows(w=rows()["x"]), {}, DataError, "'w' .*determined by 'x'"),
    "more columns than rows": ("y ~ " + " + ".join(MANY), rows(**MANY), {}, DataError, "32 columns, .*30 rows: .*'v0'"),
    "numbers as objects": (LINE, rows(x=rows()["x"].astype(object)), {}, DataError, "'x' has the type object"),
    "numbers as objects in gp": (CURVE, rows(x=rows()["x"].astype(object)), {}, DataError, "'x' has the type object"),
    "numbers as objects in y": (LINE, rows(y=rows()["y"].astype(object)), {}, DataError, "'y' has the type object"),
    "mixed text and numbers in gp": (CURVE, rows(x=column("x", r2="a")), {}, DataError, "'x'.*row"),
    "datetime": (LINE, rows(x=pd.date_range("2020", periods=30)), {}, DataError, "'x'.*decimal_year"),
    "time zone": (LINE, rows(x=pd.date_range("2020", periods=30, tz="UTC")), {}, DataError, "'x'.*decimal_year"),
    "complex x": (LINE, rows(x=1j), {}, DataError, "'x'.*complex"),
    "duplicated names": (
        LINE,
        rows().set_axis(list("xzyluxabcd"), axis=1),
        {},
        DataError,
        "several columns named 'x'",
    ),
    "numbers for names": ("y ~ x", rows()[["x", "y"]].set_axis([0, 1], axis=1), {}, FormulaError, "not: 0, 1"),
    "pairs for names": (
        "y ~ x",
        pd.concat({"a": rows()[["x", "y"]]}, axis=1),
        {},
        FormulaError,
        re.escape("must be text, and these are not: ('a', 'x'), ('a', 'y')"),
    ),
    # shape
    "no rows": (LINE, rows().head(0), {}, DataError, "The data have no rows"),
    "all dropped": (LINE, rows(y=np.nan), {}, DataError, r"No row is left: missing values in 'y' \(30\)"),
    "a kernel matrix too large": (
        "y ~ gp(x)",
        rows(6000),
        {"method": tg.EP(inducing=None)},
        SpecError,
        "6000 x 6000.*'auto'",
    ),
    "more components than rows": ("y ~ mixture(40)", rows(), {}, SpecError, r"mixture\(40\)"),
    "one row, regression": (LINE, rows().head(1), {}, DataError, "only 1 row: 'Intercept', 'x', 'z'"),
    "negative weight": (
        LINE,
        rows(w=column("z", r0=-1.0).clip(-1, 1)),
        {"weights": "w"},
        DataError,
        "weights 'w' are negative",
    ),
    "infinite weight": (LINE, rows(w=column("x", r3=np.inf)), {"weights": "w"}, DataError, "weights 'w' .*row 3"),
    "weights of wrong length": (LINE, rows(), {"weights": np.ones(29)}, DataError, "weights have 29 values for 30"),
    # formula
    "missing column": ("y ~ xx | censor(l)", rows(), {}, FormulaError, "'xx'.*'x'"),
    "missing column in gp": ("y ~ gp(xx)", rows(), {}, FormulaError, "'xx'.*'x'"),
    "log of negatives": ("y ~ log(z) | censor(l)", rows(), {}, DataError, r"log\(z\)"),
    "empty formula": ("", rows(), {}, FormulaError, "empty"),
    "two operators": ("y ~ x + + * z", rows(), {}, FormulaError, r"\^"),
    "unknown kernel": ("y ~ gp(x, kernel='rfb')", rows(), {}, FormulaError, "rbf"),
    "two bars": ("y ~ x | z | censor(l)", rows(), {}, FormulaError, r"\^"),
    "injection": ("y ~ __import__('os').getpid()", rows(), {}, FormulaError, r"\^"),
    "injection in braces": ("y ~ {__import__('os').getpid()} + gp(x)", rows(), {}, FormulaError, r"\^"),
    "injection of an attribute": ("y ~ gp(x.__class__)", rows(), {}, FormulaError, r"\^"),
    "function that is not offered": ("y ~ open('file') + gp(x)", rows(), {}, FormulaError, "no function 'open'"),
    "too many products": (
        "y ~ (x + z + l + u + lo + hi + time + event)**9",
        rows(),
        {},
        FormulaError,
        r"134,217,728 products; at most 10,000",
    ),
}


@pytest.mark.parametrize("case", ERRORS, ids=list(ERRORS))
def test_refused_in_words(case):
    formula, data, options, error, words = ERRORS[case]
    kept = copy.deepcopy(data)
    with pytest.raises(error, match=words) as caught:
        tg.fit(formula, data, **options)
    assert len(str(caught.value)) < 700
    if isinstance(data, pd.DataFrame):
        pd.testing.assert_frame_equal(data, kept)
    else:
        for name in data:
            np.testing.assert_array_equal(np.asarray(data[name]), np.asarray(kept[name]))


def test_predictions_refuse_what_they_cannot_do():
    res = tg.fit("y ~ gp(x)", rows(), method=tg.EP(hyper="maximize"))
    with pytest.raises(DataError, match="'x'"):
        res.predict({"X": [0.5]})
    with pytest.raises(SpecError, match="what='mean'"):
        res.predict(what="mean")
    with pytest.raises(SpecError, match="interval=95"):
        res.predict(interval=95)


def test_spec_errors_name_the_option():
    with pytest.raises((SpecError, TypeError), match="mehtod"):
        tg.fit(LINE, rows(), mehtod="ep")
