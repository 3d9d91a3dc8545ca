"""The front door: a formula and a data frame become a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from tobitgp.data.frames import reads_frames
from tobitgp.likelihoods.families import BoxCox, GenGamma, Student
from tobitgp.method_value import MethodValue
from tobitgp.model import Model
from tobitgp.options import saying_what_was_meant
from tobitgp.priors.hyperpriors import LKJ, LogNormal, Normal
from tobitgp.priors.scale_priors import ScalePrior
from tobitgp.results.competing.competing_results import CompetingRisksResults
from tobitgp.results.hazards.cells import PH
from tobitgp.results.hazards.hazard_results import HazardResults
from tobitgp.results.latent.latent_results import LatentResults
from tobitgp.results.likelihood.boxcox_results import BoxCoxResults
from tobitgp.results.likelihood.cure_results import CureResults
from tobitgp.results.likelihood.parametric_results import ParametricHazardResults
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.mixture.mixture_results import MixtureResults
from tobitgp.results.multivariate.multivariate_results import MultivariateResults
from tobitgp.results.process.boxcox_process_results import BoxCoxGPResults
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.uncertain.uncertain_results import UncertainInputResults
from tobitgp.results.vectors.vector_results import VectorMixtureResults
from tobitgp.typing import Frame


@saying_what_was_meant
@reads_frames
def fit(
    formula: str | Mapping[str | int, str],
    data: Frame,
    *,
    family: str | Student | GenGamma | BoxCox | PH | Mapping[Any, Any] | None = None,
    method: str | MethodValue = "auto",
    sigma: str | None = None,
    cure: str | Mapping[Any, str | None] | None = None,
    formulas: Mapping[str, str] | None = None,
    rescor: bool = False,
    id: str | None = None,
    censored: Literal["model", "drop", "ignore"] = "model",
    fixed: Mapping[str, float] | None = None,
    start: Any = None,
    priors: Mapping[str, LKJ | LogNormal | Normal | ScalePrior | float | None] | None = None,
    missing: Literal["drop", "raise"] = "drop",
    weights: Any = None,
    var_weights: Any = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool | Callable[[str, int, float], None] = False,
    vcov: str | Mapping[str, Any] | None = None,
    cov_type: str = "nonrobust",
    cov_kwds: Mapping[str, Any] | None = None,
    engine: Any = None,
) -> (
    GPResults
    | RegressionResults
    | CureResults
    | BoxCoxResults
    | BoxCoxGPResults
    | MixtureResults
    | LatentResults
    | MultivariateResults
    | HazardResults
    | ParametricHazardResults
    | CompetingRisksResults
    | UncertainInputResults
    | VectorMixtureResults
):
    r"""Fit a regression or mixture model to data that may be censored or truncated.

    Parameters
    ----------
    formula : str, or dict of these by cause
        ``response ~ terms | censor(...)``, or with ``interval(lo, hi)``, ``Surv(...)``, ``Cen(y, flag)`` or a column of
        text such as ``<0.5``, ``0.5 U`` or ``ND`` (with ``censor(limit)``) for the response; see
        :func:`tobitgp.formula_functions` for the functions that it may contain. For several responses, write
        ``mvbind(y1, y2) ~ terms | censor(l1, l2)``. For competing risks, write ``Surv(time, cause) ~ terms``, with a
        column of more than two values. Censored rows are those with 0, ``"censored"`` or the first category there; for
        another value write ``Surv(time, cause, censored="alive")``, and ``censored=None`` if no row is censored. A dict
        has a formula for each cause.
    data : DataFrame, dict of columns, or path of Parquet files
        A table of pandas, polars (also lazy), pyarrow, DuckDB, dask, or any other library that narwhals reads; it is
        never modified. From lazy tables, only the columns that the arguments mention are collected. A single value in a
        dict is used for every row. A path names a file or a folder, or is a pattern such as ``"folder/*.parquet"``.
        Files and dask DataFrames are never read into memory as a whole, and results of their fits contain no rows.
    family : str, ``tg.Student(df=4)``, ``tg.GenGamma(Q=1)``, ``tg.PH()``, ``tg.CustomNoise()``, optional
        The distribution of the noise: ``"gaussian"`` (the default; ``Surv(...)`` requires an explicit family),
        ``"student"`` (df estimated), ``"logistic"`` or ``"gumbel"`` (minimum). For a positive response whose logarithm
        is modelled: ``"lognormal"``, ``"loglogistic"``, ``"weibull"``, ``"exponential"`` or ``"gengamma"`` (Q
        estimated). ``"boxcox"`` is for a positive response that is normal after a power transformation, which is
        estimated; zeros are allowed with ``censor(0)``.
        ``"ph"`` models the hazard, with ``strata(g)`` and ``tv(z)`` in the formula. ``tg.PH("spline")`` (Royston and
        Parmar), ``tg.PH("weibull")`` and ``tg.PH("gompertz")`` fit baselines by maximum likelihood, see `tobitgp.PH`.
        `tobitgp.CustomNoise` makes a family of your own density.
        For the components of a ``mixture()``: ``"gaussian"``, ``"lognormal"``, ``"exponential"``, ``"weibull"`` (its
        shapes are point estimates), ``"gamma"``, ``"inverse_gaussian"``, ``"von_mises"`` (angles) and, for counts,
        ``"poisson"``, ``"geometric"`` or ``"bernoulli"``; `tobitgp.Binomial`, `tobitgp.NegativeBinomial`,
        `tobitgp.Pareto`, and a family that you define with `tobitgp.ExponentialFamily`. For competing risks: a family
        for positive times or ``"ph"``, or a dict of these by cause.
    method : {"auto", "ep", "vi", "laplace", "mle", "vbcm", "svbcm", "em"} or a value such as ``tg.EP(inducing=20)``
        ``"auto"`` uses maximum likelihood (``"mle"``) for a formula without ``gp()`` and ``re()``, unless ``priors`` or
        ``start`` require a posterior. Otherwise it uses expectation propagation (``"ep"``), or variational inference
        if that does not converge. A ``mixture()`` is fitted by variational Bayes (``"vbcm"``, the default), by
        stochastic variational Bayes that ends with full passes (``"svbcm"``), or by maximum likelihood (``"em"``).
        Pass settings with the method, for example ``tg.EP(hyper="integrate", inducing=20)``, ``tg.VI(bound="local")``
        or ``tg.MLE(max_iter=50)``: see `tobitgp.EP`, `tobitgp.VI`, `tobitgp.Laplace`, `tobitgp.MLE`, `tobitgp.VBCM`,
        `tobitgp.SVBCM` and `tobitgp.EMCM`. A name means the default settings. The papers' names ``"T-GPR"``,
        ``"VT-GPR"`` and ``"EMCM"`` mean `tobitgp.EP`, ``tg.VI(bound="local")`` and `tobitgp.EMCM`.
    sigma : str, optional
        Formula for the log noise scale, for example ``"~ z + gp(x) + (1 | g)"``. Linear terms work with every method;
        under priors, sigma is then the noise at their means. Processes and random effects, whose terms are called
        ``"sigma: gp(x)"``, require ``"ep"``, ``"vi"`` or ``"laplace"`` and at most 20,000 rows in memory.
        ``predict(what="sigma")`` returns the scale of each row.
    cure : str, optional
        Formula for the log odds of being cured (of never having the event), for example ``"~ trt + age"``, or ``"~ 1"``
        for one fraction. This fits a mixture cure model by maximum likelihood; ``formula`` models the times of those
        not cured. It requires a family for positive times, and exact or right-censored rows. Coefficients are called
        ``cured[trt]``. For competing risks, give one formula, or a dict by cause: cured of a cause means never having
        an event of this cause.
    formulas : mapping of str to str, optional
        Formulas for other parameters, by maximum likelihood: for example ``{"sigma": "~ z", "cured": "~ arm"}``, for
        which ``sigma=`` and ``cure=`` are short forms; also ``"shape"`` for Weibull times, ``tg.PH("weibull")`` and
        ``tg.PH("gompertz")``, ``"df"`` for Student's t and ``"Q"`` for the generalised gamma distribution.
        Coefficients are called, for example, ``log(shape)[z]``.
    rescor : bool
        With ``mvbind(y1, y2) ~ ...``: let the residuals of the responses in one row be correlated.
    id : str, optional
        The column that names the subject of each row of ``Surv(start, stop, event)``. The rows of a subject follow each
        other in time with covariates that change; only the last one may end in an event. With ``family="ph"``, the
        hazard depends on the current covariates, and rows may begin late and leave gaps; with ``cov_type="cluster"``
        and a parametric baseline, the subjects are the clusters. With families for positive times, the covariates of
        each row make the subject's time run faster or slower (accelerated failure times). These models require linear
        terms, maximum likelihood, and rows from time 0 on without gaps; robust covariances count each subject as one.
    censored : {"model", "drop", "ignore"}
        Model censored rows, leave them out, or treat their limits as values.
    fixed, start : mapping of parameter name to value, optional
        Fixed values and starting values on the natural scale, in the user's units. If all hyper-parameters are fixed,
        the model is evaluated at that point. ``{"sigma": 0}`` fits a normal process without noise by expectation
        propagation: uncensored rows are values of the curve (NF1). ``start`` may also be a fit of the same terms to
        nearly the same rows, for example before some rows were added or removed. The optimiser then starts from its
        maximum, and searches for no other unless the method has ``n_starts``. With maximum likelihood, ``start`` must
        be a mapping and requires a parametric baseline of ``family="ph"``.
        A mixture can start at parameters: a DataFrame or dict with a value for each component, such as
        ``{"mean": [-3, 3], "sd": [1, 1]}``, with ``"weight"`` if the weights differ, or with names as in ``params``. It
        can also start at responsibilities (an array with a row for each row of the data and a column for each
        component) or at the estimates of another fit. With the default settings this is then the only start.
    priors : mapping of parameter name to prior or None, optional
        None: weak priors on standardised data, whose unit is the standard deviation that the response would have if it
        were uncensored. ``{}``: no priors. ``{"sigma": None}`` drops one; ``{"sigma": tg.LogNormal(0.4, 0.5)}`` or, for
        a linear coefficient, ``{"z": tg.Normal(0, 2)}`` sets one; ``{"cor(re(g))[Intercept, z]": tg.LKJ(1)}`` sets that
        of all correlations of a random effect. Positive parameters also accept ``tg.Gamma``, ``tg.InverseGamma``,
        ``tg.HalfNormal``, ``tg.HalfStudent``, ``tg.Exponential``, ``tg.PC``, ``tg.Uniform`` and ``tg.Beta``.
        For a mixture, None learns the scale of the components' prior from all of them, (MIX18) of the theory pages.
        Numbers by name, in the user's units, fix the prior of every component as a whole: for Gaussian components
        ``{"mean": 0, "tau": 0.01, "a": 1, "b": 1}``, for others ``a`` and ``b`` of the rate; ``"concentration"`` is for
        the weights.
    missing : {"drop", "raise"}
        Leave out rows with missing values, or raise a DataError that counts them.
    weights : str or (n,) array, optional
        Frequency weights, or the column that holds them: a row of weight 2 is two rows. For sampling weights, add a
        robust ``cov_type``; for the precision of a row, use ``var_weights``.
    var_weights : str or (n,) array, optional
        Variance weights w, or the column that holds them: the noise of a row has the variance
        :math:`\sigma^2 \bar w / w`, where :math:`\bar w` is the mean weight of the rows used. An example is a response
        that is the mean of w values. The unit of the weights does not matter, and sigma is the noise of a row of
        average weight. New rows have the noise sigma, unless the weights are a column that the new data also contain.
    functions : mapping of str to callable, optional
        Your functions, which the formula may call by these names. They take arrays with one value per row and return
        one such array. They are called again for predictions, and must treat each row separately.
    rng : int or numpy Generator, optional
        Random numbers that choose the rows of the first search on large data (posteriors), or draw starts (mixtures).
        With None the result is deterministic.
    progress : bool or callable
        Show a progress bar, or call ``progress(stage, evaluations, objective)``; maximum likelihood reports once, at
        its end.
    vcov : {"nonrobust", "HC0", "HC1"} or dict, optional
        With maximum likelihood: the covariance of the estimates. It is the inverse information, or a sandwich around
        the rows' scores; ``{"cluster": ["firm", "year"]}`` sums the scores within clusters, and may contain the other
        entries of ``cov_kwds``.
    cov_type, cov_kwds : str, dict, optional
        ``vcov`` with the names of statsmodels: ``"nonrobust"``, ``"HC0"``, ``"HC1"`` or ``"cluster"``, and settings.
        ``cov_type="cluster"`` requires ``{"groups": column or array}``. For multiway clustering, give a list of
        columns, ``{"groups": ["firm", "year"]}``; see (ECO2) of the theory pages. ``"use_correction": True`` multiplies
        by G / (G - 1) (n - 1) / (n - k) for few clusters, as in statsmodels; by default there is no factor, as in R's
        survreg. With any robust covariance, ``"weights"`` gives the meaning of ``weights``: ``"frequency"`` (default
        for whole numbers) or ``"sampling"`` (default for others), which uses the sandwich of weighted scores.
    engine : distributed.Client, optional
        The dask cluster to work on. The default for a dask DataFrame is the cluster of the session, if there is one. If
        there is none, the work is done in threads of this process.

    Returns
    -------
    GPResults, RegressionResults or results of another kind
        RegressionResults with maximum likelihood; CureResults with ``cure=``, MixtureResults for a ``mixture()``,
        MultivariateResults for ``mvbind(...)``, VectorMixtureResults for ``mvbind(...) ~ mixture(2)``,
        LatentResults for ``mvbind(...) ~ gp(latent(2))``, UncertainInputResults for ``gp(x, se=sx)``, HazardResults
        for ``family="ph"``, ParametricHazardResults for ``tg.PH("spline")`` and other parametric baselines,
        BoxCoxResults and BoxCoxGPResults for ``family="boxcox"``, CompetingRisksResults for several causes.

    Raises
    ------
    FormulaError
        If the formula cannot be read or names unknown columns.
    DataError
        If the data cannot be used.
    SpecError
        If an option is not supported or names no parameter.
    NumericalError
        If the computation breaks down, for example with numerically extreme weights.

    Warns
    -----
    BoundaryWarning
        If something is not identified by these data.
    ConvergenceWarning
        If the search or a fixed point did not converge.
    ApproximationWarning
        If the approximation gap of the inducing inputs exceeds 1 nat, or the evidence is approximated by a value that
        is not a bound.

    References
    ----------
    .. [1] P. Groot and P. Lucas, "Gaussian process regression with censored data using expectation propagation",
       PGM 2012.
    .. [2] H. Rue, S. Martino and N. Chopin, JRSS B 71 (2009), section 6.5.
    .. [3] M. Kohjima, T. Matsubayashi and H. Toda, "Variational Bayes for mixture models with censored data",
       ECML PKDD 2019.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"))
    >>> int(res.counts["left"]), res.method, round(res.llf, 2)
    (13, 'mle', -28.94)
    >>> res = tg.fit("y ~ gp(x) | censor(lower)", tg.datasets.simulate_groot_lucas())
    >>> res.method, res.evidence_kind
    ('ep', 'ep')
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> res.params.round(2).tolist()
    [0.68, 0.32, 421.43, 407.54, 1.56, 0.98]
    """
    model = Model(
        formula,
        data,
        family=family,
        weights=weights,
        var_weights=var_weights,
        missing=missing,
        censored=censored,
        functions=functions,
        sigma=sigma,
        cure=cure,
        formulas=formulas,
        rescor=rescor,
        id=id,
        engine=engine,
    )
    with model:
        return model.fit(
            method=method,
            fixed=fixed,
            start=start,
            priors=priors,
            rng=rng,
            progress=progress,
            vcov=vcov,
            cov_type=cov_type,
            cov_kwds=cov_kwds,
        )
