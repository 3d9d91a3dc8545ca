"""The front door: a formula and a data frame become a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tobitgp.data.limits import with_limits
from tobitgp.data.prepare import TrainingData, prepare
from tobitgp.data.table import column_names
from tobitgp.errors import SpecError
from tobitgp.formula import parse_formula
from tobitgp.formula.scale import parse_scale_formula
from tobitgp.inference import Method
from tobitgp.inference.doubts import warn_coarse, warn_no_bound, warn_unidentified
from tobitgp.inference.fit import fit_gp
from tobitgp.inference.fitted import Settings, Step
from tobitgp.inference.model import assemble
from tobitgp.likelihoods import resolve_family
from tobitgp.likelihoods.families import Student
from tobitgp.options import (
    choose_method,
    means_mle,
    read_groups,
    read_hyper,
    read_positive,
    read_rng,
    read_whole,
    refuse_noise,
    refuse_with_mle,
)
from tobitgp.prior.distributions import LogNormal, Normal
from tobitgp.report.progress import progress_bar
from tobitgp.results.gp import GPResults
from tobitgp.results.tobit import TobitResults
from tobitgp.results.tobit_fit import fit_tobit
from tobitgp.results.views import COUNTS, ModelData, keep_covariates, plain_text
from tobitgp.typing import Frame

Hyper = Literal["auto", "integrate", "maximize"]


def fit(
    formula: str,
    data: Frame,
    *,
    family: str | Student = "gaussian",
    method: str | Method = "auto",
    bound: str | None = None,
    inducing: Any = "auto",
    hyper: Hyper = "auto",
    sigma: str | None = None,
    censored: Literal["model", "drop", "ignore"] = "model",
    fixed: Mapping[str, float] | None = None,
    start: Mapping[str, float] | None = None,
    priors: Mapping[str, LogNormal | Normal | None] | None = None,
    missing: Literal["drop", "raise"] = "drop",
    weights: Any = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    n_starts: int | None = None,
    max_iter: int = 200,
    tol: float | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool | Callable[[str, int, float], None] = False,
    cov_type: str = "nonrobust",
    cov_kwds: Mapping[str, Any] | None = None,
) -> GPResults | TobitResults:
    """Fit a regression to data that were clipped, cut off or only bracketed.

    Parameters
    ----------
    formula : str
        ``response ~ terms | censor(...)``, with ``interval(lo, hi)``, ``Surv(...)`` or a column of text such as
        ``<0.5`` for the response where these say what is censored; see :func:`tobitgp.formula_functions` for what may
        stand in it.
    data : DataFrame or dict of columns
        Never modified.
    family : str or ``tg.Student(df=4)``
        Noise: ``"gaussian"``, ``"student"`` (df estimated), ``"logistic"``, ``"gumbel"`` (of the least of many), and
        for a positive response whose logarithm is modelled ``"lognormal"``, ``"loglogistic"``, ``"weibull"`` and
        ``"exponential"``.
    method : {"auto", "ep", "vi", "laplace", "mle"} or a method value such as ``tg.EP(damping=0.8)``
        ``"auto"`` maximises the likelihood (``"mle"``) of a formula without ``gp()`` and ``re()``, unless ``priors``,
        ``hyper``, ``inducing`` or ``start`` ask for a posterior; otherwise it is expectation propagation (``"ep"``),
        with variational inference where that does not settle. What maximum likelihood has no use for (``bound``,
        ``n_starts``, ``tol``) is refused beside it.
    bound : {"exact", "local", "monte_carlo", "karlova"}, optional
        With ``method="vi"``: the expected log-likelihood itself, Basson et al.'s quadratic bound with side noises
        ``sigma_lower`` and ``sigma_upper``, an average over fixed draws, or Karlova et al.'s closed form, which is no
        bound; see `tobitgp.VI`. All but the first rest on Gaussian noise.
    inducing : {"auto", None}, int, (M, d) array, ``tg.Inducing``, or dict of these by term name
        Inducing inputs of the ``gp()`` terms: as many as leave 0.01 nat, the numerically exact prior, a number, or
        locations in the user's units. ``tg.Inducing(20)`` moves 20 of them to where they tell most.
    hyper : {"auto", "integrate", "maximize"}
        Average over hyper-parameters by a central composite design, or take the maximum; ``"auto"`` averages up to
        20,000 rows and 10 free hyper-parameters.
    sigma : str, optional
        By maximum likelihood: formula of the log noise scale, as ``"~ z"``.
    censored : {"model", "drop", "ignore"}
        Model censored rows, leave them out, or take their limits as values.
    fixed, start : mapping of parameter name to value, optional
        Natural scale, the user's units. Fixing all hyper-parameters evaluates the model at a point.
    priors : mapping of parameter name to prior or None, optional
        None: weak priors on standardised data; ``{}``: none at all; ``{"sigma": None}`` drops one,
        ``{"sigma": tg.LogNormal(0.4, 0.5)}`` or, for a linear coefficient, ``{"z": tg.Normal(0, 2)}`` sets one.
    missing : {"drop", "raise"}
    weights : str or (n,) array, optional
        Frequency weights.
    functions : mapping of str to callable, optional
        A user's own functions, which the formula may call by these names: arrays of one value a row in, one out. They
        are called again for predictions, and must treat each row by itself.
    n_starts : int, optional
        Of a posterior: starts of the search, taken from a screened grid; 2 by default.
    max_iter : int
        Iterations of each optimiser run, and the most Newton steps at its end (never more than 10); by maximum
        likelihood the most Newton steps.
    tol : float, optional
        Of a posterior: nats a further Newton step may gain when the search stops; by default 1e-6, and 1e-3 on more
        than 20,000 rows.
    rng : int or numpy Generator, optional
        Of a posterior: chooses the rows of the first search on large data; None is deterministic.
    progress : bool or callable
        Show a progress line (stage, evaluations, passes over how many rows, log density, time; on many rows also the
        time left), or call ``progress(stage, evaluations, objective)``; maximum likelihood reports once, at its end.
    cov_type : {"nonrobust", "HC0", "HC1", "cluster"}
        By maximum likelihood: inverse information, or a sandwich around the rows' scores.
    cov_kwds : dict, optional
        ``{"groups": column or array}`` for ``cov_type="cluster"``.

    Returns
    -------
    GPResults or TobitResults
        The latter by maximum likelihood.

    Raises
    ------
    FormulaError
        If the formula cannot be read or names unknown columns.
    DataError
        If the data cannot be used.
    SpecError
        If an option is not offered or names no parameter.

    Warns
    -----
    BoundaryWarning
        If something is not identified by these data.
    ConvergenceWarning
        If the search or a fixed point did not settle.
    ApproximationWarning
        If the inducing inputs leave more than 1 nat, or what stands in for the evidence is no bound.

    References
    ----------
    .. [1] P. Groot and P. Lucas, "Gaussian process regression with censored data using expectation propagation",
       PGM 2012.
    .. [2] H. Rue, S. Martino and N. Chopin, JRSS B 71 (2009), section 6.5.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"))
    >>> int(res.counts["left"]), res.method, round(res.llf, 2)
    (13, 'mle', -28.94)
    >>> res = tg.fit("y ~ gp(x) | censor(lower)", tg.datasets.simulate_groot_lucas())
    >>> res.method, res.evidence_kind
    ('ep', 'ep')
    """
    model = Model(
        formula,
        data,
        family=family,
        weights=weights,
        missing=missing,
        censored=censored,
        functions=functions,
        sigma=sigma,
    )
    return model.fit(
        method=method,
        bound=bound,
        inducing=inducing,
        hyper=hyper,
        fixed=fixed,
        start=start,
        priors=priors,
        n_starts=n_starts,
        max_iter=max_iter,
        tol=tol,
        rng=rng,
        progress=progress,
        cov_type=cov_type,
        cov_kwds=cov_kwds,
    )


class Model:
    """A formula that has met its data; :func:`fit` in two steps.

    The data are read once, so that the same rows can be fitted by several methods.

    Parameters
    ----------
    formula : str
    data : DataFrame or dict of columns
        Never modified.
    family, weights, missing, censored, functions, sigma
        As in :func:`fit`.

    Attributes
    ----------
    formula : str
    spec : ModelSpec
        Prints in words what was understood.
    endog_names : str
        The response as written.
    exog_names : list of str
        Columns of the linear part.
    data : ModelData
        ``param_names``, here the linear columns, and ``frame``, the covariates of the rows used.
    counts : dict of int
        Rows that are exact, left-, right- and interval-censored, and dropped.

    Raises
    ------
    FormulaError, DataError, SpecError
        As :func:`fit`.

    Examples
    --------
    >>> import tobitgp as tg
    >>> model = tg.Model("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"))
    >>> print(model.spec)
    durable ~ age + quant | censor(0)
      response   durable
      censoring  durable <= 0 is left-censored there; no upper limit
      linear     intercept, age + quant
    >>> model.fit(method="laplace", hyper="maximize").evidence_kind
    'laplace'
    """

    def __init__(
        self,
        formula: str,
        data: Frame,
        *,
        family: str | Student = "gaussian",
        weights: Any = None,
        missing: Literal["drop", "raise"] = "drop",
        censored: Literal["model", "drop", "ignore"] = "model",
        functions: Mapping[str, Callable[..., Any]] | None = None,
        sigma: str | None = None,
    ):
        self._family = resolve_family(family)
        # "." stands for the columns of the model, and weights are none of them.
        columns = [c for c in column_names(data) if not isinstance(weights, str) or c != weights]
        spec = parse_formula(formula, columns, functions)
        scale = None if sigma is None else parse_scale_formula(sigma, columns, functions, beside=spec)
        self._training = prepare(spec, data, scale=scale, weights=weights, missing=missing, censored=censored)
        self.spec = self._training.state.spec
        self._source = data
        self.formula = self.spec.formula
        self.endog_names = plain_text(self.spec.response.label)
        self.exog_names = list(self._training.design.columns)
        self.data = ModelData(self.exog_names, keep_covariates(self.spec, self._training, data))
        self.counts = dict(self._training.counts)

    @property
    def training(self) -> TrainingData:
        """The rows used, as the rooms below hand them on."""
        return self._training

    def __repr__(self) -> str:
        censored = ", ".join(f"{self.counts[kind]} {kind}-censored" for kind in COUNTS[1:4] if self.counts[kind])
        rows = f"{self.counts['exact']} rows exact, {censored or 'none censored'}, {self.counts['dropped']} dropped"
        return f"Model: {self.formula.strip()}\n  {self._family.name}: {rows}"

    def fit(
        self,
        *,
        method: str | Method = "auto",
        bound: str | None = None,
        inducing: Any = "auto",
        hyper: Hyper = "auto",
        fixed: Mapping[str, float] | None = None,
        start: Mapping[str, float] | None = None,
        priors: Mapping[str, LogNormal | Normal | None] | None = None,
        n_starts: int | None = None,
        max_iter: int = 200,
        tol: float | None = None,
        rng: int | np.random.Generator | None = None,
        progress: bool | Callable[[str, int, float], None] = False,
        cov_type: str = "nonrobust",
        cov_kwds: Mapping[str, Any] | None = None,
    ) -> GPResults | TobitResults:
        """Fit the model.

        Parameters
        ----------
        method, bound, inducing, hyper, fixed, start, priors, n_starts, max_iter, tol, rng, progress, cov_type, cov_kwds
            As in :func:`tobitgp.fit`.

        Returns
        -------
        GPResults or TobitResults

        Raises
        ------
        SpecError
            If an option is not offered or names no parameter.
        """
        given = {"bound": bound, "inducing": inducing, "hyper": hyper, "start": start, "priors": priors}
        given |= {"n_starts": n_starts, "tol": tol}
        seed = read_rng(rng)
        if means_mle(method, self.spec, given):
            refuse_with_mle(method, given)
            return self._fit_mle(fixed, cov_type, cov_kwds, read_whole("max_iter", max_iter), progress)
        self._refuse_without_mle(cov_type, cov_kwds)
        inference = choose_method(method, bound)
        refuse_noise(inference, self._family)
        settings = Settings(
            integrate=read_hyper(hyper),
            n_starts=read_whole("n_starts", 2 if n_starts is None else n_starts),
            max_iter=read_whole("max_iter", max_iter),
            tol=None if tol is None else read_positive("tol", tol),
            rng=seed,
        )
        training, family = self._training, self._family
        known = {"inducing": inducing, "fixed": fixed, "start": start, "priors": priors}
        known |= {"side_noises": inference.side_noises}
        labels = training.labels
        model = assemble(self.spec, training.response, training.design, family=family, labels=labels, **known)
        if inference.limits:
            model = replace(
                model, problem=with_limits(model.problem, training.response, model.known_mean(training.design))
            )
        warn_unidentified(training.response, training.design, model)
        with progress_bar(progress) as on_step:
            fitted = fit_gp(
                model.problem, model.prior, model.parameters, inference, family.likelihood, settings, on_step
            )
        warn_coarse(fitted)
        warn_no_bound(fitted)
        return GPResults(self.spec, training, model, fitted, self._source)

    def _refuse_without_mle(self, cov_type: str, cov_kwds: Mapping[str, Any] | None) -> None:
        """Refuse what only maximum likelihood offers for now."""
        if cov_type != "nonrobust" or cov_kwds is not None:
            raise SpecError(
                "cov_type= and cov_kwds= go with maximum likelihood (method='mle'); a posterior has one covariance."
            )
        if self._training.state.scale is not None:
            raise SpecError(
                "sigma= goes with maximum likelihood (method='mle') for now; a posterior has one noise scale."
            )

    def _fit_mle(
        self,
        fixed: Mapping[str, float] | None,
        cov_type: str,
        cov_kwds: Mapping[str, Any] | None,
        max_iter: int,
        progress: bool | Callable[[str, int, float], None],
    ) -> TobitResults:
        groups = read_groups(cov_type, cov_kwds, self._source, self._training.kept)
        with progress_bar(progress) as on_step:
            results = fit_tobit(
                self.spec,
                self._training,
                self._family,
                self._source,
                fixed=fixed,
                cov_type=cov_type,
                groups=groups,
                max_iter=max_iter,
            )
            if on_step is not None:
                on_step(Step("newton", results.parts.maximum.iterations, results.llf, rows=len(self._training.labels)))
        return results
