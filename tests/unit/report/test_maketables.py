"""Tables of the package maketables, made by the package itself."""

import numpy as np
import pytest

from tobitgp.results.output import STAT_LABELS

maketables = pytest.importorskip("maketables")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_table_shows_coefficients_counts_and_evidence(curve, lung):
    table = maketables.ETable([lung.to_maketables(), curve.to_maketables()]).df
    below = table.loc["stats"]
    assert below.loc["Observations"].tolist() == [f"{lung.nobs:.10g}", "30"]
    assert below.loc["Left-censored"].tolist() == ["0", "12"]
    assert below.loc["Right-censored"].tolist() == [str(lung.counts["right"]), "0"]
    assert below.loc["Log evidence"].tolist() == [f"{lung.log_evidence:,.2f}", f"{curve.log_evidence:.3f}"]
    assert below.loc["Evidence kind"].tolist() == ["ep", "ep"]
    cell = table.loc[("coef", "ph_ecog")].iloc[0]
    assert cell.startswith(f"{lung.params['ph_ecog']:.3f}")
    assert f"({lung.bse['ph_ecog']:.3f})" in cell
    assert table.loc[("coef", "ph_ecog")].iloc[1] == ""


@pytest.mark.slow
def test_a_fit_stands_beside_statsmodels(lung):
    import statsmodels.formula.api as smf

    import tobitgp as tg

    plain = smf.ols("time ~ age", tg.datasets.load("lung")).fit()
    table = maketables.ETable([lung, plain]).df
    assert table.loc[("coef", "ph_ecog")].iloc[0].startswith(f"{lung.params['ph_ecog']:.3f}")
    for kind in ("tex", "gt"):
        assert maketables.ETable([lung.to_maketables(), plain]).make(type=kind)


def test_coefficients_are_those_of_the_fit(curve):
    table = curve.__maketables_coef_table__
    assert table.index.name == "Coefficient"
    assert np.array_equal(table["b"], curve.params)
    assert np.array_equal(table[["ci90l", "ci90u"]], curve.conf_int(0.1))
    assert table.equals(curve.to_maketables().__maketables_coef_table__)


def test_fixed_parameters_have_no_standard_error():
    import tobitgp as tg

    res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0}, method="ep")
    table = res.__maketables_coef_table__
    assert np.isnan(table.loc["sigma", "se"])
    assert np.isnan(table.loc["sigma", "p"])
    assert table.loc["age", "p"] == res.pvalues["age"]


def test_every_stat_has_a_label_and_unknown_ones_are_none(curve, lung):
    for key in STAT_LABELS:
        assert (curve.__maketables_stat__(key) is None) == (key in ("llf", "aic", "bic")), key
    assert lung.__maketables_stat__("log_evidence_integrated") is None
    assert curve.__maketables_stat__("r2") is None
    assert set(curve.__maketables_default_stat_keys__) <= set(curve.__maketables_stat_labels__)


@pytest.mark.slow
def test_a_regression_shows_its_likelihood(lung):
    import tobitgp as tg

    res = tg.fit("Surv(time, event) ~ age + sex", tg.datasets.load("lung"), family="weibull", cov_type="HC0")
    table = maketables.ETable([res.to_maketables(), lung.to_maketables()]).df
    assert table.loc[("stats", "Log likelihood")].tolist()[0] == f"{res.llf:,.2f}"
    assert res.__maketables_stat__("family") == "weibull"
    assert res.__maketables_stat__("se_type") == res.__maketables_vcov_info__["vcov_type"] == "HC0"
    assert res.__maketables_stat__("log_evidence") is None
    assert res.__maketables_coef_table__["b"].equals(res.params.rename("b").rename_axis("Coefficient"))


def test_names_cannot_be_taken_for_html(awkward):
    page = maketables.ETable([awkward.to_maketables()]).make(type="gt").as_raw_html()
    assert "sd(&lt;i&gt;t_1)" in page
    assert "<i>" not in page
