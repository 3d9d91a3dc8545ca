"""A joint test of each term of a formula."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.design import DesignState
from tobitgp.data.linear_columns import INTERCEPT, linear_terms
from tobitgp.errors import SpecError, user_level
from tobitgp.results.fit import Fit
from tobitgp.results.hypotheses import joint_wald
from tobitgp.results.parameter_estimates import Linear
from tobitgp.results.process.term_tests import MOST_COLUMNS, TermTest
from tobitgp.results.terms import is_location, model_terms
from tobitgp.typing import IntArray

_UNKNOWN = TermTest(np.nan, np.nan, np.nan)


def anova(results: Fit) -> pd.DataFrame:
    """Joint test of each term: factors, splines, interactions, processes, random effects.

    Linear terms, including those of ``sigma="~ ..."``, ``cure="~ ..."`` and ``formulas=``, are tested by a Wald test of
    all their columns, with the covariance of :meth:`cov_params`, as in R's ``car::Anova(type=3, test="Wald")``. If a
    model has an interaction, its main effects are therefore those at the base levels, or at zero, of the other columns.
    Terms of parameters other than the location have the names of their coefficients, e.g. ``log(shape)[z]``. A term of
    ``mixture(2, x)`` is tested in all components together. Processes are tested by Wood's test of a smooth term [1]_,
    as in mgcv's ``summary()``, and random effects by a score test of zero variance [2]_.

    Returns
    -------
    DataFrame
        Index ``term``; columns ``df, chi2, p`` and, for a model with processes, ``edf``, their effective numbers of
        parameters: dimensionless numbers. For a process, ``df`` is the rank of the test. The values are NaN for terms
        that are fixed or not identified, for processes kept as a Markov chain or by nearest neighbours, for processes
        of a fit without training rows, and for terms with more than 2,000 columns.

    Raises
    ------
    SpecError
        If the model is a mixture or has no terms.

    Warns
    -----
    UserWarning
        If a term has no test.

    References
    ----------
    (ANO1) to (ANO3) of the theory pages, which report the rates of false positives of the last two.

    .. [1] S. N. Wood (2013), On p-values for smooth components of an extended generalized additive model, *Biometrika*
       100, 221-228.
    .. [2] X. Lin (1997), Variance component testing in generalised linear models with random effects, *Biometrika* 84,
       309-326.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ bs(age, df=3) + C(sex)", lung, family="weibull")
    >>> res.anova().round(3).reset_index()
                term   df   chi2      p
    0  bs(age, df=3)  3.0  6.485  0.090
    1         C(sex)  1.0  8.712  0.003
    """
    return anova_table(dict(results._term_tests()))


def anova_table(tests: Mapping[Any, TermTest]) -> pd.DataFrame:
    """Tests by term, without effective degrees of freedom where no process has any."""
    if not tests:
        raise SpecError("This model has no term to test except the intercept.")
    without = ", ".join(str(name) for name, test in tests.items() if np.isnan(test.p))
    if without:
        warnings.warn(
            f"No test is available for {without}. Tests are not defined for coefficients that are fixed or not "
            f"identified, processes kept as a Markov chain or by nearest neighbours, terms of more than "
            f"{MOST_COLUMNS:,} columns, and processes of a fit without rows.",
            UserWarning,
            stacklevel=user_level(),
        )
    table = pd.DataFrame(list(tests.values()), columns=list(TermTest._fields), index=pd.Index(list(tests), name="term"))
    return table if table["edf"].notna().any() else table.drop(columns="edf")


def term_tests(
    results: Fit, own: Callable[[str], bool] = bool, skipped: Collection[str] = ()
) -> Iterator[tuple[str, TermTest]]:
    """Tests of the terms of f, of linear ones those that are ``own``, of others all but some; then of other formulas.

    Terms of a mixture of regressions are tested in all components together.
    """
    parts, formulas = results.parts, _terms_of_formulas(results.parts.state)
    tested, names = results._testable(None) if formulas else (results._linear, results._columns)
    places = {name: at for at, name in enumerate(names)}
    rest = {term: [places[name] for name in columns if name in places] for term, columns in formulas.items()}
    for term in model_terms(parts):
        if term.columns and term.name != INTERCEPT and own(term.name):
            at = [*term.columns, *rest.pop(term.name, ())]
            yield term.name, joint_test_of_columns(tested, np.array(at))
        elif term.block is not None and term.name not in skipped:
            found = results._process_test(term)
            if found is not None:
                yield term.name, found
    for name, at in rest.items():
        yield name, joint_test_of_columns(tested, np.array(at, dtype=np.intp))


def _terms_of_formulas(state: DesignState) -> dict[str, list[str]]:
    """Coefficients of each term of the formulas of other parameters; locations of components have one name."""
    of_scale = [] if state.scale is None else [(state.scale, state.scale_columns)]
    found: dict[str, list[str]] = {}
    for part, columns in [*of_scale, *zip(state.formulas, state.formula_columns.values(), strict=True)]:
        for name, at in linear_terms(part.linear):
            if name != INTERCEPT:
                label = columns[at[0]].partition("[")[0]
                found.setdefault(name if is_location(part) else f"{label}[{name}]", []).extend(columns[j] for j in at)
    return found


def joint_test_of_columns(linear: Linear, columns: IntArray) -> TermTest:
    """Wald's test of the coefficients of some columns, but for fixed ones: (ANO1)."""
    columns = columns[~linear.fixed[columns]]
    if not 0 < len(columns) <= MOST_COLUMNS:
        return _UNKNOWN
    R = np.zeros((len(columns), linear.mean.shape[1]))
    R[np.arange(len(columns)), columns] = 1.0
    found = joint_wald(linear.combine(R, np.zeros(len(columns))))
    return _UNKNOWN if found is None else TermTest(float(found.df), found.statistic, found.pvalue)
