"""Tests of linear hypotheses, and between fitted regressions; (REG10) of the theory pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from tobitgp.data.absorbed import Absorbed, Columns, as_dense, choose_columns
from tobitgp.data.notebook import html_of_table
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import SpecError
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.results.comparable import check_same_rows, subject_of
from tobitgp.results.fit import Fit
from tobitgp.results.not_finite import warn_of_intervals
from tobitgp.results.parameter_estimates import CovKind, Linear
from tobitgp.results.predict import check_alpha
from tobitgp.results.scale_hypotheses import on_log_scale
from tobitgp.results.views import FRAME_COLUMNS
from tobitgp.results.written_hypotheses import coefficient_pattern, plain_name, read_constraints
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class ContrastResults:
    """Tests of linear combinations of coefficients against values; prints as its table.

    Each is tested by (REG10) of the theory pages; with a prior, tails are those of the mixture of (PRE3).

    Attributes
    ----------
    names : list of str, length k
        The hypotheses as written.
    null : (k,) array
        Values under the hypotheses, in the units of the combinations.
    posterior : Linear
        Posterior of the combinations minus these values.
    """

    names: list[str]
    null: Array
    posterior: Linear

    @property
    def effect(self) -> Array:
        """Posterior means of the combinations, (k,), in their units."""
        return self.posterior.coefficients() + self.null

    @property
    def sd(self) -> Array:
        """Posterior standard deviations, (k,), in the units of the combinations."""
        return self.posterior.errors()

    @property
    def tvalue(self) -> Array:
        """Distances from the hypotheses in standard deviations, (k,); NaN where a combination is fixed."""
        return self.posterior.z_values()

    @property
    def pvalue(self) -> Array:
        """Twice the posterior probability of the side of the value that is less likely, (k,)."""
        return self.posterior.p_values()

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Posterior intervals (k, 2), in the units of the combinations, of probability ``1 - alpha``."""
        return self.posterior.interval(check_alpha(alpha)) + self.null[:, None]

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """A row for each hypothesis, columns ``coef, std err, z, P>|z|, lower, upper``; in the units of it."""
        columns = [self.effect, self.sd, self.tvalue, self.pvalue, *self.conf_int(alpha).T]
        return pd.DataFrame(dict(zip(FRAME_COLUMNS, columns, strict=True)), index=self.names)

    def __repr__(self) -> str:
        return self.summary_frame().to_string(float_format="{:.4g}".format)

    def _repr_html_(self) -> str:
        """The table, in a notebook."""
        return html_of_table(self.summary_frame())


@dataclass(frozen=True, slots=True)
class WaldResults:
    """Joint test of several hypotheses, by (REG10) of the theory pages.

    Attributes
    ----------
    statistic : float
        ``(R b - r)' (R V R')^-1 (R b - r)`` with posterior mean b and covariance V, dimensionless; for ``lr_test()``
        twice the difference of the log likelihoods.
    df : int
        Number of hypotheses.
    pvalue : float
        Upper tail probability of the chi-squared distribution.
    """

    statistic: float
    df: int
    pvalue: float

    def summary_frame(self) -> pd.DataFrame:
        """One row with columns ``chi2, P>chi2, df constraint``: chi-squared, its tail probability, and its degrees."""
        return pd.DataFrame({"chi2": [self.statistic], "P>chi2": [self.pvalue], "df constraint": [self.df]})

    def __repr__(self) -> str:
        return f"chi2({self.df}) = {self.statistic:.4g}, p = {self.pvalue:.4g}"

    def _repr_html_(self) -> str:
        """The test as a table, in a notebook."""
        return html_of_table(self.summary_frame(), index=False)


def chi_squared(statistic: float, df: int) -> WaldResults:
    """A statistic with its tail probability."""
    return WaldResults(statistic, df, float(chdtrc(df, statistic)))


_SPANNED, _LOCAL = 1e-8, 1e-6
_ALPHA = 0.05
_BLOCK = 200  # columns


def likelihood_ratio(larger: Fit, smaller: Fit) -> WaldResults:
    """Twice the difference of the log likelihoods; see ``RegressionResults.lr_test``."""
    if getattr(smaller, "evidence_kind", None) != "loglik":
        raise SpecError(f"lr_test() requires a fit by method='mle', not {type(smaller).__name__}.")
    if larger._of_sample or smaller._of_sample:
        raise SpecError(
            "lr_test() is not supported with sampling weights, because the statistic would depend on their "
            "unit. Use wald_test() or anova(), which use the robust covariance."
        )
    if larger.parts.training is None or smaller.parts.training is None:
        raise SpecError(
            f"{NO_ROWS}, and lr_test() requires them to check that the models are nested. Use "
            f"tg.compare(by='aic'), which does not."
        )
    check_same_rows({"this model": subject_of(larger), "the other": subject_of(smaller)})
    df = int(larger.parts.maximum.free.sum() - smaller.parts.maximum.free.sum())
    why = _why_not_nested(larger.parts, smaller.parts) or ("it has as many free parameters, or more" if df < 1 else "")
    if why:
        raise SpecError(f"The other model is not nested in this one: {why}. tg.compare(by='aic') ranks any two.")
    gain = larger.llf - smaller.llf
    if not (np.isfinite(gain) and larger.converged and smaller.converged):
        raise SpecError(
            "One of the fits has not converged, so its likelihood is not at a maximum. Follow its warning first."
        )
    if gain < -_LOCAL * max(1.0, abs(larger.llf)):
        raise SpecError(
            "The other model has the higher likelihood, so the optimiser did not reach the maximum for this model."
        )
    return chi_squared(max(2.0 * gain, 0.0), df)


def _why_not_nested(larger: LikelihoodParts, smaller: LikelihoodParts) -> str:
    """What keeps one model from being a case of the other; empty where nothing does."""
    one, two = larger.noise, smaller.noise
    same_shape = larger.family.estimate_shape or one.shape_name is None or one == two
    if not one.contains(two) or larger.family.log_time != smaller.family.log_time or not same_shape:
        return f"its family is {smaller.family.name}, or has another shape"
    why = larger.why_not_nested(smaller)
    names = [
        "linear terms are not nested in these",
        *(f"{name} is not nested in this one's" for name in larger.other_words),
    ]
    pairs = zip(names, _predictors(larger), _predictors(smaller), strict=False)  # baselines may have more
    return why or next((f"its {reason}" for reason, whole, part in pairs if not spans(*whole, *part)), "")


def spans(H: Columns, offset: Array, H_part: Columns, offset_part: Array) -> bool:
    """Whether every ``H_part b + offset_part`` is an ``H c + offset``."""
    blocks = chain(_in_blocks(H_part), [(offset_part - offset)[:, None]])
    return all(_spanned(H, wanted / np.maximum(np.abs(wanted).max(axis=0), 1e-300)) for wanted in blocks)


def _in_blocks(H: Columns) -> Iterator[Array]:
    """The columns, some at a time."""
    for at in np.array_split(np.arange(H.shape[1]), H.shape[1] // _BLOCK + 1):
        yield as_dense(choose_columns(H, np.isin(np.arange(H.shape[1]), at)))


def _spanned(H: Columns, wanted: Array) -> bool:
    """Whether columns of H add up to all those wanted, of size 1."""
    if isinstance(H, Absorbed):
        return _spanned(H.less_levels(H.common), H.less_levels(wanted))
    scale = np.maximum(np.abs(H).max(axis=0, initial=0.0), 1e-300)
    left = wanted - (H / scale) @ np.linalg.lstsq(H / scale, wanted, rcond=None)[0] if H.shape[1] else wanted
    return bool((np.abs(left).max(axis=0) <= _SPANNED).all())


def _predictors(parts: LikelihoodParts) -> Iterator[tuple[Columns, Array]]:
    """Free columns of the parameters of rows, and their known parts."""
    designs = parts.columns_of_rows(parts.rows.design)
    ends = np.cumsum([X.shape[1] for X, _ in designs])
    values = np.split(np.concatenate([parts.coefficients, parts.maximum.gamma]), ends[:-1])
    frees = np.split(parts.maximum.free, ends)[: len(ends)]
    for (X, offset), free, b in zip(designs, frees, values, strict=True):
        yield choose_columns(X, free), offset + choose_columns(X, ~free) @ b[~free]


def _read(results: Fit, kind: CovKind | None, hypotheses: Any, r_matrix: Any) -> tuple[Linear, Array, list[str]]:
    """Combinations less their values, these values, and names.

    Where text names a positive parameter, that is its logarithm; text about fixed parameters raises an error.
    """
    linear, columns = results._testable(kind)
    given = _tested_columns(results, columns, hypotheses, r_matrix)
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        R, null, names = read_constraints(columns, given)
        return linear.combine(R, null), null, names
    known = results._with_scales(kind)
    positive = {name for name, log in zip(known.columns, known.logs, strict=True) if log}
    pattern = coefficient_pattern(known.columns)
    scales = any(plain_name(found[0]) in positive for text in texts for found in pattern.finditer(text))
    R, null, names = read = read_constraints(known.columns if scales else columns, given)
    if scales:
        linear, read = known.linear, on_log_scale(known.columns, known.logs, *read)
    gap = linear.combine(*read[:2])
    if gap.fixed.any():
        raise SpecError(
            f"The hypothesis {names[np.argmax(gap.fixed)]!r} is about parameters that are fixed. Leave it out."
        )
    return gap, *read[1:]


def _tested_columns(results: Fit, columns: Sequence[str], hypotheses: Any, r_matrix: Any) -> Any:
    """Hypotheses, those about all parameters without the columns of parameters that are not tested."""
    if (hypotheses is None) == (r_matrix is None):
        raise SpecError("Give the hypotheses once, as the first argument or as r_matrix=.")
    given = r_matrix if hypotheses is None else hypotheses
    pair = isinstance(given, tuple) and len(given) == 2
    matrix, names = given[0] if pair else given, results._names
    known = isinstance(matrix, (np.ndarray, pd.DataFrame)) and np.shape(matrix)[-1:] == (len(names),)
    if not known or len(names) == len(columns) or len(set(names)) < len(names):
        return given
    R, tested = np.asarray(matrix), np.isin(names, columns)
    if R.dtype.kind not in "fiub":
        return given
    if R[..., ~tested].any():
        wrong = np.array(names, dtype=object)[~tested & (R.reshape(-1, len(names)) != 0.0).any(axis=0)][0]
        raise SpecError(f"A row of weights is about {wrong}, which cannot be tested against zero. Leave that row out.")
    R = R[..., [names.index(name) for name in columns]]
    return (R, given[1]) if pair else R


def t_test(
    results: Fit, hypotheses: Any = None, kind: CovKind | None = None, *, r_matrix: Any = None
) -> ContrastResults:
    """Test hypotheses about coefficients one by one; for a mixture, hypotheses about all parameters.

    Tests follow (REG10) of the theory pages; for a mixture, with the covariance (LR2); with a prior, with the tails of
    (PRE3). Parameters that must be positive, such as sigma or a shape, are tested on the log scale: ``"sigma = 1"`` is
    ``log(sigma) = 0``, and ``"sigma[a] = sigma[b]"`` tests whether two of them are equal.

    Parameters
    ----------
    hypotheses : str, list of str, (k, p) array, or pair of such an array and k values
        For example ``"x = 0, z = 1"`` or ``"x - 2*z"``, or rows of weights of the p parameters. Names are those of the
        table of coefficients that have a z; a name or the columns in it may be in backticks. Rows of weights for all of
        ``params`` are also accepted if the weights of other parameters are 0.
    kind
        As for :meth:`cov_params`.
    r_matrix : (k, p) array, optional
        The hypotheses as weights (dimensionless), under the name of statsmodels.

    Returns
    -------
    ContrastResults
        With ``effect, sd, tvalue, pvalue, conf_int(alpha), summary_frame(alpha)``; p-values are two-sided.

    Raises
    ------
    SpecError
        If a hypothesis cannot be read, one in text is about fixed parameters, or for another ``kind``. In rows of
        weights those of fixed parameters have NaN.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> res.t_test("age = 0, age = quant").summary_frame().round(2)
                 coef  std err     z  P>|z|  lower  upper
    age = 0     -0.12     0.19 -0.61   0.54  -0.49   0.26
    age = quant -0.07     0.21 -0.34   0.73  -0.47   0.33
    >>> lung = tg.datasets.load("lung")
    >>> aft = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> aft.t_test("sigma = 1").summary_frame()[["coef", "std err", "z"]].round(3)
                     coef  std err      z
    log(sigma) = 0 -0.282    0.062 -4.562
    """
    gap, null, names = _read(results, kind, hypotheses, r_matrix)
    found = ContrastResults(names, null, gap)
    warn_of_intervals(results, "t_test()", pd.DataFrame(found.conf_int(), index=names))
    return found


def wald_test(
    results: Any,
    hypotheses: Any = None,
    kind: CovKind | None = None,
    *,
    r_matrix: Any = None,
    use_f: bool = False,
    scalar: bool = True,
) -> Any:
    """Test several hypotheses about coefficients jointly; for a mixture, hypotheses about all parameters.

    Parameters that must be positive are tested on the log scale, as in :meth:`t_test`.

    Parameters
    ----------
    hypotheses, kind, r_matrix
        As for :meth:`t_test`.
    use_f : bool
        Return the result of ``f_test()``.
    scalar : bool
        Accepted for compatibility with statsmodels; statistics are always numbers.

    Returns
    -------
    WaldResults
        With ``statistic, pvalue, df, summary_frame()``, dimensionless numbers.

    Raises
    ------
    SpecError
        If a hypothesis cannot be read or is about fixed parameters, hypotheses depend on each other, or for another
        ``kind``.

    References
    ----------
    (REG10) of the theory pages, of a mixture with the covariance (LR2); A. Wald, "Tests of statistical hypotheses
    concerning several parameters when the number of observations is large", Transactions of the AMS 54 (1943).

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> res.wald_test("age = 0, quant = 0")
    chi2(2) = 1.316, p = 0.5179
    """
    if use_f:
        return results.f_test(_tested_columns(results, results._testable(kind)[1], hypotheses, r_matrix))
    gap, _, names = _read(results, kind, hypotheses, r_matrix)
    found = joint_wald(gap)
    if found is None:
        raise SpecError("The hypotheses must be linearly independent and must not be about fixed coefficients.")
    if np.isnan(found.statistic):
        warn_of_intervals(results, "wald_test()", pd.DataFrame(gap.interval(_ALPHA), index=names))
    return found


def joint_wald(gap: Linear) -> WaldResults | None:
    """Test of all combinations together, (REG10); NaN where one is not identified, None where they are dependent."""
    V = gap.total_covariance()
    if np.isnan(V).any():
        return WaldResults(float("nan"), len(V), float("nan"))
    size = np.sqrt(np.maximum(np.diag(V), 0.0))
    if (size == 0.0).any() or np.linalg.matrix_rank(V / np.outer(size, size), hermitian=True) < len(V):
        return None
    z = gap.coefficients() / size
    return chi_squared(float(z @ np.linalg.solve(V / np.outer(size, size), z)), len(V))
