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
    r"""Fit a regression, or a mixture, to data that may be censored or truncated.

    Parameters
    ----------
    formula : str, or dict of these by cause
        ``response ~ terms | censor(...)``, or with ``interval(lo, hi)``, ``Surv(...)``, ``Cen(y, flag)`` or a column of
        text such as ``<0.5``, ``0.5 U`` or ``ND`` (with ``censor(limit)``) for the response; see
        :func:`tobitgp.formula_functions` for what may stand in it. Several responses are
        ``mvbind(y1, y2) ~ terms | censor(l1, l2)``. Competing risks are ``Surv(time, cause) ~ terms``, with a column
        of more than two values, and ``Surv(time, cause, censored="alive")`` where neither 0, ``"censored"`` nor the
        first category is what censored rows hold, ``censored=None`` where no row is censored; a dict has a formula for
        each cause.
    data : DataFrame, dict of columns, or path of Parquet files
        Of pandas, polars (lazy too), pyarrow, DuckDB, dask, or whatever else narwhals reads; never modified. Of lazy
        kinds only the columns that the arguments mention are collected; a single value in a dict stands in every row. A
        path is that of a file or a folder, or a pattern such as ``"folder/*.parquet"``. Files and dask DataFrames are
        never read into memory at once, and their results hold no rows.
    family : str, ``tg.Student(df=4)``, ``tg.GenGamma(Q=1)``, ``tg.PH()``, ``tg.CustomNoise()``, optional
        Noise: ``"gaussian"`` (the default, but for ``Surv(...)``, whose family has to be named), ``"student"`` (df
        estimated), ``"logistic"``, ``"gumbel"`` (of the least of many), and for a positive response whose logarithm is
        modelled ``"lognormal"``, ``"loglogistic"``, ``"weibull"``, ``"exponential"`` and ``"gengamma"`` (Q estimated);
        ``"boxcox"`` for a positive response that is normal after a power transformation, which is estimated, and for
        one with zeros, by ``censor(0)``;
        ``"ph"`` models the hazard, with ``strata(g)`` and ``tv(z)`` in the formula; ``tg.PH("spline")``, of Royston and
        Parmar, ``tg.PH("weibull")`` and ``tg.PH("gompertz")`` have baselines by maximum likelihood, see `tobitgp.PH`.
        `tobitgp.CustomNoise` makes a family of your own density.
        Components of a ``mixture()``: ``"gaussian"``, ``"lognormal"``, ``"exponential"``, ``"weibull"`` (whose shapes
        are point estimates), ``"gamma"``, ``"inverse_gaussian"``, ``"von_mises"`` (angles) and, of counts,
        ``"poisson"``, ``"geometric"``, ``"bernoulli"``; `tobitgp.Binomial`, `tobitgp.NegativeBinomial`,
        `tobitgp.Pareto` and a family of your own, `tobitgp.ExponentialFamily`. Of competing risks one of positive times
        or ``"ph"``, or a dict of these by cause.
    method : {"auto", "ep", "vi", "laplace", "mle", "vbcm", "svbcm", "em"} or a value such as ``tg.EP(inducing=20)``
        ``"auto"`` maximises the likelihood (``"mle"``) of a formula without ``gp()`` and ``re()``, unless ``priors`` or
        ``start`` ask for a posterior; otherwise it is expectation propagation (``"ep"``), with variational inference
        if that does not converge. A ``mixture()`` is fitted by variational Bayes (``"vbcm"``, which ``"auto"`` means),
        by stochastic steps that end with passes of it (``"svbcm"``), or by maximum likelihood (``"em"``).
        Settings belong to the method, as ``tg.EP(hyper="integrate", inducing=20)``, ``tg.VI(bound="local")`` or
        ``tg.MLE(max_iter=50)``: see `tobitgp.EP`, `tobitgp.VI`, `tobitgp.Laplace`, `tobitgp.MLE`, `tobitgp.VBCM`,
        `tobitgp.SVBCM` and `tobitgp.EMCM`. A name stands for the default settings. The papers' names ``"T-GPR"``,
        ``"VT-GPR"`` and ``"EMCM"`` mean `tobitgp.EP`, ``tg.VI(bound="local")`` and `tobitgp.EMCM`.
    sigma : str, optional
        Formula of the log noise scale, as ``"~ z + gp(x) + (1 | g)"``. Columns go with every method; there sigma is the
        noise at their means, under priors. Processes and random effects, whose terms are called ``"sigma: gp(x)"``, are
        fitted by ``"ep"``, ``"vi"`` or ``"laplace"`` with up to 20,000 rows in memory; ``predict(what="sigma")`` has
        that of each row.
    cure : str, optional
        Formula of the log odds of being cured, of never having the event, as ``"~ trt + age"``, or ``"~ 1"`` for one
        fraction: a mixture cure model by maximum likelihood, in which ``formula`` is of the times of those not cured.
        With families of positive times, exact and right-censored rows; coefficients are called ``cured[trt]``. Of
        competing risks one formula, or a dict of formulas by cause: those who never have an event of this cause.
    formulas : mapping of str to str, optional
        Formulas of other parameters of the rows by maximum likelihood: ``{"sigma": "~ z", "cured": "~ arm"}``, of which
        ``sigma=`` and ``cure=`` are short forms; ``"shape"`` of Weibull times, ``tg.PH("weibull")`` and
        ``tg.PH("gompertz")``, ``"df"`` of Student's t and ``"Q"`` of the generalised gamma distribution. Coefficients
        are called ``log(shape)[z]``.
    rescor : bool
        Of ``mvbind(y1, y2) ~ ...``: let the residuals of the responses in one row be correlated.
    id : str, optional
        The column that names the subject of each row of ``Surv(start, stop, event)``, whose rows follow each other in
        time with covariates that change, and end in an event at most in the last one. With ``family="ph"`` hazards are
        those of the present covariates, and rows may begin late and leave gaps; with ``cov_type="cluster"`` of a
        parametric baseline subjects are the clusters. With families of positive times a
        subject's time runs faster or slower by the covariates of each row (accelerated failure times): linear terms by
        maximum likelihood, from time 0 on, without gaps, and each subject counts as one in robust covariances.
    censored : {"model", "drop", "ignore"}
        Model censored rows, leave them out, or take their limits as values.
    fixed, start : mapping of parameter name to value, optional
        Natural scale, the user's units. Fixing all hyper-parameters evaluates the model at a point. ``{"sigma": 0}``
        fits a normal process without noise by expectation propagation: uncensored rows are values of the curve (NF1).
        ``start`` may be a
        fit of the same terms to nearly the same rows, as before some rows came or went: its maximum is climbed on
        from, and no other is searched for unless the method has ``n_starts``. By maximum likelihood ``start`` requires
        a parametric baseline of ``family="ph"``, as a mapping.
        A mixture starts at parameters, a DataFrame or dict with a value for each component such as
        ``{"mean": [-3, 3], "sd": [1, 1]}`` and ``"weight"`` if these differ, or named as in ``params``; at
        responsibilities, an array with a row for each row of the data and a column for each component; or at the
        estimates of another fit. With the default settings of the method this is its only ascent.
    priors : mapping of parameter name to prior or None, optional
        None: weak priors on standardised data, whose unit is the standard deviation that the response would have, were
        all of it seen; ``{}``: none at all; ``{"sigma": None}`` drops one, ``{"sigma": tg.LogNormal(0.4, 0.5)}`` or,
        for a linear coefficient, ``{"z": tg.Normal(0, 2)}`` sets one, ``{"cor(re(g))[Intercept, z]": tg.LKJ(1)}`` that
        of all correlations of a random effect. Positive parameters take ``tg.Gamma``, ``tg.InverseGamma``,
        ``tg.HalfNormal``, ``tg.HalfStudent``, ``tg.Exponential``, ``tg.PC``, ``tg.Uniform`` and ``tg.Beta`` too.
        For a mixture, None learns the scale of the components' prior from all of them, (MIX18) of the theory pages.
        Numbers by name, in the user's units, fix it: the prior of every component as a whole, for Gaussian ones
        ``{"mean": 0, "tau": 0.01, "a": 1, "b": 1}``, else its rate's ``a`` and ``b``, and ``"concentration"`` of
        the weights.
    missing : {"drop", "raise"}
        Leave out rows with missing values, or raise a DataError that counts them.
    weights : str or (n,) array, optional
        Frequency weights, or the column that holds them: a row of weight 2 is two rows. For sampling weights, add a
        robust ``cov_type``; for the precision of a row, use ``var_weights``.
    var_weights : str or (n,) array, optional
        Variance weights w, or the column that holds them: the noise of a row has the variance
        :math:`\sigma^2 \bar w / w`, with :math:`\bar w` the mean of the weights over the rows used, so that their
        unit does not matter and sigma is the noise of a row of average weight; as a response that is a mean of w
        values. New rows have the noise sigma, or their own where the weights are a column that new data hold, too.
    functions : mapping of str to callable, optional
        A user's own functions, which the formula may call by these names: arrays of one value a row in, one out. They
        are called again for predictions, and must treat each row by itself.
    rng : int or numpy Generator, optional
        Of a posterior: chooses the rows of the first search on large data; of a mixture: draws starts. None is
        deterministic.
    progress : bool or callable
        Show a progress line, or call ``progress(stage, evaluations, objective)``; maximum likelihood reports once, at
        its end.
    vcov : {"nonrobust", "HC0", "HC1"} or dict, optional
        By maximum likelihood: inverse information, or a sandwich around the rows' scores;
        ``{"cluster": ["firm", "year"]}`` sums these within clusters, and may hold the other entries of ``cov_kwds``.
    cov_type, cov_kwds : str, dict, optional
        ``vcov`` in the words of statsmodels: ``"nonrobust"``, ``"HC0"``, ``"HC1"`` or ``"cluster"``, and its settings.
        For ``cov_type="cluster"`` ``{"groups": column or array}``, of clusters in several directions a list of columns,
        ``{"groups": ["firm", "year"]}``, by (ECO2) of the theory pages. ``"use_correction": True`` multiplies by
        G / (G - 1) (n - 1) / (n - k) for few clusters, as statsmodels does; by default there is no factor, as in R's
        survreg. With any robust covariance ``"weights"`` says what ``weights`` are: ``"frequency"``, the default of
        whole numbers, or ``"sampling"``, that of others, which has the sandwich of weighted scores.
    engine : distributed.Client, optional
        The dask cluster to work on; for a dask DataFrame that of the session, if there is one. Without, the work is
        done here, in threads.

    Returns
    -------
    GPResults, RegressionResults or results of another kind
        The second by maximum likelihood; CureResults with ``cure=``, MixtureResults of a ``mixture()``,
        MultivariateResults of ``mvbind(...)``, VectorMixtureResults of ``mvbind(...) ~ mixture(2)``,
        LatentResults of ``mvbind(...) ~ gp(latent(2))``, UncertainInputResults of ``gp(x, se=sx)``, HazardResults of
        ``family="ph"``, ParametricHazardResults of ``tg.PH("spline")`` and its kin, BoxCoxResults and BoxCoxGPResults
        of ``family="boxcox"``, CompetingRisksResults of several causes.

    Raises
    ------
    FormulaError
        If the formula cannot be read or names unknown columns.
    DataError
        If the data cannot be used.
    SpecError
        If an option is not supported or names no parameter.
    NumericalError
        If the computation breaks down, as with numerically extreme weights.

    Warns
    -----
    BoundaryWarning
        If something is not identified by these data.
    ConvergenceWarning
        If the search or a fixed point did not converge.
    ApproximationWarning
        If the approximation gap of the inducing inputs exceeds 1 nat, or what replaces the evidence is no bound.

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
