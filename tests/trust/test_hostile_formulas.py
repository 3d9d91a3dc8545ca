"""Formulas are data: whatever the text, it is fitted or refused in words; nothing runs, hangs or eats memory."""

import contextlib
import os
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.audit import nothing_happens
from support.escapes import ESCAPES

import tobitgp as tg
from tobitgp.errors import FormulaError, TobitGPError


def rows(n=12):
    rng = np.random.default_rng(0)
    names = [
        "y",
        "x",
        "z",
        "log",
        "gp",
        "censor",
        "C",
        "open",
        "exec",
        "os",
        "__class__",
        "a b",
        "e\u0301",
        "ｘ",
        "inf",
    ]
    return pd.DataFrame({name: rng.uniform(1, 2, n) for name in names}).assign(g=list("ab") * (n // 2))


DATA = rows()
WORDS = (
    "y x z g `a b` log C(g) re(g) (1|g) gp(x) gp(x,z) gp(x,by=g) z:gp(x) offset(z) bs(x,df=4) poly(x,2) log(x) I(x+z)"
)
WORDS += " censor(1.5) censor(1.2,upper=1.8) truncate(0) Surv(x,z) interval(x,z) mixture(2) mixture(range(1,4)) exp(x)"
WORDS += " ~ ~ + - * : ** / | %in% == < , ( ) [ ] { } . ` ' 0 1 2 -1 1e9 inf nan None where(x>1.5,z,x) decimal_year(x)"
WORDS += " kernel='rq' period=2 by=g __ x.y lambda for := f' # ; \\ é ｘ \x00 𝐱 ∞"


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """What is imported at its first use is imported, so that later imports are strange."""
    for word in WORDS.split(" "):
        with contextlib.suppress(TobitGPError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            str(tg.Model(f"y ~ {word}", DATA).spec)
    tg.fit("y ~ x", DATA)


@pytest.mark.parametrize("formula", ESCAPES, ids=lambda formula: ascii(formula)[:60])
def test_an_escape_is_refused_in_words(formula, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with nothing_happens(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TobitGPError) as caught:
            tg.fit(formula, DATA)
    assert len(str(caught.value)) < 1000
    assert os.listdir() == []


@pytest.mark.parametrize("formula", [open, 1, None, ["y ~ x"], b"y ~ x", object()])
def test_what_is_no_text_is_refused(formula):
    with pytest.raises((FormulaError, TypeError), match=r"[Ff]ormula"):
        tg.fit(formula, DATA)


@pytest.mark.parametrize("name", ["log", "gp", "censor", "C", "open", "exec", "os", "inf", "__class__", "a b", "ｘ"])
def test_columns_named_like_functions_are_columns(name):
    res = tg.fit(f"y ~ `{name}`", DATA)
    np.testing.assert_allclose(res.params, tg.fit("y ~ v", DATA.rename(columns={name: "v"})).params)


PIECES = st.sampled_from([*WORDS.split(" "), "\n", "\t"])
TEXTS = st.one_of(
    st.lists(PIECES, max_size=8).map(" ".join),
    st.lists(PIECES, max_size=6).map(lambda parts: "y ~ " + " + ".join(parts)),
    st.tuples(st.text(max_size=12), st.text(max_size=12)).map(" ~ ".join),
    st.text(max_size=30),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS)
@example("y ~ x + (1 | g) | censor(1.5)")
def test_any_text_is_read_or_refused(formula):
    with nothing_happens(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = tg.Model(formula, DATA)
            assert model.spec.formula
            str(model.spec)
        except TobitGPError as error:
            assert str(error).strip()  # noqa: PT017
