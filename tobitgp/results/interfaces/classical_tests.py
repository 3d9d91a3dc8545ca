"""Tests and criteria under the names of statsmodels, most of them with its classes of answers."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import as_dense
from tobitgp.data.linear_columns import linear_terms
from tobitgp.errors import SpecError
from tobitgp.formula.linear_terms import mentions
from tobitgp.results.counterfactuals import column_levels
from tobitgp.results.why_not import where_defined
from tobitgp.typing import Array

CRITERIA = ("aic", "aicc", "bic", "hqic", "loo", "waic")


@where_defined
def f_test(results: Any, hypotheses: Any) -> Any:
    """Test of several hypotheses together by the F distribution, for small samples.

    The statistic is that of ``wald_test`` divided by the number of hypotheses; the degrees of freedom of the
    denominator are ``df_resid``.

    Parameters
    ----------
    hypotheses
        As for ``t_test``.

    Returns
    -------
    statsmodels.stats.contrast.ContrastResults
        With ``fvalue, pvalue, df_num, df_denom``, dimensionless numbers.

    Raises
    ------
    SpecError
        If a hypothesis cannot be read, or they depend on each other.

    References
    ----------
    W. H. Greene (2018), *Econometric Analysis*, section 5.4; (REG10) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"))
    >>> test = res.f_test("age = 0, quant = 0")
    >>> round(float(test.fvalue), 3), test.df_num, test.df_denom
    (0.562, 2, 16.0)
    """
    from statsmodels.stats.contrast import ContrastResults

    found = results.wald_test(hypotheses)
    return ContrastResults(F=found.statistic / found.df, df_num=found.df, df_denom=results.df_resid)


def _test_of_slopes(results: Any) -> Any:
    """F test of all coefficients other than the intercept; None without any."""
    linear, columns = results._testable(None)
    p = len(results._columns)
    free = [j for j, name in enumerate(columns[:p]) if name != "Intercept" and not linear.fixed[j]]
    return f_test(results, np.eye(len(columns))[free]) if free else None


@where_defined
def fvalue(results: Any) -> float:
    """F statistic of all coefficients other than the intercept, a dimensionless number; NaN without any; (REG10)."""
    found = _test_of_slopes(results)
    return float("nan") if found is None else float(found.fvalue)


@where_defined
def f_pvalue(results: Any) -> float:
    """Upper tail probability of ``fvalue``; (REG10) of the theory pages."""
    found = _test_of_slopes(results)
    return float("nan") if found is None else float(found.pvalue)


@where_defined
def wald_test_terms(results: Any, scalar: bool = True) -> Any:
    """Joint test of each term, as ``anova`` has them.

    Parameters
    ----------
    scalar : bool
        Read for programs written for statsmodels; statistics are numbers.

    Returns
    -------
    statsmodels.stats.contrast.WaldTestResults
        Prints as its ``table``, a row for each term: columns ``statistic, pvalue, df_constraint``, dimensionless
        numbers.

    Raises
    ------
    SpecError
        If the model has no term except the intercept.

    References
    ----------
    (ANO1) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"))
    >>> res.wald_test_terms().table["df_constraint"].to_dict()
    {'age': 1.0, 'quant': 1.0}
    """
    from statsmodels.stats.contrast import WaldTestResults

    found = results.anova()
    table = pd.DataFrame({"statistic": found["chi2"], "pvalue": found["p"], "df_constraint": found["df"]})
    return WaldTestResults(None, "chi2", None, table=table)


@where_defined
def compare_lr_test(results: Any, restricted: Any) -> tuple[float, float, int]:
    """Likelihood ratio test against a nested fit: ``lr_test`` as a tuple.

    Parameters
    ----------
    restricted : fit by maximum likelihood
        Nested in this one.

    Returns
    -------
    tuple
        The statistic, its tail probability, and the difference of the numbers of parameters; dimensionless numbers.

    Raises
    ------
    SpecError
        As for ``lr_test``.

    References
    ----------
    S. S. Wilks (1938), The large-sample distribution of the likelihood ratio for testing composite hypotheses,
    *Annals of Mathematical Statistics* 9, 60-62.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.load("tobin")
    >>> larger = tg.fit("durable ~ age + quant | censor(0)", data)
    >>> [round(value, 2) for value in larger.compare_lr_test(tg.fit("durable ~ age | censor(0)", data))]
    [0.58, 0.45, 1]
    """
    found = results.lr_test(restricted)
    return found.statistic, found.pvalue, found.df


@where_defined
def t_test_pairwise(results: Any, term_name: str, method: str = "hs", alpha: float = 0.05) -> Any:
    """Differences between the levels of a factor in pairs, with probabilities corrected for their number.

    Parameters
    ----------
    term_name : str
        A term of one factor, e.g. ``"C(g)"``.
    method : str
        Correction for many tests, one of ``statsmodels.stats.multitest.multipletests``.
    alpha : float
        Level of the tests together, a probability.

    Returns
    -------
    statsmodels.stats.contrast.MultiCompResult
        Its ``result_frame`` has a row for each pair: columns ``coef, std err, z, P>|z|, Conf. Int. Low, Conf. Int.
        Upp.`` in units of the coefficients, ``pvalue-hs`` and ``reject-hs``.

    Raises
    ------
    SpecError
        If ``term_name`` is not a term of one factor, or the fit holds no training rows.
    ValueError
        For an unknown ``method``.

    References
    ----------
    S. Holm (1979), A simple sequentially rejective multiple test procedure, *Scandinavian Journal of Statistics* 6,
    65-70; (REG10) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ C(ph_ecog)", tg.datasets.load("lung").query("ph_ecog < 3"), family="weibull")
    >>> res.t_test_pairwise("C(ph_ecog)").result_frame["coef"].round(2).to_dict()
    {'1-0': -0.26, '2-0': -0.67, '2-1': -0.41}
    """
    from statsmodels.stats.contrast import MultiCompResult
    from statsmodels.stats.multitest import multipletests

    R, labels, levels = _pairs_of_levels(results, term_name)
    found = results.t_test(R)
    frame = found.summary_frame(alpha).set_axis(labels)
    frame = frame.rename(columns={"lower": "Conf. Int. Low", "upper": "Conf. Int. Upp."})
    reject, corrected = multipletests(found.pvalue, method=method, alpha=alpha)[:2]
    frame[f"pvalue-{method}"], frame[f"reject-{method}"] = corrected, reject
    return MultiCompResult(
        result_frame=frame, contrasts=R, term=term_name, contrast_labels=labels, term_encoding_matrix=levels
    )


def _pairs_of_levels(results: Any, term_name: str) -> tuple[Array, list[str], Array]:
    """Hypotheses (k, p) that levels of a factor are equal, names of the pairs, and the columns of the levels."""
    parts, (_, tested) = results.parts, results._testable(None)
    terms = dict(linear_terms(parts.state.linear))
    named = [name for name in parts.state.input_names if mentions(str(term_name), name)]
    levels = column_levels(parts, named[0]) if term_name in terms and len(named) == 1 else None
    if levels is None or parts.covariates is None:
        raise SpecError(
            f"term_name={term_name!r}: term_name must be the name of a term of one factor, in a fit that holds "
            f"its training rows. The terms are {', '.join(map(repr, terms))}."
        )
    rows = pd.concat([parts.covariates.iloc[:1].assign(**{named[0]: level}) for level in levels], ignore_index=True)
    H = as_dense(parts.state.replay(rows)[0].H)
    at = list(terms[term_name])
    pairs = [(j, i) for i, j in combinations(range(len(levels)), 2)]
    R = np.zeros((len(pairs), len(tested)))
    for k, (high, low) in enumerate(pairs):
        R[k, [list(tested).index(parts.state.linear.columns[i]) for i in at]] = H[high, at] - H[low, at]
    names = [f"{level:g}" if isinstance(level, float) else str(level) for level in levels]
    return R, [f"{names[high]}-{names[low]}" for high, low in pairs], H[:, at]


@where_defined
def pseudo_rsquared(results: Any, kind: Literal["cs", "mcf"] = "cs") -> float:
    """Pseudo R2 from the log likelihood and that with an intercept only.

    Parameters
    ----------
    kind : {"cs", "mcf"}
        Cox and Snell's ``1 - exp(2 (llnull - llf) / nobs)``, which is R2 for uncensored normal responses, or McFadden's
        ``1 - llf / llnull``.

    Returns
    -------
    float
        A dimensionless number, at most 1; NaN without an intercept.

    Raises
    ------
    SpecError
        For an unknown ``kind``.

    References
    ----------
    D. R. Cox and E. J. Snell (1989), *Analysis of Binary Data*, 208-209; McFadden (1974), Conditional logit analysis of
    qualitative choice behavior, in *Frontiers in Econometrics*.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"))
    >>> round(res.pseudo_rsquared(), 3), round(res.pseudo_rsquared("mcf"), 3)
    (0.054, 0.019)
    """
    if kind == "cs":
        return float(-np.expm1(2.0 * (results.llnull - results.llf) / results._n_units))
    if kind == "mcf":
        return float(1.0 - results.llf / results.llnull)
    raise SpecError(f"kind={kind!r} is not supported; choose 'cs' or 'mcf'.")


@where_defined
def bic_llf(results: Any) -> float:
    """The same as ``bic``, on the scale of deviances.

    References
    ----------
    Schwarz (1978), Estimating the dimension of a model, *Annals of Statistics* 6, 461-464.
    """
    return float(results.bic)


@where_defined
def info_criteria(results: Any, crit: str, dk_params: float = 0.0) -> float:
    """Criterion by which models of the same rows are compared; smaller is better.

    Parameters
    ----------
    crit : {"aic", "aicc", "bic", "hqic", "loo", "waic"}
        The first four require a maximised likelihood; ``"loo"`` and ``"waic"`` are minus twice the expected log
        predictive density of ``loo`` and ``waic``, and are available for every fit.
    dk_params : float
        Number of additional parameters to count. All estimated ones count, sigma included.

    Returns
    -------
    float
        On the scale of deviances; NaN where the likelihood is not maximised.

    Raises
    ------
    SpecError
        For an unknown ``crit``.

    References
    ----------
    K. P. Burnham and D. R. Anderson (2002), *Model Selection and Multimodel Inference*; Vehtari, Gelman and Gabry
    (2017), Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC, *Statistics and
    Computing* 27.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"))
    >>> round(res.info_criteria("aic"), 2), round(res.info_criteria("aicc"), 2)
    (65.88, 68.55)
    """
    if crit in ("loo", "waic"):
        return float(-2.0 * getattr(results, crit)().elpd)
    if crit not in CRITERIA:
        raise SpecError(f"crit={crit!r} is not supported; choose one of {', '.join(map(repr, CRITERIA))}.")
    if results.evidence_kind != "loglik" or results._of_sample:
        return float("nan")
    n, k = results._n_units, results._n_free + dk_params
    price = {"aic": 2.0, "bic": np.log(n), "hqic": 2.0 * np.log(np.log(n)), "aicc": 2.0 * n / (n - k - 1.0)}
    return float(price[crit] * k - 2.0 * results.llf)
