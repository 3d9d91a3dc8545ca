"""The summary says what was fitted, in four formats."""

import csv
import dataclasses
import io
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tobitgp as tg
from tobitgp.results.summary import number
from tobitgp.results.words import tail


def with_fitted(res, **changes):
    """The same result with some numbers of the fit replaced."""
    parts = res.parts
    fitted = dataclasses.replace(parts.fitted, **changes)
    return tg.GPResults(parts.spec, parts.training, parts.gp, fitted, res.model.data.frame)


def test_is_a_statsmodels_summary(curve):
    from statsmodels.iolib.summary import Summary

    assert isinstance(curve.summary(), Summary)
    assert curve.summary().as_text() == str(curve.summary())


@pytest.mark.parametrize("fixture", ["curve", "lung"])
def test_text_fits_a_page(request, fixture):
    text = str(request.getfixturevalue(fixture).summary())
    lines = text.splitlines()
    assert max(map(len, lines)) <= 90
    rules = {len(line) for line in lines if set(line) in ({"="}, {"-"})}
    assert len(rules) == 1


def test_says_what_was_fitted(curve):
    text = str(curve.summary())
    for label, value in (
        ("Dep. variable:", "y"),
        ("Family:", "gaussian"),
        ("Method:", "expectation propagation (ep)"),
        ("Hyper-parameters:", "averaged, 29 settings"),
        ("No. observations:", "30"),
        ("uncensored:", "18"),
        ("left-censored:", "12"),
        ("Log evidence:", f"{curve.log_evidence:.3f}"),
        ("Effective df:", f"{curve.df_model:.2f}"),
        ("Converged:", "yes"),
    ):
        assert re.search(re.escape(label) + " +" + re.escape(value), text), label
    assert curve.formula.strip() in text
    for label in ("Rows dropped", "ELBO", "Basis functions", "Approximation gap", "integrated"):
        assert label not in text


def test_details_are_of_the_computation(curve):
    text = str(curve.summary(details=True))
    for label, value in (
        ("Log evidence by:", "ep"),
        ("ELBO:", f"{curve.elbo:.3f}"),
        ("Log evidence, integrated:", f"{curve.log_evidence_integrated:.3f}"),
        ("Basis functions:", str(curve.parts.fitted.n_features)),
        ("Df residuals:", f"{curve.df_resid:.2f}"),
    ):
        assert re.search(re.escape(label) + " +" + re.escape(value), text), label
    with pytest.raises(tg.errors.SpecError, match="details"):
        curve.summary(details="all")


def test_smooth_terms_have_their_effective_df_and_test(curve):
    row = next(line for line in str(curve.summary()).splitlines() if line.startswith("gp(x) ")).split()
    df, chi2, p, edf = curve.anova().loc["gp(x)", ["df", "chi2", "p", "edf"]]
    assert row == ["gp(x)", f"{edf:.2f}", f"{df:.2f}", f"{chi2:.3f}", "<0.001" if p < 0.0005 else f"{p:.3f}", "rbf"]


def test_the_ratio_test_is_that_of_two_fits():
    """Against the fit with an intercept only, and the chi-squared distribution of scipy."""
    data = tg.datasets.load("tobin")
    res, null = (tg.fit(f"durable ~ {terms} | censor(0)", data) for terms in ("age + quant", "1"))
    chi2 = 2.0 * (res.llf - null.llf)
    table = dict(re.findall(r"(LR chi2, df = 2|P>chi2): +(\S+)", str(res.summary())))
    assert float(table["LR chi2, df = 2"]) == pytest.approx(chi2, abs=1e-3)
    assert float(table["P>chi2"]) == pytest.approx(stats.chi2.sf(chi2, 2), abs=6e-4)
    for options in ({"cov_type": "HC0"}, {"fixed": {"age": -0.1}}):
        assert "LR chi2" not in str(tg.fit("durable ~ age + quant | censor(0)", data, **options).summary())


@pytest.mark.parametrize(("p", "shown"), [(0.0, "<0.001"), (4.9e-4, "<0.001"), (5.1e-4, "0.001"), (0.25, "0.250")])
def test_no_p_value_is_0(p, shown):
    assert tail(p) == shown


def test_numbers_are_those_of_the_results(curve):
    text = str(curve.summary(alpha=0.1))
    frame = curve.summary_frame(0.1)
    for name in frame.index:
        row = next(line for line in text.splitlines() if line.startswith(name + " "))
        for column in ("coef", "std err", "lower", "upper"):
            assert number(frame.loc[name, column]) in row
    slope = next(line for line in text.splitlines() if line.startswith("slope(gp(x)) ")).split()
    estimate, se, lower, upper = curve.slopes(interval=0.9).loc["gp(x)"]
    assert slope[1:3] + slope[-2:] == [number(value) for value in (estimate, se, lower, upper)]
    assert "[0.05 " in text
    assert "0.95]" in text


def test_priors_are_in_the_users_units(curve):
    """One limit for all rows: their unit is the noise of a censored regression on nothing."""
    sd = tg.fit("y ~ 1 | censor(lower)", tg.datasets.simulate_groot_lucas(), method="mle").params["sigma"]
    median = re.search(r"sd\(gp\(x\)\) .*lognormal\(([\d.]+), 1\)", str(curve.summary())).group(1)
    assert float(median) == pytest.approx(sd, rel=0.01)


def test_fixed_and_dropped_priors():
    data = tg.datasets.load("tobin")
    res = tg.fit("durable ~ age + quant | censor(0)", data, fixed={"sigma": 5.0, "age": -0.1}, method="ep")
    text = str(res.summary())
    assert re.search(r"sigma +5\.0000 +\(fixed\)", text)
    assert re.search(r"age +-0\.1000 +\(fixed\)", text)
    free = tg.fit("durable ~ age | censor(0)", data, priors={"sigma": None}, method=tg.EP(hyper="maximize"))
    assert re.search(r"sigma .* none", str(free.summary()))


def test_notes(curve, lung):
    assert "at the columns' means" in " ".join(str(lung.summary(details=True)).split())
    assert "on the log scale of the response" in " ".join(str(lung.summary()).split())
    assert "No row is censored" not in str(curve.summary())
    plain = tg.fit("y ~ gp(x)", tg.datasets.simulate_groot_lucas(), method=tg.EP(hyper="maximize"))
    assert "No row is censored" in str(plain.summary())
    assert re.search(r"Log evidence by: +exact", str(plain.summary(details=True)))
    ignored = tg.fit(
        "y ~ x | censor(lower)", tg.datasets.simulate_groot_lucas(), censored="ignore", method=tg.EP(hyper="maximize")
    )
    assert "censored='ignore'" in str(ignored.summary())


def test_trouble_is_said_first(curve):
    trace = dataclasses.replace(curve.parts.fitted.trace, converged=False, message="It stopped early.", fell_back=True)
    res = with_fitted(curve, trace=trace, nats_left=3.21)
    text = " ".join(str(res.summary()).split())
    assert "[1] NOT CONVERGED: It stopped early." in text
    assert "approximation gap is 3.21 nats" in text
    assert "Variational inference was used instead" in text
    assert "NO, see notes" in text
    assert "NOT converged" in repr(res)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = set(), ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text += data


def test_html_is_escaped(awkward):
    page = Tags()
    page.feed(awkward.summary().as_html())
    assert page.tags <= {"table", "caption", "tr", "td", "th", "ol", "li"}
    for name in ("z~^{top}|#", "y%_$", "<i>t_1", "a_b<c>&"):
        assert name in page.text


def test_latex_is_escaped(awkward):
    latex = awkward.summary().as_latex()
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 5
    assert r"z\textasciitilde{}\textasciicircum{}\{top\}\textbar{}\#" in latex
    assert r"sd(\textless{}i\textgreater{}t\_1)" in latex
    assert r"a\_b\textless{}c\textgreater{}\&" in latex
    bare = re.sub(r"\\[&%$#_{}]|\\text[a-z]+\{\}", "", latex)
    assert not re.search(r"[#$~^<>|_]", bare)
    for body in re.findall(r"\\begin{tabular}{(\w+)}\n(.*?)\\end{tabular}", bare, re.S):
        columns, rows = body
        assert all(row.count("&") == len(columns) - 1 for row in rows.splitlines() if row.endswith(r"\\"))


def test_csv_reads_back(awkward, lung):
    rows = list(csv.reader(io.StringIO(awkward.summary().as_csv())))
    frame = awkward.summary_frame()
    table = {row[0]: row for row in rows if row}
    assert table["Formula:"][1] == awkward.formula.strip()
    for name in frame.index:
        assert float(table[name][1]) == pytest.approx(frame.loc[name, "coef"], abs=5e-5, rel=1e-3)
    assert "ph_ecog" in {row[0] for row in csv.reader(io.StringIO(lung.summary().as_csv())) if row}


def test_long_names_keep_the_tables_in_line():
    rng = np.random.default_rng(0)
    name = "a very long name of a column that goes on and on"
    data = {name: np.linspace(0, 1, 20), "y": rng.normal(size=20)}
    res = tg.fit(f"y ~ gp(`{name}`)", data, method=tg.EP(hyper="maximize"))
    lines = str(res.summary()).splitlines()
    assert len({len(line) for line in lines if set(line) in ({"="}, {"-"})}) == 1
    assert any(line.startswith(f"lengthscale(gp(`{name}`))") or name in line for line in lines)


@pytest.mark.slow
def test_groups_are_counted_and_known_periods_fixed(visits, curve):
    formula = "y ~ gp(x, by=g) + gp(z, period=2, name='season') + re(h) | censor(-1, 1.5)"
    text = str(tg.fit(formula, visits, method=tg.EP(hyper="maximize")).summary())
    for term, kernel in (("gp(x, by=g)", "rbf, 3 levels"), ("season", "periodic"), ("re(h)", "normal, 12 groups")):
        assert re.search(f"\n{re.escape(term)} .* {kernel}\n", text), term
    assert re.search(r"period\(season\) +2\.0000 +\(fixed\)", text)
    assert max(map(len, text.splitlines())) <= 79
    assert len({len(line) for line in text.splitlines() if set(line) in ({"="}, {"-"})}) == 1
    assert (
        " ".join(text.split()).count("season is centred: its average over the rows is part of the coefficients.") == 1
    )
    assert "centred" not in str(tg.fit("y ~ re(h)", visits, method=tg.EP(hyper="maximize")).summary())
    assert "gp(x) is centred: its average over the rows is part of the coefficients" in " ".join(
        str(curve.summary()).split()
    )


def test_a_million_observations_are_written_out():
    data = pd.DataFrame({"y": [1.0, 2.0, 4.0], "count": [500_000, 400_000, 100_001]})
    res = tg.fit("y ~ 1 | censor(1)", data, weights="count")
    assert "No. observations: 1000001" in " ".join(res.summary().as_text().split())


@pytest.mark.parametrize("terms", ["x", "gp(x)", "mixture(1)"])
@pytest.mark.parametrize(
    ("response", "family", "said"),
    [
        ("Surv(t, e)", "gaussian", True),
        ("Surv(t, e)", "lognormal", False),
        ("Surv(log(t), e)", "gaussian", False),
        ("Surv(t, e, type='left')", "gaussian", False),
        ("t", "gaussian", False),
    ],
)
def test_times_that_may_be_negative_are_told_of(response, family, terms, said):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=40), "t": 1 + rng.exponential(size=40), "e": rng.random(40) > 0.3})
    options = {} if terms == "mixture(1)" else {"fixed": {"sigma": 0.5}}
    notes = tg.fit(f"{response} ~ {terms}", data, family=family, **options).summary().notes
    about = [note for note in notes if "Times are modelled as normal" in note and "family='weibull'" in note]
    assert len(about) == said


@pytest.mark.parametrize("formula", ["y ~ C(g) + x + h", "y ~ C(g):x + h"])
def test_factors_of_many_levels_are_cut_short(formula):
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"g": np.arange(240) % 60, "x": rng.normal(size=240), "h": np.repeat(list("ab"), 120)})
    data["y"] = rng.normal(size=240)
    res = tg.fit(formula, data)
    table = res.summary().tables[2]
    names = [str(row[0]).strip() for row in table][1:]
    of_factor = [name for name in names if "C(g)" in name]
    known = [name for name in res.params.index if "C(g)" in name]
    more = "[...]".join(re.split(r"\[.*?\]", known[0]))
    assert of_factor == [*known[:3], f"{more} {len(known) - 3} more"]
    assert set(res.params.index) - set(known) - {"sigma"} == set(names) - set(of_factor)
    assert "summary_frame() for all" in str(res.summary())
    few = tg.fit(formula, data[data["g"] < 30])
    assert len(few.summary().tables[2]) == len(few.params)
    assert "summary_frame" not in str(few.summary())


def test_long_tables_of_other_columns_are_whole():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(120, 46)), columns=[f"x{k}" for k in range(46)]).assign(y=rng.normal(size=120))
    res = tg.fit("y ~ .", data)
    assert len(res.summary().tables[2]) == len(res.params)
