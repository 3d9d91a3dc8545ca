"""The formula of a fit is shown as it was written, in ``repr`` and in every form of the summary, for every kind."""

import html
import re
import warnings

import pytest
from support.kinds import KINDS, Kind, N, fitted, rows

import tobitgp as tg

OTHERS = {
    "formulas": Kind("Surv(time, event) ~ z", {"family": "weibull", "formulas": {"shape": "~ z + b"}}),
    "formulas of hazards": Kind("Surv(time, event) ~ z", {"family": tg.PH("gompertz"), "formulas": {"shape": "~ b"}}),
    "formulas of the cured": Kind(
        "Surv(until, dead) ~ z", {"family": "weibull", "cure": "~ b", "formulas": {"shape": "~ z"}}
    ),
    "hazards of the cured": Kind("Surv(until, dead) ~ z", {"family": tg.PH("spline", df=1), "cure": "~ 1"}),
    "regressions": Kind("other ~ mixture(2, z) | censor(0.5)", {}),
    "odds of regressions": Kind(
        "Surv(entry, time, event) ~ mixture(2, z)", {"family": "weibull", "formulas": {"odds": "~ k"}}
    ),
}


@pytest.fixture(scope="module")
def fit():
    found = {}

    def fit(name):
        if name in KINDS:
            return KINDS[name], fitted(name)
        if name not in found:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[name] = OTHERS[name].fit(rows()[:N])
        return OTHERS[name], found[name]

    return fit


def letters(text):
    """Letters, digits and brackets alone: texts wrap, and languages of pages escape other characters."""
    text = html.unescape(re.sub(r"<[^>]*>|\\text[a-z]*", "", text))
    return re.sub(r"[^\w()]|_", "", text)


def others_of(options):
    """Formulas of other parameters in a call."""
    return [
        *(options.get("formulas") or {}).values(),
        *(options[name] for name in ("sigma", "cure") if name in options),
    ]


@pytest.mark.parametrize("name", [*KINDS, *OTHERS])
def test_formula_is_the_written_one(fit, name):
    kind, res = fit(name)
    assert res.formula == res.model.formula == kind.formula
    first, _, _ = repr(res).partition("\n")
    assert kind.formula in first
    summary = res.summary()
    for text in (str(summary), summary.as_html(), summary.as_latex(), summary.as_csv()):
        written = letters(text)
        assert letters(f"Formula{kind.formula}") in written
        for formula in others_of(kind.options):
            assert letters(formula.removeprefix("~")) in written.partition(letters(kind.formula))[2]
    assert all(repr(formula) in first for formula in others_of(kind.options))


@pytest.mark.parametrize("name", ["formulas of hazards", "odds of regressions"])
def test_a_loaded_fit_shows_it_too(fit, name, tmp_path):
    kind, res = fit(name)
    res.save(tmp_path / "fit.npz")
    loaded = tg.load(tmp_path / "fit.npz")
    assert loaded.formula == kind.formula
    assert repr(loaded) == repr(res)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_one_formula_of_all_components_is_shown_once():
    data = rows()[:N]
    for formulas in ({"sigma": "~ k"}, {"sigma_1": "~ k"}):
        res = tg.fit("other ~ mixture(2, z)", data, formulas=formulas)
        assert repr(res).startswith(f"MixedRegressionResults: other ~ mixture(2, z), formulas={formulas}\n")
