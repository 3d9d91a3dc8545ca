"""The page of the reference on names of statsmodels and broom; `python -m tests.support.statsmodels_page` writes it."""

from __future__ import annotations

from pathlib import Path

from tobitgp.results.interfaces.statsmodels_names import STATSMODELS_CLASSES, STATSMODELS_NAMES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "statsmodels.md"

HEAD = """# Names of statsmodels and broom

Results have most public names of the results of statsmodels (OLS, GLM and PHReg). A name that is not available raises
an `AttributeError`. It gives the reason, and what to use instead.

{shares}

Fits of a normal response without censoring give the values of OLS to eight digits where the definitions agree. Two
definitions differ. First, `scale` is the maximum-likelihood estimate, without the correction n / (n - k) for the number
of coefficients k. Second, sigma counts as a parameter. The tables say where this matters.

Parameters are in the order of the formula, and sigma is the last. patsy puts categorical terms first. Use names instead
of positions in `t_test("x = 0")` and `conf_int().loc["x"]`.

Some names are available for some kinds of fits only. For example, a mixture has no `resid_pearson`, and a posterior has
no `f_test()`. The error gives the reason.
"""

FUNCTIONS = """## Functions of statsmodels

| function | here |
|---|---|
| `het_breuschpagan(res.resid, res.model.exog)`, `het_white`, `het_arch` | the same values |
| `het_goldfeldquandt(res.model.endog, res.model.exog)` | the same values |
| `durbin_watson(res.resid)`, `jarque_bera`, `omni_normtest`, `normal_ad`, `lilliefors` | the same values |
| `acorr_ljungbox(res.resid)`, `acorr_breusch_godfrey(res)`, `breaks_cusumolsresid(res.resid)` | the same values |
| `reset_ramsey(res)`, `variance_inflation_factor(res.model.exog, i)` | the same values |
| `sm.qqplot(res.resid)`, `sm.ProbPlot(res.resid)` | the same values |
| `multipletests(res.pvalues.dropna())`, `summary_col([res])` | of the p-values and standard errors here |
| `sm.graphics.influence_plot(res)`, `plot_leverage_resid2(res)` | figures of `get_influence()` |
| `sm.graphics.plot_fit(res, "x", vlines=False)`, `plot_ccpr`, `plot_ccpr_grid`, `plot_partregress_grid` | figures |
| `plot_fit(res, "x")`, `plot_regress_exog`, `wls_prediction_std`, `OLSInfluence(res)` | not supported: `mse_resid` |
| `anova_lm(res)` | not supported: use `res.anova()` and `res.compare_lr_test(other)` |
| `linear_reset(res)`, `linear_rainbow(res)` | not supported: accept results of statsmodels only |

The tests among these functions assume uncensored responses. `res.check()` tests censored rows too.
"""

BROOM = """## Names of broom

| method | columns |
|---|---|
| `res.tidy(conf_level=0.95, exponentiate=False)` | `term`, `estimate`, `std.error`, `statistic`, `p.value`, \
`conf.low`, `conf.high` |
| `res.glance()` | `nobs`, `nevent` (uncensored observations, by weight as `nobs`), `df`, `df.residual`, \
`logLik`, `AIC`, `BIC`, `sigma`, `logEvidence`, `method`, `converged` |
| `res.augment()` | the response as the formula names it (`time`, `event`), covariates, \
`.fitted`, `.se.fit`, `.resid`, `.std.resid`; with several responses `value` and `response` |

`r.squared` is not a column, because R2 of censored responses has several definitions. `.fitted` is the mean before
censoring, or the median if times have no mean. `.std.resid` are quantile residuals.

```{eval-rst}
.. currentmodule:: tobitgp

.. autosummary::
   :toctree: generated

   ~RegressionResults.tidy
   ~RegressionResults.glance
   ~RegressionResults.augment
```
"""

TITLES = {"same": "Same meaning", "here": "Different definition", "none": "Not available"}
HAZARDS = ("baseline_cumulative_hazard", "baseline_cumulative_hazard_function", "schoenfeld_residuals")


def shares() -> str:
    """How many names of each class are available."""
    lines = ["| results of statsmodels | names | available |", "|---|---|---|"]
    for kind, names in STATSMODELS_CLASSES.items():
        known = sum(STATSMODELS_NAMES[name].meaning != "none" for name in names)
        lines.append(f"| {kind} | {len(names)} | {known} |")
    return "\n".join(lines)


def table(meaning: str) -> str:
    """The names of one meaning."""
    rows = []
    for name, row in sorted(STATSMODELS_NAMES.items(), key=lambda pair: pair[0].lower()):
        if row.meaning == meaning:
            of = ", ".join(kind for kind, names in STATSMODELS_CLASSES.items() if name in names)
            words = f"{row.words} {row.instead}".strip().replace("|", r"\|")
            rows.append(f"| `{name}` | {of} | {words} |")
    return "\n".join([f"## {TITLES[meaning]}", "", "| name | of | here |", "|---|---|---|", *rows])


def documented(own: set[str]) -> str:
    """Links to the names that no other page shows."""
    names = sorted(own, key=str.lower)
    of = ["HazardResults" if name in HAZARDS else "RegressionResults" for name in names]
    links = "\n".join(f"   ~{kind}.{name}" for kind, name in zip(of, names, strict=True))
    block = f".. currentmodule:: tobitgp\n\n.. autosummary::\n   :toctree: generated\n\n{links}\n"
    answers = (
        ".. currentmodule:: tobitgp\n\n"
        ".. autosummary::\n   :toctree: generated\n   :template: autosummary/whole.rst\n\n"
        "   ~results.interfaces.leverage.InfluenceMeasures\n"
    )
    return f"## Details\n\n```{{eval-rst}}\n{block}```\n\n```{{eval-rst}}\n{answers}```\n"


def text() -> str:
    """The page."""
    elsewhere = "\n".join(page.read_text(encoding="utf-8") for page in PAGE.parent.glob("*.md") if page != PAGE)
    available = {name for name, row in STATSMODELS_NAMES.items() if row.meaning != "none"}
    own = {name for name in available if f"Results.{name}\n" not in elsewhere}
    tables = [table(meaning) for meaning in TITLES]
    return "\n\n".join(
        [
            HEAD.format(shares=shares()).rstrip("\n"),
            *tables,
            FUNCTIONS.rstrip("\n"),
            BROOM.rstrip("\n"),
            documented(own),
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
