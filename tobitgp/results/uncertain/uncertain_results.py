"""Results of a process over an input that was measured with known standard errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.data.frames import answers_in_kind
from tobitgp.diagnostics.training_draws import Draws
from tobitgp.numerics.sampling import Rng
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.seen import LeftOutRows, conditional_mean, conditional_statistics
from tobitgp.results import column_effects, figures, joint_draws, standardise
from tobitgp.results.averages import DrawnAverages, Population, Sought
from tobitgp.results.counterfactuals import STEP, Change, ChangedRows
from tobitgp.results.drawn_averages import averages_of_draws
from tobitgp.results.effect_questions import ROUNDING, Effect, EffectRequest, inside
from tobitgp.results.joint import JointPosterior
from tobitgp.results.latent import without_errors
from tobitgp.results.parameter_estimates import Linear
from tobitgp.results.predict import check_level
from tobitgp.results.ratios import Contrasts
from tobitgp.results.residuals import Tails, pearson
from tobitgp.results.results import Results
from tobitgp.results.rows import Asked, Scored, ask, response_of_rows
from tobitgp.results.uncertain.uncertain_draws import (
    JointMeasured,
    MeasuredDraws,
    asked_nodes,
    measured_nodes,
    seen_rows,
)
from tobitgp.results.uncertain.uncertain_parts import UncertainParts
from tobitgp.results.words import Words
from tobitgp.typing import Array, Frame


class UncertainInputResults(Results):
    """Fit of a process over an input measured with known errors, by :func:`tobitgp.fit` of ``y ~ gp(x, se=sx)``.

    The prior of the true input of a row is normal, with the measured input as mean and the given standard error as
    standard deviation. The process is integrated out by the bound of Titsias and Lawrence [1]_ over normal
    distributions of the true inputs, which are optimised. Likelihoods of censored rows are bounded from below by
    parabolas [2]_.

    If ``new`` has the column of standard errors, predictions average over the true input. Without it the input is
    known, and predictions are of the curve.

    Parameters
    ----------
    parts : UncertainParts
        Data and estimates of the fit.

    References
    ----------
    .. [1] M. Titsias and N. Lawrence, "Bayesian Gaussian process latent variable model", AISTATS 2010.
    .. [2] M. Basson, T. M. Louw and T. R. Smith, "Variational Tobit Gaussian process regression", Statistics and
       Computing 33 (2023), Eq. 46.

    Examples
    --------
    >>> import numpy as np
    >>> import tobitgp as tg
    >>> rng = np.random.default_rng(1)
    >>> true = rng.uniform(0, 6, 80)
    >>> y = np.maximum(np.sin(true) + 0.1 * rng.normal(size=80), -0.5)
    >>> data = {"x": true + 0.4 * rng.normal(size=80), "sx": 0.4, "y": y}
    >>> res = tg.fit("y ~ gp(x, se=sx) | censor(-0.5)", data)
    >>> res.evidence_kind, res.converged
    ('local', True)
    >>> res.predict({"x": [1.5, 3.0]}, "latent").round(1).to_list()  # the curve, where sin is 1.0 and 0.1
    [0.9, 0.0]
    """

    _kind = "uncertain"
    _about_latent = True
    _columns = ()
    _parts: UncertainParts

    def __init__(self, parts: UncertainParts):
        self._parts = parts

    def _words(self, alpha: float, kind: Any = None) -> Words:
        from tobitgp.report.uncertain_summary import uncertain_words

        return uncertain_words(self)

    # -- the fit ------------------------------------------------------------------------------------------------------

    params = without_errors.params
    hyperparameters = without_errors.hyperparameters
    summary_frame = _parameter_frame = without_errors.summary_frame
    df_model = without_errors.df_model
    llf = without_errors.llf
    converged, method = without_errors.converged, without_errors.method
    elbo, log_evidence = without_errors.elbo, without_errors.log_evidence
    fit_history = without_errors.fit_history
    _findings = without_errors.findings
    _search_message = without_errors.search_message("the true inputs")
    bse, tvalues, pvalues = (without_errors.undefined(name) for name in ("bse", "tvalues", "pvalues"))
    conf_int, cov_params = (without_errors.undefined(name) for name in ("conf_int", "cov_params"))
    t_test, wald_test, anova = (without_errors.undefined(name) for name in ("t_test", "wald_test", "anova"))
    _testable = without_errors.testable

    def _values(self) -> Array:
        return self._parts.parameters

    @property
    def evidence_kind(self) -> str:
        """What ``elbo`` is: ``"elbo"``, or ``"local"`` where parabolas lie below likelihoods of censored rows."""
        return "local" if self._parts.facts.any_censored else "elbo"

    def _criterion(self) -> tuple[str, str]:
        return "Log evidence", f"{self.log_evidence:.2f} ({self.evidence_kind})"

    # -- rows ---------------------------------------------------------------------------------------------------------

    def _posterior(self, asked: Asked, *, bands: bool) -> Nodes:
        return asked_nodes(self._parts, asked)

    def _log_noise(self, asked: Asked) -> tuple[Array, Array]:
        n = len(asked.design.H)
        return np.full(n, np.log(self._parts.sigma)), np.zeros(n)

    def _terms(self, asked: Asked) -> dict[str, Nodes]:
        nodes, level = self._posterior(asked, bands=True), self._parts.level
        one = np.ones_like(nodes.mean)
        return {
            "Intercept": Nodes(nodes.weight, level * one, 0.0 * one, nodes.sigma),
            self._parts.term.name: Nodes(nodes.weight, nodes.mean - level, nodes.sd, nodes.sigma),
        }

    def _seen(self, rows: Scored) -> LeftOutRows:
        """Rows, and their observed values and limits."""
        return seen_rows(self._posterior(rows.asked, bands=True), rows.response.lower, rows.response.upper)

    def _conditional(self, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
        rows = response_of_rows(self._parts, new, ask(self._parts, new))
        return rows.asked.table(conditional_statistics([self._seen(rows)], level, se))

    def _likelihoods(self, rows: Scored) -> Array:
        seen = rows.response
        y = self._posterior(rows.asked, bands=False).new
        return np.asarray(y.log_likelihood(seen.lower, seen.upper, seen.entry, seen.exit))

    @property
    def _residuals(self) -> dict[str, Callable[[Asked], Array]]:
        def seen(asked: Asked) -> Array:
            return conditional_mean([self._seen(Scored(asked, self._parts.rows.response))])

        return {
            **super()._residuals,
            "response": lambda asked: seen(asked) - self._posterior(asked, bands=False).new.mean(),
            "pearson": lambda asked: pearson(self._posterior(asked, bands=False), seen(asked)),
        }

    def _tails(self, asked: Asked) -> Tails:
        return Tails.of(self._posterior(asked, bands=False).new, self._parts.rows.response)

    @property
    def _joint(self) -> JointPosterior:
        return JointMeasured(self._parts)

    def _draws(self, draws: int, rng: Rng, question: str) -> Draws:
        return MeasuredDraws.of(self._parts, draws, rng, question)

    def _effect(self, change: Change, rows: ChangedRows, asked: EffectRequest, *, averaged: bool) -> Effect:
        return _measured_effect(self._parts, change, rows, asked)

    def _differences(self, contrasts: Contrasts) -> Linear:
        assert contrasts.rows is not None
        assert contrasts.same is not None
        return JointMeasured(self._parts).differences(contrasts.rows, contrasts.same)

    def _averages(self, population: Population, sought: Sought) -> DrawnAverages:
        return averages_of_draws(JointMeasured(self._parts), population, sought)

    def _without_rows(self) -> UncertainInputResults:
        return UncertainInputResults(self._parts.without_rows())

    # -- questions ----------------------------------------------------------------------------------------------------

    @answers_in_kind
    def true_inputs(self, new: Frame | None = None, *, interval: float | None = None) -> pd.DataFrame:
        """True inputs of the rows of the fit, or of new rows, from what was measured and from their responses.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            With the measured input, its standard error, the response and what its limits need; the rows of the fit
            without.
        interval : float, optional
            Probability of equal-tailed intervals of a normal distribution.

        Returns
        -------
        DataFrame
            A row for each row of the data, columns ``estimate`` and ``se``, and ``lower`` and ``upper`` with
            ``interval``: mean and standard deviation of the posterior, in the units of the input. NaN in rows of which
            nothing is known.

        Raises
        ------
        DataError
            If new rows have not the input.
        SpecError
            If an interval is outside (0, 1), new rows have no response, or the fit was loaded from a file and ``new``
            is not given.

        References
        ----------
        (LAT15) and (LAT16) of the theory pages.

        Examples
        --------
        >>> import numpy as np
        >>> import tobitgp as tg
        >>> rng = np.random.default_rng(1)
        >>> true = rng.uniform(0, 6, 80)
        >>> y = np.sin(true) + 0.1 * rng.normal(size=80)
        >>> res = tg.fit("y ~ gp(x, se=0.4)", {"x": true + 0.4 * rng.normal(size=80), "y": y})
        >>> res.true_inputs({"x": [3.0], "y": [0.9]}).round(1).to_numpy().tolist()
        [[2.1, 0.2]]
        """
        level, parts = check_level(interval), self._parts
        rows = response_of_rows(parts, new, ask(parts, new), "true_inputs()")
        at = parts.rows_at(rows.asked.design)
        points, measured = at.located(parts.standardised(rows.response)), at.prior.mean
        away = points.x[:, :, 0] - measured  # exactly 0 where the input is known
        mean = (points.weights * away).sum(axis=1)
        sd = np.sqrt((points.weights * np.square(away - mean[:, None])).sum(axis=1))
        found = {"estimate": parts.x_centre + parts.x_scale * (measured[:, 0] + mean), "se": parts.x_scale * sd}
        if level is not None:
            half = float(ndtri(0.5 + 0.5 * level)) * found["se"]
            found |= {"lower": found["estimate"] - half, "upper": found["estimate"] + half}
        return rows.asked.table(found)

    posterior = joint_draws.posterior
    standardise = standardise.standardise
    marginal_effects = column_effects.marginal_effects
    get_margeff = column_effects.marginal_effects
    plot = figures.plot
    plot_terms = figures.plot_terms
    plot_effect = figures.plot_effect
    plot_forest = figures.plot_forest
    plot_residuals = figures.plot_residuals


def _measured_effect(parts: UncertainParts, change: Change, rows: ChangedRows, asked: EffectRequest) -> Effect:
    """See :func:`tobitgp.results.process.process_effects.process_effect`; linearised in the weights of features.

    Inputs are averaged over in every row.
    """
    share = rows.weight * change.multiplier(by_share=asked.by_share) / change.width
    question, q = asked.question(False, rows), parts.processes.posterior
    value, size, gradient = 0.0, 0.0, np.zeros(q.w.shape[1])
    ends: list[tuple[Array, Array]] = []
    unit = parts.scale * float(parts.processes.scales.sd[0])
    for sign, design in ((1.0, change.high), (-1.0, change.low)):
        nodes, at = measured_nodes(parts, design), parts.rows_at(design)
        number, (_, x) = asked.of_all(question, nodes), at.nodes()
        value += sign * float(number @ share)
        size = max(size, float(np.abs(number) @ np.abs(share)))
        for j, x_j in enumerate(x):
            h = STEP * float(np.hypot(nodes.sd[j], nodes.sigma[j]).max())
            moves = (np.where(np.arange(len(x))[:, None] == j, move, 0.0) for move in (h, -h))
            up, down = (asked.of_all(question, replace(nodes, mean=nodes.mean + move)) for move in moves)
            gradient += sign * unit * (at.features(x_j)[0].T @ (share * (up - down) / (2.0 * h)))
        if asked.split:
            mass, mean = inside(nodes, rows.limits, 1)
            ends.append((mass[0], mean[0]))
    intensive = np.full(1, np.nan)
    if asked.split:
        (mass, mean), (mass_low, mean_low) = ends
        intensive = np.array([(0.5 * (mass + mass_low) * (mean - mean_low)) @ share])
    variance = np.array([gradient @ q.B_inverse[0] @ gradient])
    return Effect(np.array([value]), variance, intensive, np.ones(1), rounding=ROUNDING * size)
