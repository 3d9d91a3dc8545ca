r"""Marginal effects: how a prediction changes with a column of the data.

An effect is :math:`\sum_n \omega_n [Q_n^+ - Q_n^-] / \mathrm{width}_n`, Q the prediction asked for at two values of
the column. Its variance is by the delta method, of a regression in the estimates, (REG14) and (REG15) of the theory
pages; of a process in the weights of its features, with the gradient averaged over f, at every node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import centred
from tobitgp.data.arrays import Design
from tobitgp.engines import row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.inference.rows_together import Summed, variance_of_sum
from tobitgp.numerics.factored import of_sums
from tobitgp.posterior import questions
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import Question
from tobitgp.posterior.seen import Component, imputed_mean, log_evidence
from tobitgp.results.boxcox.parts import TRANSFORMED, BoxCoxParts
from tobitgp.results.counterfactuals import SLOPE, STEP, Change, Rows, changes, rows_at
from tobitgp.results.estimates import Linear
from tobitgp.results.predict import check_alpha, read_questions
from tobitgp.results.process.posterior import nodes_of
from tobitgp.results.regression.parts import RegressionParts, distributions_at, predictors, scale_design
from tobitgp.results.rows import Limits, mean_limits
from tobitgp.results.views import Parts
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.results import Results


WHATS = ("latent", "observed", "prob")
CHUNK = 2048
_ROUNDING = 1e-12

Ask = Callable[[Limits], Question]  # the question of rows with some limits


class Effect(NamedTuple):
    """An effect at every node, (J,) each; of a regression there is one."""

    value: Array
    variance: Array
    lost: float  # of the variance's form in what is not identified
    intensive: Array  # change of the mean between the limits times the probability of lying there; NaN if not asked


def _read(positive: bool, what: str, below: Any, above: Any) -> Ask:
    if what not in WHATS:
        raise SpecError(f"what={what!r} has no marginal effects; choose one of {', '.join(map(repr, WHATS))}.")
    asks, listed = read_questions(what, None, below, above)
    if listed:
        raise SpecError("Marginal effects are on one probability: give below= or above= one number.")
    if what == "latent":
        return lambda limits: questions.latent(positive)
    if what == "observed":
        return lambda limits: questions.observed(positive, *limits)
    limit = float(next(iter(asks)))
    return lambda limits: questions.probability(positive, np.full(len(limits.lower), limit), above=above is not None)


def _transformed(limits: Limits) -> Question:
    """The location after a power transformation."""
    return TRANSFORMED


# -- regressions ------------------------------------------------------------------------------------------------------


class Side(NamedTuple):
    """n rows with a column at one of its two values."""

    H: Any  # (n, p), designs of location and log scale
    W: Array  # (n, q)
    x: tuple[Array, ...]  # location, log scale and, where it is estimated, the shape, (n,) each


def _regression_effect(
    parts: RegressionParts, change: Change, rows: Rows, ask: Ask, *, averaged: bool, split: bool
) -> Effect:
    high, low, width, weight = side_of(parts, change.high), side_of(parts, change.low), change.width, rows.weight
    if averaged:
        high, low, width, weight = _about_mean(parts, high, low, width, weight, change.contrast)
    share, question = weight / width, ask(rows.limits)
    value, k, made = 0.0, len(parts.covariance), _made_of(parts)
    gradient, size = np.zeros(k), np.zeros(k)
    for sign, side in ((1.0, high), (-1.0, low)):
        unit = (np.exp(side.x[1]), *(np.ones_like(x) for x in side.x[1:]))
        at = Estimates(made, side.x, unit, np.empty(0), np.empty(0))
        value += sign * float(share @ question.number(at.new))
        slopes, designs = share * at.slopes(question.number), (side.H, side.W, np.ones((len(share), 1)))
        gradient += sign * np.concatenate([x @ design for x, design in zip(slopes, designs, strict=False)])
        size += np.concatenate([np.abs(x) @ abs(design) for x, design in zip(slopes, designs, strict=False)])
    gradient[np.abs(gradient) <= _ROUNDING * size] = 0.0
    intensive = np.nan
    if split:
        (mass, mean), (mass_low, mean_low) = (made(s.x).inside(*rows.limits) for s in (high, low))
        intensive = float(share @ (0.5 * (mass + mass_low) * (mean - mean_low)))
    variance, lost = (float(of_sums(gradient[None], V).item()) for V in (parts.covariance, parts.unidentified))
    return Effect(np.array([value]), np.array([variance]), lost, np.array([intensive]))


def _made_of(parts: RegressionParts) -> Callable[[tuple[Array, ...]], Any]:
    """Gives distributions of the response at values of the parameters of rows."""
    return parts.at if isinstance(parts, BoxCoxParts) else lambda x: distributions_at(parts, x)


def side_of(parts: RegressionParts, design: Design) -> Side:
    """Rows of a design at the estimates."""
    eta, tau = predictors(parts, design)
    rest = [np.full_like(tau, parts.noise.coordinate)] if parts.family.estimate_shape else []
    return Side(centred(design.H, parts.centre), scale_design(parts, design), (eta, tau, *rest))


def _about_mean(
    parts: RegressionParts, high: Side, low: Side, width: Array, weight: Array, contrast: str
) -> tuple[Side, Side, Array, Array]:
    """Two rows on either side of the mean row of the design, moved as all rows are on average: a small step."""
    step = 1.0 if contrast == SLOPE else STEP

    def mean(side: Side) -> Side:
        return Side((weight @ side.H)[None], (weight @ side.W)[None], tuple((weight @ x)[None] for x in side.x))

    here, up, down = mean(side_of(parts, parts.rows.design)), mean(high), mean(low)

    def moved(share: float) -> Side:
        def move(at: Array, above: Array, below: Array) -> Array:
            return at + share * step * (above - below)

        x = tuple(move(*each) for each in zip(here.x, up.x, down.x, strict=True))
        return Side(move(here.H, up.H, down.H), move(here.W, up.W, down.W), x)

    return moved(0.5), moved(-0.5), np.array([step * float(weight @ width)]), np.ones(1)


# -- processes --------------------------------------------------------------------------------------------------------


def _process_effect(parts: Parts, change: Change, rows: Rows, ask: Ask, *, split: bool) -> Effect:
    """The variance is that of the effect linearised in f, its gradient averaged over f."""
    points, unit = parts.fitted.points, parts.gp.problem.units.scale
    share, J = rows.weight / change.width, len(points)
    value, variance, intensive = np.zeros(J), np.zeros(J), np.full(J, 0.0 if split else np.nan)
    slopes: list[list[Summed]] = [[] for _ in points]
    for span in row_chunks(0, len(share), CHUNK):
        limits, inside = rows.limits.rows(span), []
        question = ask(limits)
        for sign, design in ((1.0, change.high), (-1.0, change.low)):
            part = design.rows(span)
            inputs, nodes = parts.gp.inputs(part), nodes_of(parts, part)
            value += sign * _by_point(nodes, nodes.values(question), J) @ share[span]
            h = STEP * np.hypot(nodes.sd, nodes.sigma)
            up, down = (replace(nodes, mean=nodes.mean + move).values(question) for move in (h, -h))
            slope, of_noise = share[span] * _by_point(nodes, (up - down) / (2.0 * h), J), np.zeros((J, 0))
            if points[0].noise:
                up, down = (replace(nodes, sigma=nodes.sigma * np.exp(t)).values(question) for t in (STEP, -STEP))
                of_noise = sign * share[span] * _by_point(nodes, (up - down) / (2.0 * STEP), J)
            for j, own in enumerate(slopes):
                own.append(Summed(inputs, sign * unit * slope[j], of_noise[j]))
            if split:
                inside.append(_inside(nodes, limits))
        if split:
            (mass, mean), (mass_low, mean_low) = inside
            intensive += _by_point(nodes, 0.5 * (mass + mass_low) * (mean - mean_low), J) @ share[span]
    for j, point in enumerate(points):
        variance[j] = variance_of_sum(point, slopes[j])
    return Effect(value, variance, 0.0, intensive)


def _by_point(nodes: Nodes, values: Array, J: int) -> Array:
    """Values (C, n) of components averaged at each of J design points, (J, n)."""
    weight = nodes.weight.reshape(J, -1, 1)
    return np.asarray((weight * values.reshape(*weight.shape[:2], -1)).sum(axis=1) / weight.sum(axis=1))


def _inside(nodes: Nodes, limits: Limits) -> tuple[Array, Array]:
    """Probability of lying between the limits given the window, and the mean there; (J, n) each."""
    low, high, entry, exit = (nodes.new.modelled(end) for end in (*limits.ends, limits.entry, limits.exit))
    pairs = []
    for j, noise in enumerate(nodes.noises):
        sigma = np.broadcast_to(nodes.sigma[j], low.shape)
        rows = Component(noise, nodes.mean[j], nodes.sd[j], sigma, low, high, entry, exit, nodes.log)
        pairs.append((np.exp(log_evidence(rows)), imputed_mean(rows)))
    mass, mean = zip(*pairs, strict=True)
    return np.stack(mass), np.stack(mean)


def marginal_effects(
    results: Results,
    what: str = "latent",
    at: Any = "overall",
    *,
    below: float | None = None,
    above: float | None = None,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """How predictions change with each column: derivatives for numbers, differences from the base for factors.

    Effects are those of ``predict``, averaged over rows, in its units per unit of the column. A column that has a curve
    for each level by ``by=`` counts as a factor; for random intercepts see :meth:`tobitgp.GPResults.group_effects`.
    Standard errors of a regression are by the delta method, of a process from its posterior, the effect linearised in
    the weights of the features at every design point, by which nothing is lost on the latent scale.

    Parameters
    ----------
    what : {"latent", "observed", "prob"}
        Of f, of the mean of what is shown (clipped, in the window), or of the probability of lying below or above a
        limit.
    at : {"overall", "mean", "design"}, or DataFrame
        Average over the training rows with their weights, at the mean of numbers and the most frequent level of
        factors and groups, at the mean of all columns of a regression's design, dummies among them (a level then has
        the derivative in its dummy, as R's ``censReg::margEff``), or over the rows of a DataFrame.
    below, above : float, optional
        With ``"prob"``, one of the two, on the scale of the response.
    alpha : float
        Probability left out of the intervals.

    Returns
    -------
    DataFrame
        Index ``(variable, contrast)``, the contrast ``"dy/dx"`` for numbers; columns
        ``dydx, se, z, p, lower, upper``. ``"observed"`` adds ``intensive``, the change of values between the limits
        times their probability, and ``extensive``, the rest, through the probabilities.

    Raises
    ------
    SpecError
        For another ``what``, lacking or needless limits, an ``alpha`` outside (0, 1), or lacking training rows.
    DataError, UnseenLevelError
        If the rows of ``at`` cannot be used.

    References
    ----------
    .. [1] J. F. McDonald and R. A. Moffitt, "The uses of Tobit analysis", REStat 62 (1980); (REG14) and (REG15) of
       the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), method="ep", fixed={"sigma": 5.0})
    >>> res.marginal_effects("observed").loc[("age", "dy/dx")].round(3)
    dydx        -0.055
    se           0.074
    z           -0.742
    p            0.458
    lower       -0.199
    upper        0.090
    intensive   -0.018
    extensive   -0.036
    Name: (age, dy/dx), dtype: float64
    """
    parts = results.parts
    alpha, ask = check_alpha(alpha), _read(parts.family.log_time, what, below, above)
    if what == "latent" and isinstance(parts, BoxCoxParts):
        ask = _transformed
    regression, split = isinstance(parts, RegressionParts), what == "observed"
    averaged = regression and isinstance(at, str) and at == "design"
    rows = rows_at(parts, "overall" if averaged else at, need_limits=split)
    if averaged and split:
        rows = replace(rows, limits=mean_limits(parts))
    found, labels = [], []
    with single_blas_thread():
        for change in changes(parts, rows.frame):
            if regression:
                found.append(_regression_effect(parts, change, rows, ask, averaged=averaged, split=split))
            else:
                found.append(_process_effect(parts, change, rows, ask, split=split))
            labels.append((change.variable, change.contrast))
    if not found:
        names = [term.name for term in parts.spec.gps if not term.factors]
        left = f": {', '.join(names)} {'is' if len(names) == 1 else 'are'} left to group_effects()" if names else ""
        raise SpecError(f"This model has no column whose effect could be formed{left}.")
    weight = np.ones(1) if regression else parts.fitted.weights
    value, variance, intensive = (
        np.column_stack([getattr(one, name) for one in found]) for name in ("value", "variance", "intensive")
    )
    lost = np.diag([one.lost for one in found])
    known = Linear(
        weight, value, np.einsum("jk,kl->jkl", variance, np.eye(len(found))), np.zeros(len(found), dtype=bool), lost
    )
    effect, se, ends = known.coefficients(), known.errors(), known.interval(alpha)
    z = np.divide(effect, se, out=np.full_like(se, np.nan), where=se > 0.0)
    columns = {"dydx": effect, "se": se, "z": z, "p": np.where(se > 0.0, known.p_values(), np.nan)}
    columns |= {"lower": ends[:, 0], "upper": ends[:, 1]}
    if split:
        columns |= {"intensive": weight @ intensive, "extensive": effect - weight @ intensive}
    return pd.DataFrame(columns, index=pd.MultiIndex.from_tuples(labels, names=["variable", "contrast"]))
