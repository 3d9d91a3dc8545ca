"""Processes after a power transformation as their users see them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.diagnostics.residual_tests import Check
from tobitgp.diagnostics.training_draws import read_draws
from tobitgp.diagnostics.validation import Rng
from tobitgp.distributions.power_normal import PowerNormal
from tobitgp.errors import SpecError
from tobitgp.kinds.transformed_rows import above_zero
from tobitgp.numerics.sampling import generator, open_uniform
from tobitgp.posterior.questions import conditional
from tobitgp.results import figures, standardise
from tobitgp.results.averages import Drawn, Population, Sought
from tobitgp.results.boxcox.power_averages import power_averages
from tobitgp.results.boxcox.power_nodes import PowerNodes
from tobitgp.results.boxcox.power_parts import BoxCoxGPParts
from tobitgp.results.hazard_ratios import Kind
from tobitgp.results.likelihood.boxcox_results import NO_RATIO, WHATS, mass_beyond
from tobitgp.results.parameter_estimates import Linear, Transformed, hyper_estimates, linear_posterior
from tobitgp.results.predict import check_probability, predict_table
from tobitgp.results.priors import prior_table
from tobitgp.results.process.process_posterior import nodes_of
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.results import Results
from tobitgp.results.rows import Asked, Scored, ask, response_of_rows
from tobitgp.results.words import Words
from tobitgp.typing import Array, Frame


class BoxCoxGPResults(Results):
    r"""A process, or a regression with priors, whose response is normal after a power transformation.

    Made by :func:`tobitgp.fit` with ``family="boxcox"``. Predictions average over the powers, as over other
    hyper-parameters, unless ``hyper="maximize"``; coefficients and hyper-parameters are those of the transformed
    response at the power with the highest evidence.

    Parameters
    ----------
    parts : BoxCoxGPParts
        Fits at the powers, and their weights.

    References
    ----------
    (BC5) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.load("tobin")
    >>> res = tg.fit("durable ~ age | censor(0)", data, family=tg.BoxCox(power=0.5), method="ep", hyper="maximize")
    >>> round(res.log_evidence, 2), res.power
    (-37.39, 0.5)
    """

    _kind = "Box-Cox process"
    _parts: BoxCoxGPParts

    def __init__(self, parts: BoxCoxGPParts):
        self._parts = parts

    @cached_property
    def _linear(self) -> Linear:
        best = self._parts.fits[self._parts.best]
        return linear_posterior(best.fitted, best.gp)

    @cached_property
    def _rest(self) -> Transformed:
        return hyper_estimates(self._parts.fits[self._parts.best].fitted)

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def power(self) -> float:
        """The power with the highest evidence, or that was given, a pure number: (BC1) of the theory pages."""
        return float(self._parts.powers[self._parts.best])

    @property
    def fit_history(self) -> pd.DataFrame:
        """Powers that predictions average over: columns ``power, weight, log_evidence``."""
        parts = self._parts
        evidence = np.array([fit.fitted.evidence for fit in parts.fits]) + parts.jacobians
        return pd.DataFrame({"power": parts.powers, "weight": parts.weights, "log_evidence": evidence})

    def power_interval(self, interval: float = 0.95) -> pd.Series[float]:
        """The power with its standard deviation and a normal interval.

        Parameters
        ----------
        interval : float
            Probability of the interval.

        Returns
        -------
        Series
            ``estimate, se, lower, upper``, pure numbers.

        Raises
        ------
        SpecError
            For an interval outside (0, 1).

        References
        ----------
        (BC5) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.load("tobin")
        >>> res = tg.fit("durable ~ age | censor(0)", data, family=tg.BoxCox(power=0.5), method="ep", hyper="maximize")
        >>> res.power_interval().tolist()
        [0.5, 0.0, 0.5, 0.5]
        """
        reach = float(ndtri(0.5 + 0.5 * check_probability("interval", interval))) * self._parts.se
        value = self.power, self._parts.se, self.power - reach, self.power + reach
        return pd.Series(value, index=["estimate", "se", "lower", "upper"])

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Values at the power with the highest evidence, by name, on the transformed scale; and the power."""
        names = self._parts.fits[self._parts.best].fitted.parameters.names
        return dict(zip(names, self._rest.value.tolist(), strict=True)) | {"power": self.power}

    @property
    def priors(self) -> pd.DataFrame:
        """Priors that were used at the power with the highest evidence, with the columns of :attr:`GPResults.priors`.

        They are in units of the transformed response: (PRI2) and (HYP1) of the theory pages.
        """
        return prior_table(self._parts.fits[self._parts.best].gp)

    @property
    def df_model(self) -> float:
        """Effective number of parameters at the power with the highest evidence."""
        return float(self._parts.fits[self._parts.best].fitted.effective)

    @property
    def llf(self) -> float:
        """NaN: a posterior has no maximised likelihood; see ``log_evidence``."""
        return float("nan")

    @property
    def log_evidence(self) -> float:
        """Estimate of the highest log evidence, in nats, for the response as written: (BC2)."""
        k = self._parts.best
        return float(self._parts.fits[k].fitted.evidence + self._parts.jacobians[k])

    @property
    def log_evidence_integrated(self) -> float:
        """Log evidence in nats, hyper-parameters and power integrated out, (BC5); NaN where they were maximised."""
        return self._parts.integrated

    @property
    def evidence_kind(self) -> str:
        """What ``log_evidence`` is: "ep", "laplace", "elbo", a bound's name; "exact" of plain values."""
        plain = not self._parts.facts.any_censored and self._parts.spec.truncation is None
        return "exact" if plain else str(self._parts.fits[self._parts.best].fitted.method.evidence_kind)

    @property
    def converged(self) -> bool:
        """Whether the fits at all powers converged."""
        return all(fit.fitted.trace.converged for fit in self._parts.fits)

    @property
    def method(self) -> str:
        """Name of the method that made the posteriors."""
        return str(self._parts.fits[self._parts.best].fitted.method.name)

    def _criterion(self) -> tuple[str, str]:
        return "Log evidence", f"{self.log_evidence:.2f} ({self.evidence_kind})"

    # -- what questions need ------------------------------------------------------------------------------------------

    def _posterior(self, asked: Asked, *, bands: bool) -> PowerNodes:  # type: ignore[override]
        nodes = [nodes_of(fit, asked.design, asked.skip) for fit in self._parts.fits]
        return PowerNodes.of(nodes, self._parts.weights, self._parts.powers)

    def _predict(self, new: Frame | None, what: str | None, **options: Any) -> pd.Series[float] | pd.DataFrame:
        at = self._at_best() if what == "latent" else self  # powers have scales of their own
        return predict_table(at, new, what, **options)

    def _at_best(self) -> BoxCoxGPResults:
        """The fit at the power with the highest evidence alone."""
        k = slice(self._parts.best, self._parts.best + 1)
        own = {name: getattr(self._parts, name)[k] for name in ("fits", "powers", "jacobians")}
        return BoxCoxGPResults(replace(self._parts, **own, weights=np.ones(1), best=0))

    _whats_of = " of family='boxcox'"
    _whats = WHATS
    mass_beyond = mass_beyond

    def _conditional(self, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
        if new is None:
            raise SpecError("what='conditional' of a process after a power transformation needs new=, rows of data.")
        asked, seen = self._seen(new, ask(self._parts, new))
        question = conditional(True, *seen.within_window)
        return asked.table(self._posterior(asked, bands=se or level is not None).statistics(question, level, se=se))

    def _seen(self, new: Frame | None, asked: Asked) -> Scored:
        found = response_of_rows(self._parts, new, asked)
        return found._replace(response=above_zero(found.response, found.asked.labels.to_numpy()))

    def _likelihoods(self, rows: Scored) -> Array:
        seen = above_zero(rows.response, rows.asked.labels.to_numpy())
        y = self._posterior(rows.asked, bands=False).new
        return y.log_likelihood(seen.lower, seen.upper, seen.entry, seen.exit)

    @property
    def _drawn(self) -> tuple[str, ...]:
        return ("uncensored",)

    def _sample(self, new: Frame | None, draws: int, what: str, exclude: Any, rng: Rng) -> tuple[Asked, Array]:
        """New responses of rows, each on its own."""
        asked = ask(self._parts, new, exclude)
        size, stream = read_draws(draws, rows=len(asked.index)), generator(rng)
        nodes = self._posterior(asked, bands=True)
        part = stream.choice(len(nodes.weight), size=size, p=nodes.weight)
        uniform = open_uniform(stream, (len(asked.design.H), size))
        rows = PowerNormal(nodes.mean[part].T, np.hypot(nodes.sd, nodes.sigma)[part].T, nodes.power[part])
        out = rows.survived(np.log(uniform))
        return asked, out

    plot = figures.plot
    plot_effect = figures.plot_effect

    standardise = standardise.standardise

    def check(self, *, rng: int | np.random.Generator | None = None) -> Check:
        """Diagnostics of the process of the transformed response, at the power with the highest evidence.

        Parameters
        ----------
        rng : int or numpy Generator, optional
            For the random points of censored rows; None is deterministic.

        Returns
        -------
        Check
            As of :meth:`GPResults.check`.

        Raises
        ------
        SpecError
            If the fit holds no training rows.

        References
        ----------
        (CHK11) to (CHK16) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.load("tobin")
        >>> res = tg.fit("durable ~ age | censor(0)", data, family=tg.BoxCox(power=0.5), method="ep")
        >>> bool(res.check().ok)
        True
        """
        return GPResults.from_parts(self._parts.fits[self._parts.best]).check(rng=rng)

    def _averages(self, population: Population, sought: Sought) -> Drawn:
        return power_averages(self._parts, population, sought)

    def _terms(self, asked: Asked) -> NoReturn:
        raise self._none("what='terms'")

    def _log_noise(self, asked: Asked) -> NoReturn:
        raise self._none("what='sigma'")

    @property
    def _joint(self) -> NoReturn:
        raise self._none("This")

    def _draws(self, draws: int, rng: Rng, question: str) -> NoReturn:
        raise self._none(question)

    def _findings(self, rng: Any) -> NoReturn:
        raise self._none("check()")

    def _ratio_kind(self) -> Kind:
        raise SpecError(NO_RATIO)

    def _times_left_out(self) -> NoReturn:
        raise self._none("A figure or score of training rows, each left out,")

    @property
    def _has_ratios(self) -> bool:
        return False

    def _none(self, what: str) -> SpecError:
        return SpecError(
            f"{what} is not available of a process after a power transformation; method='mle' of linear terms has it, "
            "and predict() answers about the response."
        )

    def _words(self, alpha: float, kind: Any = None) -> Words:
        from tobitgp.report.process_words import power_words

        return power_words(self, alpha)

    def _without_rows(self) -> BoxCoxGPResults:
        return BoxCoxGPResults(self._parts.without_rows())
