"""A laboratory's own table: flags with limits beside them, qualifiers, and non-detects without a number."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.data.prepare import prepare
from tobitgp.data.text_limits import read_text
from tobitgp.errors import DataError, FormulaError, SpecError
from tobitgp.formula import parse_formula


def read(formula, **columns):
    n = len(columns["y"])
    return prepare(parse_formula(formula), {"x": np.arange(float(n)), **columns})


@pytest.mark.parametrize(
    ("text", "value", "side"),
    [
        ("3.1", 3.1, 0),
        (" 1e-3 ", 1e-3, 0),
        ("<0.5", 0.5, -1),
        ("< 0.5", 0.5, -1),
        ("<=0.5", 0.5, -1),
        ("≤0.5", 0.5, -1),
        (">100", 100, 1),
        (">= 100", 100, 1),
        ("≥100", 100, 1),
        ("0.5 U", 0.5, -1),
        ("0.5u", 0.5, -1),
        ("U 0.5", 0.5, -1),
        ("0.5 UJ", 0.5, -1),
        ("<0.5 U", 0.5, -1),
        ("<0.5 J", 0.5, -1),
        ("0.7 J", 0.7, 0),
        ("0.7j", 0.7, 0),
        ("0.7 J+", 0.7, 0),
        ("0.7J-", 0.7, 0),
        ("ND 0.5", 0.5, -1),
        ("ND(0.5)", 0.5, -1),
        ("nd (<0.5)", 0.5, -1),
    ],
)
def test_numbers_with_signs_and_qualifiers(text, value, side):
    assert read_text(text)[:2] == (value, side)


MORE_WORDS = ["BLQ", "BRL", "BMDL", "<LOR", "<MRL", "< crql", "Below detection limit", "below the reporting limit"]
MORE_WORDS += ["below limit of quantitation", "less than MDL", "non-detect", "undetected", "None detected", "below LOD"]


def test_bounds_are_open_or_closed():
    closed = {text: read_text(text).closed for text in ("<2", "<=2", "≤ 2", ">2", ">=2", "≥2", "2", "2 U", "ND")}
    assert [text for text, found in closed.items() if found] == ["<=2", "≤ 2", ">=2", "≥2"]


def test_counts_at_most_and_below():
    """P(N <= 2) and P(N >= 5), written in four ways, and what ``<2`` and ``>5`` say, are sums of probabilities."""
    from scipy.stats import poisson

    counts = [0, 1, 3, 3, 4, 2, 5, 7]

    def log_likelihood(rate, low, high):
        parts = (poisson.logcdf(low, rate), poisson.logsf(high - 1, rate))
        return sum(parts[0] if c <= 2 else parts[1] if c >= 5 else poisson.logpmf(c, rate) for c in counts)

    for below, above, low, high in (("<=2", ">=5", 2, 5), ("≤2", "≥5", 2, 5), ("<3", ">4", 2, 5), ("<2", ">5", 1, 6)):
        y = [below if c <= 2 else above if c >= 5 else str(c) for c in counts]
        res = tg.fit("y ~ mixture(1)", {"y": y}, family="poisson", method="em")
        assert res.llf == pytest.approx(log_likelihood(res.params["rate[1]"], low, high), abs=1e-9)


@pytest.mark.parametrize(
    "text", ["ND", " nd ", "N.D.", "n.d.", "BDL", "bql", "<LOD", "< DL", "<MDL", "not detected", *MORE_WORDS]
)
def test_non_detects_without_a_number(text):
    written = read_text(text)
    assert written.absent
    assert written.side == -1


@pytest.mark.parametrize(
    "text", ["", "x", "U", "1,5", "1 500", ">5 U", "0.5 UU", "<", "<<1", "1..2", "3 ug/L", None, 3.1]
)
def test_anything_else_is_no_value(text):
    assert read_text(text) is None


@pytest.mark.parametrize("held", [np.nan, 0.0, 0.5, 0.2, 7.0])
def test_whatever_the_value_of_a_flagged_row_holds_it_is_below_its_limit(held):
    y = [2.0, held, 0.3, held]
    training = read("y ~ x | censor(limit, nondetect=flag)", y=y, flag=[0, 1, 0, 1], limit=[0.5, 0.5, 0.5, 1.0])
    assert training.response.upper.tolist() == [2.0, 0.5, 0.3, 1.0]
    assert training.response.lower.tolist() == [2.0, -np.inf, 0.3, -np.inf]
    assert training.counts == {"exact": 2, "left": 2, "right": 0, "interval": 0, "dropped": 0}


def test_a_blank_without_a_flag_is_a_missing_row_and_a_blank_limit_of_a_detect_is_not():
    columns = {"y": [2.0, np.nan, np.nan, 3.0], "flag": [0, 1, 0, 0], "limit": [np.nan, 0.5, 0.5, np.nan]}
    with pytest.warns(UserWarning, match=r"1 of 4 rows is dropped: missing values in 'y' \(1\)"):
        training = read("y ~ x | censor(limit, nondetect=flag)", **columns)
    assert training.kept.tolist() == [True, True, False, True]
    assert training.response.upper.tolist() == [2.0, 0.5, 3.0]


def test_limits_are_on_the_scale_of_the_response():
    columns = {"y": [0.0, 2.0, 3.0], "flag": [1, 0, 0], "limit": [0.5, 0.5, 0.5]}
    training = read("log(y) ~ x | censor(log(limit), nondetect=flag)", **columns)
    assert training.response.upper.tolist() == np.log([0.5, 2.0, 3.0]).tolist()
    with pytest.raises(DataError, match=r"censor\(log\(limit\)\)"):
        read("log(y) ~ x | censor(limit, nondetect=flag)", **columns | {"y": [0.5, 2.0, 3.0]})


@pytest.mark.parametrize("limit", [np.nan, -np.inf])
def test_a_non_detect_needs_its_limit(limit):
    with pytest.raises(DataError, match="Non-detects must have a limit, but limit is not a finite number in row 1"):
        read("y ~ x | censor(limit, nondetect=flag)", y=[1.0, 0, 2], flag=[0, 1, 0], limit=[1, limit, 1])
    with pytest.raises(DataError, match="Non-detects must have a limit, but limit is not a finite number in row 1"):
        read("y ~ x | censor(limit)", y=["1", "ND", "2"], limit=[1, limit, 1])


def test_text_without_a_number_is_below_the_limit_of_its_row():
    y = ["3.1", "ND", "0.3", "<0.5", None, "0.7 J"]
    with pytest.warns(UserWarning, match="1 of 6 rows is dropped"):
        training = read("y ~ x | censor(limit)", y=y, limit=[0.5, 0.6, 0.5, 0.5, 0.5, 0.5])
    assert training.response.upper.tolist() == [3.1, 0.6, 0.3, 0.5, 0.7]
    assert (training.response.lower == training.response.upper).tolist() == [True, False, True, False, True]
    assert "ND is left-censored at limit" in str(training.state.spec)


REFUSED = {
    "no limit": ("y ~ x", ["ND", "1"], r"holds 'ND' in row 0, without a limit. Write \| censor\(limit\)"),
    "contradiction": ("y ~ x | censor(limit)", ["ND", "<2"], r"differ from limit in row 1 \(<2 and 1\)"),
    "decimal comma": ("y ~ x", ["1,5", "2"], r"df\['y'\] = df\['y'\].replace\(',', '.', regex=True\)"),
    "thousands": ("y ~ x", ["1,500.5", "2"], r"Separators of thousands: .* = df\['y'\].replace\(',', '', regex=True\)"),
    "unit": ("y ~ x", ["<2 mg/l", "3"], r"'mg/l' is not part of a number .*replace\('\\\\s\*mg/l', '', regex=True\)"),
    "units": ("y ~ x", ["3.1ug/L", "2 mg/L"], "'ug/L', 'mg/L' are not parts of a number: convert the column"),
    "qualifier": ("y ~ x", ["3.1 B", "2"], "'B' is a qualifier of the laboratory, not a unit"),
    "contrary": ("y ~ x", [">5 U", "2"], "may hold numbers, limits such as '<0.5' and '>100'"),
    "only text": ("y ~ x | censor(limit)", ["1", "2 J"], "must be numeric but holds text"),
    "an expression": ("log(y) ~ x | censor(limit)", ["ND", "1"], r"Write y ~ ... \| censor\(limit\), with family="),
}


@pytest.mark.parametrize(("formula", "y", "words"), REFUSED.values(), ids=REFUSED)
def test_refused_with_a_remedy(formula, y, words):
    with pytest.raises(DataError, match=words):
        read(formula, y=y, limit=[1.0, 1.0])


def test_the_remedies_are_what_helps():
    y = pd.Series(["3.1 ug/L", "<2 ug/L", 4.0], dtype=object)
    fixed = y.replace(r"\s*ug/L", "", regex=True)
    assert read("y ~ x", y=fixed).response.upper.tolist() == [3.1, 2.0, 4.0]
    assert read("y ~ x", y=pd.Series(["3,1", "<2"]).replace(",", ".", regex=True)).response.upper.tolist() == [3.1, 2.0]


@pytest.mark.parametrize("part", ["Cen(y, flag) ~ x", "y ~ x | censor(nondetect=flag)", "y ~ x | censor(limit, 4)"])
def test_text_says_by_itself_what_is_not_detected(part):
    with pytest.raises(FormulaError, match=r"non-detects such as 'ND'.*Write y ~ ... \| censor\(limit\)"):
        read(part, y=["ND", "1"], flag=[1, 0], limit=[1.0, 1.0])


def laboratory(n=80):
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 3, n)
    c = np.exp(0.3 * x + rng.normal(0, 0.5, n))
    limit = np.where(x < 1.5, 1.5, 1.0)
    flag = c <= limit
    return pd.DataFrame({"x": x, "y": np.where(flag, limit, c), "limit": limit, "flag": flag})


def test_every_spelling_of_the_same_rows_is_the_same_fit():
    data = laboratory()
    flag, limit = data["flag"], data["limit"]
    told = tg.fit("y ~ x | censor(nondetect=flag)", data, family="lognormal")
    written = [str(y) for y in data["y"]]
    spellings = {
        "Cen(y, flag) ~ x": data,
        "Cen(obs=y, censored=flag) ~ x": data,
        "y ~ x | censor(limit, nondetect=flag)": data.assign(y=data["y"].mask(flag), limit=limit.where(flag)),
        "y ~ x | censor(limit)": data.assign(y=np.where(flag, "nd", written)),
        "y ~ x": data.assign(y=np.where(flag, limit.astype(str) + " U", written)),
    }
    for formula, rows in spellings.items():
        res = tg.fit(formula, rows, family="lognormal")
        assert res.llf == told.llf, formula
        assert res.counts["left"] == flag.sum() > 0


def test_limits_beside_a_flag_are_those_of_what_is_reported(tmp_path):
    data = laboratory()
    plain = tg.fit("y ~ x | censor(limit)", data, family="lognormal")
    for formula, y in (
        ("y ~ x | censor(limit, nondetect=flag)", data["y"].mask(data["flag"])),
        ("y ~ x | censor(limit)", data["y"].astype(str).mask(data["flag"], "ND")),
    ):
        res = tg.fit(formula, data.assign(y=y), family="lognormal")
        for new in (None, data[["x", "limit"]]):
            assert res.predict(new, what="observed").equals(plain.predict(new, what="observed"))
        assert res.residuals("quantile", rng=1).equals(plain.residuals("quantile", rng=1))
        res.save(tmp_path / "fit.tobitgp")
        loaded = tg.load(tmp_path / "fit.tobitgp")
        assert loaded.predict(data, what="observed").equals(plain.predict(data, what="observed"))
    lacking = data.assign(limit=data["limit"].where(data["flag"]))
    res = tg.fit("y ~ x | censor(limit, nondetect=flag)", lacking, family="lognormal")
    with pytest.raises(SpecError, match="limits are unknown"):
        res.predict(what="observed")
