"""A fitted Gaussian process as its users see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Self

import numpy as np
import pandas as pd

from tobitgp.data.prepare import TrainingData
from tobitgp.data.table import column_names
from tobitgp.diagnostics import validation
from tobitgp.diagnostics.k_hat import KHat, process_k_hat
from tobitgp.diagnostics.process_findings import process_findings
from tobitgp.diagnostics.residual_tests import Finding
from tobitgp.diagnostics.training_draws import Draws
from tobitgp.distributions.response import RowDistributions
from tobitgp.errors import SpecError
from tobitgp.formula.spec import ModelSpec, line_names
from tobitgp.inference.assembly import GPModel
from tobitgp.inference.fitted import FittedGP
from tobitgp.inference.noise_free import LEAST_SD
from tobitgp.kinds.process import Process, ProcessParts
from tobitgp.kinds.process_nodes import answer, group_table, log_noise_moments, nodes_of, noise_sds, term_nodes
from tobitgp.kinds.rows_left_out import cavities, process_likelihoods, seen_in_rows
from tobitgp.numerics.sampling import Rng
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import Question
from tobitgp.posterior.seen import conditional_statistics
from tobitgp.priors.kernel_block import KernelFeatures
from tobitgp.results import column_effects, figures, hazard_ratios, joint_draws, standardise
from tobitgp.results.averages import DrawnAverages, Population, Sought
from tobitgp.results.counterfactuals import Change, ChangedRows
from tobitgp.results.effect_questions import Effect, EffectRequest
from tobitgp.results.joint import JointPosterior
from tobitgp.results.parameter_estimates import Linear, Transformed, hyper_estimates, linear_posterior, slope_posterior
from tobitgp.results.predict import check_level
from tobitgp.results.priors import prior_table
from tobitgp.results.process import site_table
from tobitgp.results.process.process_draws import JointProcess, draw_process, process_averages
from tobitgp.results.process.process_effects import process_effect
from tobitgp.results.process.term_tests import TermTest, joint_test_of_process
from tobitgp.results.ratios import Contrasts, scaled
from tobitgp.results.residuals import Tails, pearson_residuals, process_tails, response_residuals
from tobitgp.results.results import Results
from tobitgp.results.rows import Asked, Scored, ask
from tobitgp.results.survival import Times
from tobitgp.results.terms import Term
from tobitgp.results.views import keep_covariates, named_columns
from tobitgp.results.why_not import WHY_NOT, known_facts, reason_of, unavailable
from tobitgp.results.words import Words
from tobitgp.typing import Array, Frame


class GPResults(Results):
    """A fitted Tobit Gaussian process.

    Made by :func:`tobitgp.fit` from a formula with processes, or from one without where a posterior was requested.
    Linear coefficients are posterior means and standard deviations, averaged over the hyper-parameters where those were
    integrated; hyper-parameters are at the maximum, with standard errors computed on the log scale.

    Parameters
    ----------
    spec : ModelSpec
        The specification in the formula.
    training : TrainingData
        The rows used.
    model : GPModel
        Features, noise and priors.
    fitted : FittedGP
        Posteriors at the design points of the hyper-parameters.
    data : DataFrame or dict of columns, optional
        The training data; the covariates of the rows used are copied for plots. Without them the fit can still predict.

    References
    ----------
    .. [1] P. Groot and P. Lucas, "Gaussian process regression with censored data using expectation propagation", PGM
       2012.
    .. [2] H. Rue, S. Martino and N. Chopin, JRSS B 71 (2009), section 6.5: the design points.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"), method=tg.EP(hyper="maximize"))
    >>> res
    GPResults: durable ~ age + quant | censor(0)
      gaussian, method ep: 7 rows exact, 13 left-censored, 0 dropped
      log evidence -36.68 (ep), converged
      llf, aic and bic are NaN for a posterior; compare fits by log_evidence
    >>> res.predict(tg.datasets.load("tobin").head(2), what="observed").round(2)
    0    1.34
    1    1.11
    Name: observed, dtype: float64
    """

    _kind = "process"
    _about_latent = True
    _parts: Any  # a `Process`

    def __init__(
        self, spec: ModelSpec, training: TrainingData, model: GPModel, fitted: FittedGP, data: Frame | None = None
    ):
        covariates = None if data is None else keep_covariates(training, data)
        facts = training.facts(named_columns([spec], [] if data is None else column_names(data)), covariates)
        self._parts = ProcessParts(spec, training.state, facts, model, fitted, training, covariates)

    @classmethod
    def from_parts(cls, parts: Process) -> Self:
        """Results of parts that are there already."""
        results = cls.__new__(cls)
        results._parts = parts
        return results

    @cached_property
    def _linear(self) -> Linear:
        return linear_posterior(self._parts.fitted, self._parts.gp)

    @cached_property
    def _rest(self) -> Transformed:
        return hyper_estimates(self._parts.fitted)

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Values at the maximum by name, natural scale, the user's units; ready for ``fixed=``."""
        return dict(zip(self._parts.fitted.parameters.names, self._rest.value.tolist(), strict=True))

    @property
    def priors(self) -> pd.DataFrame:
        """Priors used, a DataFrame with a row for each parameter, in the units of the data.

        Columns ``distribution, location, spread, source``: ``location`` is the mean of a normal prior, eta of an LKJ
        prior, a fixed value, or the median of other priors; ``spread`` is the standard deviation of a normal prior, or
        that of the logarithm for a log-normal prior. It is NaN for other priors, whose parameters are shown in
        ``distribution``; ``source`` is ``"default"``, ``"formula"``, or the argument that was given. The prior of an
        intercept applies with every column at its mean. Default priors of coefficients are listed one by one; those of
        factors and interactions are correlated: (PRI4) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.load("tobin")
        >>> priors, method = {"age": tg.Normal(0, 1)}, tg.EP(hyper="maximize")
        >>> res = tg.fit("durable ~ age + quant | censor(0)", data, method=method, priors=priors)
        >>> res.priors["source"].to_dict()
        {'Intercept': 'default', 'age': 'priors=', 'quant': 'default', 'sigma': 'default'}
        """
        return prior_table(self._parts.gp)

    @property
    def inducing_inputs(self) -> dict[str, pd.DataFrame]:
        """Inducing inputs of each process at the maximum, ready for ``tg.EP(inducing=)``; the same for all its groups.

        A row for each, a column for each input, in the user's units: Z of (FEA2) of the theory pages. Redundant inputs
        are left out. Random intercepts have none.

        Examples
        --------
        >>> import tobitgp as tg
        >>> how = {"method": tg.EP(hyper="maximize"), "fixed": {"lengthscale(gp(age))": 30.0}}
        >>> res = tg.fit("durable ~ gp(age) | censor(0)", tg.datasets.load("tobin"), **how)
        >>> Z = res.inducing_inputs["gp(age)"]
        >>> Z.columns.to_list(), bool(Z["age"].between(30, 60).all())
        (['age'], True)
        """
        gp, out = self._parts.gp, {}
        blocks = self._parts.fitted.points[0].blocks[gp.linear is not None :]
        units = gp.problem.units
        for term, block, centre, scale in zip(gp.terms, blocks, units.x_centre, units.x_scale, strict=False):
            if term.inputs and isinstance(block, KernelFeatures):
                names = [item.label for item in term.inputs]
                out[term.name] = pd.DataFrame(centre + scale * block.Z, columns=names)
        return out

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def df_model(self) -> float:
        """Effective number of parameters at the maximum, ``tr(S A' Lambda A)``.

        S is the posterior covariance of the weights of the features A, Lambda the precisions of the sites: (SIT2) of
        the theory pages.
        """
        return float(self._parts.fitted.effective)

    @property
    def llf(self) -> float:
        """NaN: a Gaussian process has no maximised likelihood; see ``log_evidence``."""
        return float("nan")

    @property
    def log_evidence(self) -> float:
        """Log evidence at the maximum as estimated by the method, in nats, for the response in the user's units.

        (SIT6) in the units of (SIT8) of the theory pages.
        """
        return float(self._parts.fitted.evidence)

    @property
    def elbo(self) -> float:
        """Evidence lower bound in nats of the posterior found, by whatever method; (SIT7) of the theory pages."""
        self._refuse_without_noise("elbo", "res.elbo")
        return float(self._parts.fitted.elbo)

    @property
    def log_evidence_integrated(self) -> float:
        """Log evidence in nats, hyper-parameters and their priors integrated out; NaN where they were maximised.

        (HYP7) of the theory pages.
        """
        return float(self._parts.fitted.log_evidence_integrated)

    def _method_with(self, **settings: Any) -> str:
        return self._parts.fitted.method.written(**settings)

    @property
    def evidence_kind(self) -> str:
        """What ``log_evidence`` is: "ep", "laplace", "elbo", a bound's name; "exact" of plain Gaussian values."""
        parts = self._parts
        plain = not parts.facts.any_censored and parts.spec.truncation is None
        return "exact" if plain and parts.gp.family.distribution.gaussian else str(parts.fitted.method.evidence_kind)

    @property
    def converged(self) -> bool:
        """Whether the search ended at a maximum and the posterior converged there."""
        return all(scaled.fit.fitted.trace.converged for scaled in self._parts.scaled)

    @property
    def _search_message(self) -> str:
        traces = [scaled.fit.fitted.trace for scaled in self._parts.scaled]
        return min(traces, key=attrgetter("converged")).message

    @property
    def _fell_back(self) -> bool:
        return bool(self._parts.fitted.trace.fell_back)

    @property
    def fit_history(self) -> pd.DataFrame:
        """Stages of the fit, a row for each: name, evaluations of the evidence, passes over the data, log posterior.

        ``"another maximum"`` is a local optimum at which another start ended; its evaluations are those of the search.
        By ``tg.VI(batch=...)``, rows ``"batches"`` are the path of the bound: evaluations are the steps so far, passes
        the epochs, and the value is a mean over the batches of the last epoch, (SVI3) of the theory pages.
        """
        return self._search

    @property
    def _search(self) -> pd.DataFrame:
        """Stages of the search for the hyper-parameters that are reported."""
        columns = ["stage", "evaluations", "passes", "log_posterior"]
        return pd.DataFrame(list(self._parts.fitted.trace.stages), columns=columns)

    @property
    def method(self) -> str:
        """Name of the method that made the posterior."""
        return str(self._parts.fitted.method.name)

    def _criterion(self) -> tuple[str, str]:
        return "Log evidence", f"{self.log_evidence:.2f} ({self.evidence_kind})"

    # -- tables -------------------------------------------------------------------------------------------------------

    def group_effects(self, term: str | None = None, *, interval: float | None = 0.95) -> pd.DataFrame:
        """Random effects, a row for each coefficient of each group of the training data.

        Posterior means are closer to zero than estimates from the rows of a group alone, more so for small groups. On
        the scale of the response, of its logarithm for log-time families.

        Parameters
        ----------
        term : str, optional
            A random effect, e.g. ``"re(hospital)"`` (also for ``(1 + z | hospital)``); by default all.
        interval : float or None
            Probability of the equal-tailed interval, or None for no interval.

        Returns
        -------
        DataFrame
            Index ``(term, level)``, slopes of z under ``"re(hospital)[z]"``; columns ``estimate, se, lower, upper``.

        Raises
        ------
        SpecError
            If the model has no such random effects, or for an interval outside (0, 1).

        References
        ----------
        (FEA4) and (PRE2) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"y": [1.0, 1.4, 3.1, 2.9, 2.2, 1.8], "ward": ["a", "a", "b", "b", "c", "c"]}
        >>> res = tg.fit("y ~ re(ward)", data, fixed={"sd(re(ward))": 1.0, "sigma": 0.3})
        >>> res.group_effects("re(ward)").round(2).reset_index()
               term level  estimate   se  lower  upper
        0  re(ward)     a     -0.83  0.6  -2.01   0.35
        1  re(ward)     b      0.89  0.6  -0.28   2.07
        2  re(ward)     c     -0.06  0.6  -1.24   1.11
        """
        return group_table(self._parts.reported.fit, term, interval)

    def slopes(self, *, interval: float | None = 0.95) -> pd.DataFrame:
        """Slopes of the linear effects in processes, a row for each ``gp(x)`` with a linear effect.

        The process is the sum of this linear effect and a smooth deviation: (FEA15) of the theory pages.

        Parameters
        ----------
        interval : float or None
            Probability of the equal-tailed interval, or None for no interval.

        Returns
        -------
        DataFrame
            Index ``term``; columns ``estimate, se, lower, upper``, in units of the response (of its logarithm for
            log-time families) per unit of the input. The table is empty if no process has a linear effect.

        Raises
        ------
        SpecError
            For an interval outside (0, 1).

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"y": [1.1, 2.9, 5.2, 6.8, 9.1, 11.0], "x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}
        >>> res = tg.fit("y ~ gp(x)", data, fixed={"sd(gp(x))": 0.1, "lengthscale(gp(x))": 2.0, "sigma": 0.2})
        >>> res.slopes().round(2).reset_index()
            term  estimate    se  lower  upper
        0  gp(x)      1.99  0.06   1.88    2.1
        """
        level, found = check_level(interval), slope_posterior(self._parts.fitted, self._parts.gp)
        table = pd.DataFrame({"estimate": found.coefficients(), "se": found.errors()})
        if level is not None:
            table[["lower", "upper"]] = found.interval(1.0 - level)
        terms = self._parts.gp.terms
        return table.set_axis(pd.Index([terms[t].name for t in line_names(terms)], name="term", dtype=object))

    # -- what questions need ------------------------------------------------------------------------------------------

    @property
    def _joint(self) -> JointPosterior:
        return JointProcess(self._parts)

    def _posterior(self, asked: Asked, *, bands: bool) -> Nodes:
        return nodes_of(self._parts, asked.design, asked.skip)

    def _times_left_out(self) -> Times:
        return Times.of(cavities(self._parts))

    def _answer(
        self, asked: Asked, questions: Sequence[Question], level: float | None, *, se: bool
    ) -> list[dict[str, Array]]:
        return answer(self._parts, asked, questions, level, se=se)

    def _log_noise(self, asked: Asked) -> tuple[Array, Array]:
        mean, sd = log_noise_moments(self._parts.reported.fit, asked.design)
        return (np.full_like(mean, -np.inf) if self._parts.reported.fit.noise_free else mean), sd

    def _conditional(self, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
        asked, seen = seen_in_rows(self._parts, new)
        return asked.table(conditional_statistics(seen, level, se))

    def _refuse_without_noise(self, name: str, what: str) -> None:
        if reason_of((reason for reason in WHY_NOT[name] if "noise-free" in reason.when), known_facts(self)):
            raise unavailable(self, what, name)

    def _tails(self, asked: Asked) -> Tails:
        self._refuse_without_noise("residuals", "Residuals")
        return process_tails(self._parts, asked)

    @property
    def _residuals(self) -> dict[str, Callable[[Asked], Array]]:
        own = {"pearson": self._pearson, "response": response_residuals}
        return {**super()._residuals, **{kind: partial(of, self._parts) for kind, of in own.items()}}

    def _pearson(self, parts: Process, asked: Asked) -> Array:
        self._refuse_without_noise("residuals", "Residuals")
        return pearson_residuals(parts, asked)

    def _terms(self, asked: Asked) -> dict[str, Nodes]:
        return term_nodes(self._parts.reported.fit, asked.design, asked.skip)

    def _check_densities(self, asked: Asked, what: str) -> None:
        if not self._parts.reported.fit.noise_free:
            return
        nodes = nodes_of(self._parts, asked.design)
        known = (nodes.sd < LEAST_SD * self._parts.gp.problem.units.scale).any(axis=0)
        if known.any():
            named = ", ".join(map(str, asked.labels[known][:5]))
            raise SpecError(
                f"{what}: without noise f is known in rows with the inputs of an uncensored row, here {named}, "
                f"and has no density there. Give other rows, or use predict(), which supports all rows."
            )

    def _distributions(self, new: Frame | None, exclude: Any) -> RowDistributions:
        self._check_densities(ask(self._parts, new, exclude), "get_distribution()")
        return super()._distributions(new, exclude)

    def _likelihoods(self, rows: Scored) -> Array:
        exact = rows.response.lower == rows.response.upper
        self._check_densities(rows.asked.among(exact), "score()")
        return process_likelihoods(self._parts, rows)

    def _draws(self, draws: int, rng: Rng, question: str) -> Draws:
        self._refuse_without_noise("loo", question)
        return draw_process(self._parts, draws, rng, question=question)

    def _k_hat(self, draws: int, rng: Rng) -> KHat:
        self._refuse_without_noise("k_hat", "k_hat()")
        return process_k_hat(self._parts.reported.fit, draws, rng)

    def _findings(self, rng: Any) -> Iterator[Finding]:
        self._refuse_without_noise("check", "check()")
        return process_findings(self, rng)

    def _differences(self, contrasts: Contrasts) -> Linear:
        if contrasts.rows is None or contrasts.same is None:
            return self._linear.combine(contrasts.columns, -contrasts.offset)
        return JointProcess(self._parts.reported.fit).differences(contrasts.rows, contrasts.same)

    def _log_ratios(self, contrasts: Contrasts, sign: float) -> Linear:
        return scaled(self._differences(contrasts), sign / noise_sds(self._parts)[:, 0])

    def _effect(self, change: Change, rows: ChangedRows, asked: EffectRequest, *, averaged: bool) -> Effect:
        return process_effect(self._parts, change, rows, asked)

    def _process_test(self, term: Term) -> TermTest:
        self._refuse_without_noise("anova", "anova()")
        return joint_test_of_process(self._parts.reported.fit, term.blocks)

    def _averages(self, population: Population, sought: Sought) -> DrawnAverages:
        return process_averages(self._parts, population, sought)

    def _expected(self) -> Array:
        others = cavities(self._parts.reported.fit)
        return np.asarray(others.weight @ others.mean)

    def _words(self, alpha: float, kind: Any = None) -> Words:
        from tobitgp.report.process_words import process_words

        return process_words(self, alpha)

    def _without_rows(self) -> Self:
        return type(self).from_parts(self._parts.without_rows())

    sites = property(site_table.sites)
    posterior = joint_draws.posterior
    hazard_ratios = hazard_ratios.hazard_ratios
    standardise = standardise.standardise
    marginal_effects = column_effects.marginal_effects
    get_margeff = column_effects.marginal_effects
    k_hat = validation.k_hat
    plot_evidence = figures.plot_evidence
    plot = figures.plot
    plot_terms = figures.plot_terms
    plot_effect = figures.plot_effect
    plot_forest = figures.plot_forest
    plot_residuals = figures.plot_residuals
