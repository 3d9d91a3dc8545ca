r"""Marginal effects: how a prediction changes with a column of the data.

An effect is :math:`\sum_n \omega_n [Q_n^+ - Q_n^-] / \mathrm{width}_n`, Q the prediction requested at two values of the
column, or its logarithm, times the column's value where that changes by shares: (REG14), (REG15) and (ECO1) of the
theory pages. Its variance is by the delta method: for a regression in the estimates, for a process in the weights of
its features, with the gradient averaged over f, at every node.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.engines import single_blas_thread
from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.results.counterfactuals import changes, changing, column_levels, rows_at
from tobitgp.results.curves import warn_of_tail
from tobitgp.results.effect_questions import EffectRequest, read_asked
from tobitgp.results.fit import Fit
from tobitgp.results.not_finite import warn_of_intervals
from tobitgp.results.parameter_estimates import Linear
from tobitgp.results.paths import refuse_parts
from tobitgp.results.predict import check_alpha
from tobitgp.results.rows import mean_limits, no_limits
from tobitgp.typing import Frame


@reads_frames
def marginal_effects(
    results: Fit,
    what: str = "latent",
    at: str | Frame = "overall",
    *,
    method: str = "dydx",
    variables: str | Sequence[str] | None = None,
    q: float | None = None,
    below: float | None = None,
    above: float | None = None,
    times: float | None = None,
    alpha: float = 0.05,
) -> pd.DataFrame:
    r"""How predictions change with each column: derivatives or elasticities for numbers, differences for factors.

    Effects are changes of ``predict``, averaged over rows, in its units per unit of the column. A column in ``by=``
    counts as a factor. For random intercepts see :meth:`tobitgp.GPResults.group_effects`. Standard errors of a
    regression are by the delta method. Those of a process come from its posterior, with the effect linearised in the
    weights of the features at every design point, which is exact on the latent scale. For an elasticity they include
    the uncertainty of the prediction in its denominator.

    Parameters
    ----------
    what : str
        ``"latent"``, ``"median"``, ``"uncensored"``, ``"observed"``, ``"quantile"``, ``"prob"`` and ``"sigma"`` are
        those of :meth:`predict`; so is ``"conditional"``, for fits by maximum likelihood, where uncensored responses
        have no effects. ``"truncated"`` is the mean of a response between its limits, :math:`E[y \mid l < y < u]`, and
        ``"prob_uncensored"`` the probability of lying there. With ``"observed"`` these are the three effects of
        McDonald and Moffitt [1]_: on the mean of all, on the mean of those above the limit, and on the probability of
        being above it. Stata calls them ``ystar``, ``e`` and ``pr``. For positive times also ``"survival"`` and
        ``"risk"``, the probability of surviving ``times`` or not, and ``"rmst"``, the restricted mean.
    at : {"overall", "mean", "design"}, or DataFrame
        Average over the training rows with their weights, at the mean of numbers and the most frequent level of
        factors and groups, at the mean of all columns of a regression's design, dummies among them (a level then has
        the derivative in its dummy, as R's ``censReg::margEff``), or over the rows of a DataFrame. Rows with ``id=``
        that are parts of the time of subjects need a DataFrame, a row for each subject.
    method : {"dydx", "eyex", "eydx", "dyex"}
        The names of statsmodels and Stata: derivatives, elasticities :math:`d \log E / d \log x`, or proportional
        changes of one of the two, averaged over the rows. Effects of a factor are differences, with ``"eydx"`` of the
        logarithm; the other two methods leave factors out.
    variables : str or list of str, optional
        Columns whose effects are computed; by default all. A factor has one effect for each level except the first.
    q : float, optional
        With ``"quantile"``, its order, a probability.
    below, above : float, optional
        With ``"prob"``, one of the two, on the scale of the response.
    times : float, optional
        With ``"survival"``, ``"risk"`` and ``"rmst"``, a time on the scale of the response.
    alpha : float
        Significance level: intervals have probability ``1 - alpha``.

    Returns
    -------
    DataFrame
        Index ``(variable, contrast)``, the contrast ``"dy/dx"``, or ``"ey/ex"`` and so on, for numbers; columns named
        after ``method``, then ``se, z, p, lower, upper``. A column that cannot change the prediction (e.g. a column of
        ``sigma=`` and the latent value) has effect 0 and standard error 0, and ``z`` and ``p`` are NaN. The same holds
        for effects below the rounding error of the predictions. ``"observed"`` adds to ``"dydx"`` the columns
        ``intensive``, the change of values between the limits times their probability, and ``extensive``, the rest,
        through the probabilities.

    Raises
    ------
    SpecError
        For an unknown ``what`` or ``method``, missing or unnecessary arguments, an ``alpha`` outside (0, 1), missing
        training rows, or logarithms of predictions that are not positive.
    DataError, UnseenLevelError
        If the rows of ``at`` cannot be used.

    Warns
    -----
    UserWarning
        If columns have no effect of this kind and are left out.
    ApproximationWarning
        If ``"rmst"`` extends beyond the last observed time, or effects are not finite.

    References
    ----------
    .. [1] J. F. McDonald and R. A. Moffitt, "The uses of Tobit analysis", REStat 62 (1980); (REG14), (REG15) and
       (ECO1) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), method="ep", fixed={"sigma": 5.0})
    >>> res.marginal_effects("observed").loc[("age", "dy/dx")].round(3)
    dydx        -0.054
    se           0.073
    z           -0.739
    p            0.460
    lower       -0.198
    upper        0.090
    intensive   -0.018
    extensive   -0.036
    Name: (age, dy/dx), dtype: float64
    >>> res.marginal_effects("observed", method="eyex").loc[("age", "ey/ex"), ["eyex", "se"]].round(2).tolist()
    [-1.64, 2.4]

    McDonald and Moffitt's other two effects, on the mean of buyers and on the probability of being one:

    >>> effects = {what: res.marginal_effects(what)["dydx"] for what in ("truncated", "prob_uncensored")}
    >>> [round(float(effect.iloc[0]), 4) for effect in effects.values()]
    [-0.0403, -0.0096]
    """
    parts = results.parts
    alpha, asked = check_alpha(alpha), read_asked(parts.family.log_time, what, method, q, below, above, times)
    if asked.what == "rmst":
        warn_of_tail(results, np.array([times], dtype=np.float64))
    regression, limited = results.method == "mle", asked.limited
    averaged = regression and isinstance(at, str) and at == "design"
    conditional = asked.what == "conditional"
    if conditional and (averaged or not regression or results._of_subjects):
        raise SpecError(
            "Effects on what='conditional' require maximum likelihood, independent rows, and at='overall' or a "
            "DataFrame with the responses. Use what='observed' or 'uncensored'."
        )
    if isinstance(at, str):
        refuse_parts(results, "give at= a DataFrame")
    rows = rows_at(parts, "overall" if averaged else at, need_limits=limited, need_response=conditional)
    if averaged:
        rows = replace(rows, limits=mean_limits(parts) if limited else no_limits(1))
    found, labels, names = [], [], changing(parts, variables)
    if asked.by_share:
        names = _numbers(parts, asked, names)
    with single_blas_thread(), np.errstate(invalid="ignore"):  # of infinite means
        for change in changes(parts, rows.frame, names):
            one = results._effect(change, rows, asked, averaged=averaged)
            found.append(one.rounded() if _can_change(results, change.variable, asked) else one.none())
            labels.append((change.variable, asked.label(change.contrast)))
    if not found:
        terms = [term.name for term in parts.spec.gps if not term.factors]
        left = f": {', '.join(terms)} {'is' if len(terms) == 1 else 'are'} left to group_effects()" if terms else ""
        raise SpecError(f"This model has no column with a marginal effect{left}.")
    weight = found[0].weight
    value, variance, intensive = (
        np.column_stack([getattr(one, name) for one in found]) for name in ("value", "variance", "intensive")
    )
    lost = np.diag([one.lost for one in found])
    known = Linear(
        weight, value, np.einsum("jk,kl->jkl", variance, np.eye(len(found))), np.zeros(len(found), dtype=bool), lost
    )
    effect, se, ends = known.coefficients(), known.errors(), known.interval(alpha)
    if not np.isfinite(effect).all():
        warnings.warn(
            f"Some effects on what={what!r} are not finite because the predictions of some rows are infinite. "
            f"Use what='median', which is finite.",
            ApproximationWarning,
            stacklevel=user_level(),
        )
    if what == "latent" or results._never or not results._no_mean:  # models of hazards say it themselves of times
        of_known = pd.DataFrame(ends, index=[": ".join(map(str, each)) for each in labels])[np.isfinite(effect)]
        warn_of_intervals(results, "marginal_effects()", of_known)
    z = np.divide(effect, se, out=np.full_like(se, np.nan), where=se > 0.0)
    columns = {asked.method: effect, "se": se, "z": z, "p": np.where(se > 0.0, known.p_values(), np.nan)}
    columns |= {"lower": ends[:, 0], "upper": ends[:, 1]}
    if asked.split:
        columns |= {"intensive": weight @ intensive, "extensive": effect - weight @ intensive}
    return pd.DataFrame(columns, index=pd.MultiIndex.from_tuples(labels, names=["variable", "contrast"]))


def _can_change(results: Fit, name: str, asked: EffectRequest) -> bool:
    """Whether a column may change the requested quantity through the noise, whose median is f where it is symmetric."""
    if not results._about_latent:
        return True
    family, state = results.parts.family, results.parts.state
    location = name in results.parts.spec.names("linear", "gp", "by", "re", "offset", "slope")
    scale = state.scale is not None and name in state.scale.spec.names()
    return asked.moved_by(
        location=location, scale=scale, positive=family.log_time, symmetric=family.distribution.symmetric
    )


def _numbers(parts: Any, asked: EffectRequest, names: list[str]) -> list[str]:
    """Columns that can change in proportion to their value, with a warning of factors, which cannot."""
    factors = [name for name in names if column_levels(parts, name) is not None]
    if factors:
        one = len(factors) == 1
        message = (
            f"{', '.join(map(repr, factors))} {'is a factor' if one else 'are factors'}, which cannot change by a "
            f"share of {'its' if one else 'their'} value: method={asked.method[:2] + 'dx'!r} has differences"
        )
        if len(factors) == len(names):
            raise SpecError(f"method={asked.method!r}: {message}.")
        warnings.warn(f"Left out: {message}", UserWarning, stacklevel=user_level())
    return [name for name in names if name not in factors]
