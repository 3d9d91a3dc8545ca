"""Tests of groups beside survival, NADA, EnvStats, their definition, and their size."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm
from support.nondetects import cases, frame, signs

import tobitgp as tg
from tobitgp.nondetects.sample import read_values
from tobitgp.nondetects.value_order import peto_scores

FORMULAS = {
    "zinc_groups": ("cuzn", "zn ~ zone | censor(nondetect=zn_censored)"),
    "heron_groups": ("pb_heron", "Liver ~ DosageGroup | censor(nondetect=LiverCen)"),
    "tce_groups": ("tce2", "tce ~ density | censor(nondetect=censored)"),
}
ENVSTATS = {
    "gehan": "gehan hypergeometric",
    "peto-prentice": "peto-peto hypergeometric",
    "logrank": "logrank hypergeometric",
    "tarone-ware": "tarone-ware hypergeometric",
}

pytestmark = pytest.mark.filterwarnings("ignore:1 of 118 rows is dropped")


def run(name, method, **options):
    data, formula = FORMULAS[name]
    return tg.nondetects.test_groups(formula, frame(data), method=method, **options)


def columns_of(name):
    data, formula = FORMULAS[name]
    response, group, flag = (formula.replace(" | censor(nondetect=", " ~ ").rstrip(")")).split(" ~ ")
    kept = frame(data).dropna()
    return kept[response].to_numpy(), kept[flag].to_numpy() == 1, kept[group].to_numpy()


def weighted_logrank(y, c, first, weigh):
    """Observed less expected values of one group and their variance, over detects from the highest down."""
    total, variance, S, prentice = 0.0, 0.0, 1.0, 1.0
    for value in np.unique(y[~c])[::-1]:
        at_risk, events = y <= value, (y == value) & ~c
        n, d, m = at_risk.sum(), events.sum(), (at_risk & first).sum()
        prentice *= 1.0 - d / (n + 1.0)
        w = weigh(n, S, prentice)
        S *= 1.0 - d / n
        total += w * ((events & first).sum() - d * m / n)
        if n > 1:
            variance += w**2 * d * (m / n) * (1.0 - m / n) * (n - d) / (n - 1.0)
    return total, variance


WEIGHTS = {
    "peto": lambda n, S, prentice: S,
    "peto-prentice": lambda n, S, prentice: prentice,
    "gehan": lambda n, S, prentice: n,
    "tarone-ware": lambda n, S, prentice: np.sqrt(n),
    "logrank": lambda n, S, prentice: 1.0,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_reference_numbers_of_rank_tests(name):
    case = cases()[name]
    peto, logrank = run(name, "peto"), run(name, "logrank")
    assert peto.statistic == pytest.approx(case["peto_peto"]["chisq"], rel=1e-9)
    assert peto.statistic == pytest.approx(case["nada_cendiff"]["chisq"], rel=1e-9)
    assert float(f"{peto.statistic:.4g}") == case["nada2_cen1way"]["chisq_4_digits"]
    assert float(f"{peto.pvalue:.3g}") == case["nada2_cen1way"]["p_3_digits"]
    assert peto.pvalue == pytest.approx(case["peto_peto"]["p"], rel=1e-9)
    assert (peto.df, logrank.df) == (case["peto_peto"]["df"], case["logrank"]["df"])
    assert logrank.statistic == pytest.approx(case["logrank"]["chisq"], rel=1e-9)
    assert logrank.pvalue == pytest.approx(case["logrank"]["p"], rel=1e-9)
    for method, key in ENVSTATS.items():
        res = run(name, method)
        assert res.statistic == pytest.approx(case[key]["statistic"]["z"] ** 2, rel=1e-9)
        assert res.pvalue == pytest.approx(case[key]["p"], rel=1e-9)


@pytest.mark.parametrize("method", WEIGHTS)
@pytest.mark.parametrize("name", FORMULAS)
def test_rank_tests_by_their_definition(name, method):
    y, c, group = columns_of(name)
    total, variance = weighted_logrank(y, c, group == np.unique(group)[0], WEIGHTS[method])
    assert run(name, method).statistic == pytest.approx(total**2 / variance, rel=1e-9)
    if method in ENVSTATS:
        peer = cases()[name][ENVSTATS[method]]["statistic"]
        np.testing.assert_allclose([abs(total), variance], [abs(peer["nu"]), peer["var.nu"]], rtol=1e-9)


@pytest.mark.parametrize("name", FORMULAS)
def test_reference_numbers_of_maximum_likelihood(name):
    case, res = cases()[name]["mle_lr"], run(name, "mle")
    assert res.statistic == pytest.approx(case["chisq"], rel=1e-8)
    assert res.pvalue == pytest.approx(case["p"], rel=1e-8)
    ratio = next(value for key, value in case["coef"].items() if key != "(Intercept)")
    assert np.log(res.params.iloc[0]) == pytest.approx(ratio, rel=1e-5)
    data, formula = FORMULAS[name]
    fitted = tg.fit(formula, frame(data), family="lognormal")
    np.testing.assert_allclose(np.log(res.conf_int().iloc[0]), fitted.conf_int().iloc[1], rtol=1e-6)
    assert fitted.params["Intercept"] == pytest.approx(case["coef"]["(Intercept)"], rel=1e-5)
    assert fitted.params["sigma"] == pytest.approx(case["scale"], rel=1e-5)


@pytest.mark.parametrize("name", FORMULAS)
def test_scores_add_up_to_references(name):
    """Gehan's statistic is the sum of one group's scores, of all rows."""
    y, c, group = columns_of(name)
    scores = tg.nondetects.gehan_scores(y, c)
    np.testing.assert_array_equal(scores, signs(y, c).sum(axis=1))
    nu = cases()[name]["gehan hypergeometric"]["statistic"]["nu"]
    assert abs(scores[group == np.unique(group)[0]].sum()) == abs(nu)
    means = run(name, "gehan").params
    assert means.iloc[0] == pytest.approx(scores[group == means.index[0]].mean() / (len(y) - 1))
    assert np.isnan(run(name, "gehan").conf_int()).all(axis=None)


def test_peto_scores_by_their_definition():
    y, c, _ = columns_of("heron_groups")
    total = np.zeros(len(y))
    survival, before = {}, 1.0
    for value in np.unique(y)[::-1]:
        at_risk, events = np.sum(y <= value), np.sum((y == value) & ~c)
        survival[value] = before, before * (1.0 - events / at_risk)
        before = survival[value][1]
    total = [survival[v][1] - 1.0 if f else sum(survival[v]) - 1.0 for v, f in zip(y, c, strict=True)]
    found = peto_scores(read_values(y, c))
    np.testing.assert_allclose(found, total, atol=1e-12)
    assert found.sum() == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("name", FORMULAS)
def test_permutations_are_near_the_normal_approximation(name):
    res = run(name, "permutation", rng=2)
    scores = peto_scores(read_values(*columns_of(name)[:2]))
    group = columns_of(name)[2]
    parts = [scores[group == g] for g in np.unique(group)]
    expected = sum(part.sum() ** 2 / len(part) for part in parts) / np.var(scores, ddof=1)
    assert res.statistic == pytest.approx(expected)
    assert res.pvalue == pytest.approx(chi2.sf(expected, 1), abs=4 * res.pvalue_error + 0.003)
    assert res.pvalue >= 1e-4
    assert res.pvalue_error == pytest.approx(np.sqrt(res.pvalue * (1 - res.pvalue) / 9999))
    assert res.pvalue == run(name, "permutation", rng=2).pvalue != run(name, "permutation", rng=3).pvalue


def three(seed=0, n=20, shift=(0.0, 0.5, 1.0)):
    rng = np.random.default_rng(seed)
    group = np.repeat(["low", "middle", "top"], n)
    y = np.exp(np.repeat(shift, n) + rng.standard_normal(3 * n))
    limit = rng.choice([0.8, 1.5], 3 * n)
    return pd.DataFrame({"conc": np.maximum(y, limit), "nd": (y < limit).astype(int), "zone": group})


@pytest.mark.parametrize("method", ["peto", "mle", "permutation"])
def test_pairs_are_tests_of_two_groups_adjusted(method):
    data, formula = three(), "conc ~ zone | censor(nondetect=nd)"
    res = tg.nondetects.test_groups(formula, data, method=method, n_permutations=199)
    assert res.df == 2
    alone = []
    for pair in (["low", "middle"], ["low", "top"], ["middle", "top"]):
        part = data[data.zone.isin(pair)]
        found = tg.nondetects.test_groups(formula, part, method=method, n_permutations=199)
        assert res.pairwise.loc[" - ".join(pair), "pvalue"] == pytest.approx(found.pvalue)
        assert res.pairwise.loc[" - ".join(pair), "statistic"] == pytest.approx(found.statistic)
        alone.append(found.pvalue)
    order = np.argsort(alone)
    holm = np.maximum.accumulate(np.array(alone)[order] * [3, 2, 1])
    np.testing.assert_allclose(res.pairwise.pvalue_adjusted.to_numpy()[order], np.minimum(holm, 1.0))
    bonferroni = tg.nondetects.test_groups(formula, data, method=method, adjust="bonferroni", n_permutations=199)
    np.testing.assert_allclose(bonferroni.pairwise.pvalue_adjusted, np.minimum(3 * np.array(alone), 1.0))
    assert "adjusted by bonferroni" in str(bonferroni.summary())


@pytest.mark.slow
def test_ratios_of_all_pairs():
    data = three()
    res = tg.nondetects.test_groups("conc ~ zone | censor(nondetect=nd)", data, method="mle")
    assert list(res.params.index) == ["middle / low", "top / low", "top / middle"]
    ratio = res.params["top / low"] / res.params["middle / low"]
    assert res.params["top / middle"] == pytest.approx(ratio)
    other = data.assign(zone=pd.Categorical(data.zone, ["middle", "top", "low"]))
    again = tg.nondetects.test_groups("conc ~ zone | censor(nondetect=nd)", other, method="mle")
    np.testing.assert_allclose(
        again.conf_int(0.1).loc["top / middle"], res.conf_int(0.1).loc["top / middle"], rtol=1e-5
    )
    half = np.log(res.conf_int(0.1).loc["top / middle"] / res.params["top / middle"])
    assert half.upper == pytest.approx(norm.ppf(0.95) * res.errors["top / middle"])


@pytest.mark.slow
def test_spellings_of_the_response():
    data = three()
    text = data.assign(conc=[f"<{y}" if nd else f"{y}" for y, nd in zip(data.conc, data.nd, strict=True)])
    flag = data.assign(limit=np.where(data.nd == 1, data.conc, 0.0))
    found = [
        tg.nondetects.test_groups("conc ~ zone | censor(nondetect=nd)", data),
        tg.nondetects.test_groups("log(conc) ~ C(zone) | censor(nondetect=nd)", data),
        tg.nondetects.test_groups("conc ~ zone", text),
        tg.nondetects.test_groups("conc ~ zone | censor(limit)", flag),
    ]
    np.testing.assert_allclose([res.statistic for res in found], found[0].statistic, rtol=1e-12)
    assert all((res.samples == found[0].samples)[["n", "nondetects"]].all(axis=None) for res in found)


@pytest.mark.slow
def test_recensoring_gives_one_limit():
    data = three()
    res = tg.nondetects.test_groups("conc ~ zone | censor(nondetect=nd)", data, method="gehan", recensor=True)
    top = data.conc[data.nd == 1].max()
    below = (data.conc < top) | (data.nd == 1)
    byhand = data.assign(conc=np.where(below, top, data.conc), nd=below.astype(int))
    peer = tg.nondetects.test_groups("conc ~ zone | censor(nondetect=nd)", byhand, method="gehan")
    assert res.statistic == peer.statistic
    assert (res.samples.limits == f"{top:.4g}").all()
    full = data.assign(nd=0)
    same = [tg.nondetects.test_groups("conc ~ zone | censor(nondetect=nd)", full, recensor=r) for r in (True, False)]
    assert same[0].statistic == same[1].statistic


def test_the_table_says_which_test_it_is():
    labels = {
        method: run("heron_groups", method, n_permutations=99).method for method in (*WEIGHTS, "mle", "permutation")
    }
    assert len(set(labels.values())) == len(labels)
    shown = str(run("heron_groups", "peto").summary())
    for words in ("G-rho with rho = 1", "Chi2(1)", "7.3881", "0.0066", "28.6%", "0.04"):
        assert words in shown
    assert "Left out: 1 row without a value" in str(run("zinc_groups", "peto"))


def test_bad_input():
    data = three()
    test = tg.nondetects.test_groups
    alone = "All rows are in the group 'low'; a comparison needs two"
    with pytest.warns(UserWarning, match="only the level"), pytest.raises(tg.errors.DataError, match=alone):
        test("conc ~ zone | censor(nondetect=nd)", data[data.zone == "low"])
    few = data.assign(nd=np.where((data.zone == "low") & (data.index > 0), 1, data.nd))
    few.loc[0, "nd"] = 1
    with pytest.raises(tg.errors.DataError, match="The group 'low' has no detected value in 20 rows, and method='mle'"):
        test("conc ~ zone | censor(nondetect=nd)", few, method="mle")
    with pytest.raises(tg.errors.DataError, match="no detected value in 60 rows"):
        test("conc ~ zone | censor(nondetect=nd)", data.assign(nd=1))
    for formula in ("conc ~ zone + nd", "conc ~ 1", "conc ~ gp(nd)", "conc ~ zone + gp(nd)"):
        with pytest.raises(tg.errors.SpecError, match="must have one column of groups right of '~'"):
            test(formula, data)
    with pytest.raises(tg.errors.DataError, match="must be 0 or 1, but holds 1, 2"):
        test("conc ~ zone | censor(nondetect=nd)", data.assign(nd=data.nd + 1))
    with pytest.raises(tg.errors.DataError, match=r"'conc' is 0 or below in row 3\."):
        test("conc ~ zone", data.assign(conc=np.where(data.index == 3, 0.0, data.conc)), method="mle")
    with pytest.raises(tg.errors.SpecError, match="method='wilcoxon': must be one of 'peto'"):
        test("conc ~ zone", data, method="wilcoxon")
    with pytest.raises(tg.errors.SpecError, match="adjust='tukey'"):
        test("conc ~ zone", data, adjust="tukey")
    with pytest.raises(tg.errors.SpecError, match="right-censored or lie in intervals"):
        test("conc ~ zone", data.assign(conc=[">9", *map(str, data.conc[1:])]))
    with pytest.raises(tg.errors.DataError, match="Value 1 of y is missing"):
        tg.nondetects.gehan_scores([1.0, np.nan, 2.0])


def test_right_censored_rows_are_for_the_likelihood():
    data = three()
    text = [">3" if y > 3 else f"<{y}" if nd else f"{y}" for y, nd in zip(data.conc, data.nd, strict=True)]
    res = tg.nondetects.test_groups("conc ~ zone", data.assign(conc=text), method="mle")
    fitted = tg.fit("conc ~ zone", data.assign(conc=text), family="lognormal")
    assert res.statistic == pytest.approx(2 * (fitted.llf - fitted.llnull), rel=1e-6)


@pytest.mark.study
@pytest.mark.parametrize("method", ["peto", "peto-prentice", "gehan", "mle"])
def test_size_of_equal_groups(method):
    """Share of 300 samples of two groups of 20 in which p falls below .05; standard error .0126."""
    formula, found = "conc ~ zone | censor(nondetect=nd)", []
    for seed in range(300):
        data = three(seed, shift=(0.5, 0.5, 0.5))
        found.append(tg.nondetects.test_groups(formula, data[data.zone != "top"], method=method).pvalue < 0.05)
    assert 0.015 < np.mean(found) < 0.09


def test_a_background_of_non_detects_alone():
    """cendiff of NADA 1.6-1.1 and survdiff(rho = 1) of survival 3.5-3: chi2 5.3333, p .0209; exact permutations."""
    data = pd.DataFrame({"y": [5.0] * 8 + [6.2, 7.1, 9.9, 12], "nd": [1] * 8 + [0] * 4, "well": [*"uuuuuudddddd"]})
    found = tg.nondetects.test_groups("y ~ well | censor(nondetect=nd)", data)
    assert (found.statistic, found.pvalue) == (pytest.approx(16 / 3, abs=1e-9), pytest.approx(0.0209, abs=5e-5))
    # All four detects are in one of two groups of six: 2 of the ways to choose their groups, (6 over 4) of (12 over 4).
    found = tg.nondetects.test_groups("y ~ well | censor(nondetect=nd)", data, method="permutation")
    assert found.pvalue == pytest.approx(2 * 15 / 495, abs=1e-12)


@pytest.mark.parametrize("method", ["peto", "peto-prentice", "gehan", "tarone-ware", "logrank", "permutation"])
def test_pairs_of_groups_of_which_nothing_is_known(method):
    data = pd.DataFrame({"y": [5.0] * 4 + [3.0] * 3 + [6, 7, 8, 9], "nd": [1] * 7 + [0] * 4, "g": list("aaaabbbcccc")})
    found = tg.nondetects.test_groups("y ~ g | censor(nondetect=nd)", data, method=method, n_permutations=99)
    assert found.pairwise.loc["a - b", ["statistic", "pvalue"]].tolist() == [0.0, 1.0]
    assert found.pvalue < 0.05
    below = pd.DataFrame({"y": [5.0] * 4 + [2.0], "nd": [1] * 4 + [0], "g": list("aabbb")})
    found = tg.nondetects.test_groups("y ~ g | censor(nondetect=nd)", below, method=method)
    assert (found.statistic, found.pvalue) == (0.0, 1.0)
