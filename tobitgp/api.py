"""The front door: a formula and a data frame become a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from tobitgp.data.open import open_source
from tobitgp.data.pieces import PiecesData, prepare_pieces
from tobitgp.data.prepare import TrainingData, prepare
from tobitgp.data.table import column_names
from tobitgp.engines import Store
from tobitgp.errors import SpecError
from tobitgp.formula import parse_formula
from tobitgp.formula.scale import parse_scale_formula
from tobitgp.inference import Method
from tobitgp.inference.fitted import Settings, Step
from tobitgp.inference.given import Given
from tobitgp.likelihoods import Family
from tobitgp.likelihoods.families import Student
from tobitgp.mixture.methods import Method as MixtureMethod
from tobitgp.options import (
    choose_family,
    choose_method,
    means_mle,
    read_groups,
    read_hyper,
    read_positive,
    read_rng,
    read_whole,
    refuse_noise,
    refuse_with_mle,
    refuse_without_mle,
)
from tobitgp.prior.distributions import LogNormal, Normal
from tobitgp.report.progress import progress_bar
from tobitgp.results.gp import GPResults
from tobitgp.results.gp_fit import fit_process
from tobitgp.results.mixture import MixtureResults
from tobitgp.results.mixture_fit import fit_components
from tobitgp.results.mixture_options import choose_mixture_method, refuse_with_mixture
from tobitgp.results.tobit import TobitResults
from tobitgp.results.tobit_fit import fit_tobit
from tobitgp.results.views import COUNTS, ModelData, keep_covariates, plain_text
from tobitgp.typing import Frame

Hyper = Literal["auto", "integrate", "maximize"]
MAX_ITER = 200


def fit(
    formula: str,
    data: Frame,
    *,
    family: str | Student = "gaussian",
    method: str | Method | MixtureMethod = "auto",
    bound: str | None = None,
    inducing: Any = "auto",
    hyper: Hyper = "auto",
    sigma: str | None = None,
    censored: Literal["model", "drop", "ignore"] = "model",
    fixed: Mapping[str, float] | None = None,
    start: Mapping[str, float] | None = None,
    priors: Mapping[str, LogNormal | Normal | float | None] | None = None,
    missing: Literal["drop", "raise"] = "drop",
    weights: Any = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    n_starts: int | None = None,
    max_iter: int | None = None,
    tol: float | None = None,
    rng: int | np.random.Generator | None = None,
    progress: bool | Callable[[str, int, float], None] = False,
    cov_type: str = "nonrobust",
    cov_kwds: Mapping[str, Any] | None = None,
    engine: Any = None,
) -> GPResults | TobitResults | MixtureResults:
    """Fit a regression, or a mixture, to data that were clipped, cut off or only bracketed.

    Parameters
    ----------
    formula : str
        ``response ~ terms | censor(...)``, with ``interval(lo, hi)``, ``Surv(...)`` or a column of text such as
        ``<0.5`` for the response where these say what is censored; see :func:`tobitgp.formula_functions` for what may
        stand in it.
    data : DataFrame, dict of columns, dask DataFrame, or path of Parquet files
        Never modified. A path is that of a file or a folder, or a pattern such as ``"folder/*.parquet"``. Files and
        dask DataFrames are never in memory as a whole: a first pass learns levels and scales, later ones send sums;
        the results hold no rows, as fits loaded from files do not.
    family : str or ``tg.Student(df=4)``
        Noise: ``"gaussian"``, ``"student"`` (df estimated), ``"logistic"``, ``"gumbel"`` (of the least of many), and
        for a positive response whose logarithm is modelled ``"lognormal"``, ``"loglogistic"``, ``"weibull"`` and
        ``"exponential"``. Components of a ``mixture()``: ``"gaussian"``, ``"lognormal"``, ``"exponential"``,
        ``"weibull"`` (whose shapes are point estimates) and, of counts, ``"poisson"``.
    method : {"auto", "ep", "vi", "laplace", "mle", "vbcm", "svbcm", "em"} or a value such as ``tg.EP(damping=0.8)``
        A ``mixture()`` is fitted by variational Bayes (``"vbcm"``, which ``"auto"`` means), by stochastic steps that
        end with passes of it (``"svbcm"``), or by maximum likelihood (``"em"``); `tobitgp.VBCM`, `tobitgp.SVBCM` and
        `tobitgp.EMCM` are their values. With ``censored="drop"`` they are the plain methods that papers compare with.
        Other formulas:
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
        Of a mixture numbers by name, in the user's units: the prior of every component as a whole, for Gaussian ones
        ``{"mean": 0, "tau": 0.01, "a": 1, "b": 1}``, else its rate's ``a`` and ``b``, and ``"concentration"`` of
        the weights.
    missing : {"drop", "raise"}
    weights : str or (n,) array, optional
        Frequency weights.
    functions : mapping of str to callable, optional
        A user's own functions, which the formula may call by these names: arrays of one value a row in, one out. They
        are called again for predictions, and must treat each row by itself.
    n_starts : int, optional
        Of a posterior: starts of the search, taken from a screened grid; 2 by default. Of a mixture: starts, of which
        the highest end is kept; 10 by default.
    max_iter : int, optional
        Iterations of each optimiser run, and the most Newton steps at its end (never more than 10); by maximum
        likelihood the most Newton steps. 200 by default; passes of an ascent of a mixture, 2000 by default.
    tol : float, optional
        Of a posterior: nats a further Newton step may gain when the search stops; by default 1e-6, and 1e-3 on more
        than 20,000 rows. Of a mixture: gain a row below which a pass counts as standing still; 1e-8 by default.
    rng : int or numpy Generator, optional
        Of a posterior: chooses the rows of the first search on large data; of a mixture: draws starts. None is
        deterministic.
    progress : bool or callable
        Show a progress line (stage, evaluations, passes over how many rows, log density, time; on many rows also the
        time left), or call ``progress(stage, evaluations, objective)``; maximum likelihood reports once, at its end.
    cov_type : {"nonrobust", "HC0", "HC1", "cluster"}
        By maximum likelihood: inverse information, or a sandwich around the rows' scores.
    cov_kwds : dict, optional
        ``{"groups": column or array}`` for ``cov_type="cluster"``.
    engine : distributed.Client, optional
        The dask cluster to work on, for any kind of data; for a dask DataFrame that of the session, if there is one.
        Without, the work is done here, in threads.

    Returns
    -------
    GPResults, TobitResults or MixtureResults
        The second by maximum likelihood, the third of a ``mixture()``.

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
    [0.06, 0.94, 148.69, 431.2, 0.91, 1.39]
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
        engine=engine,
    )
    with model:
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
    data : DataFrame, dict of columns, dask DataFrame, or path of Parquet files
        Never modified.
    family, weights, missing, censored, functions, sigma, engine
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
        ``param_names``, here the linear columns, and ``frame``, the covariates of the rows used; None of data in
        pieces.
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
        engine: Any = None,
    ):
        source = open_source(data, engine)
        present = column_names(data) if source is None else list(source.columns)
        # "." stands for the columns of the model, and weights are none of them.
        columns = [c for c in present if not isinstance(weights, str) or c != weights]
        spec = parse_formula(formula, columns, functions)
        self._family = choose_family(family, spec)
        if spec.mixture is not None:
            refuse_with_mixture({"sigma": sigma})
            if source is not None:
                raise SpecError(
                    "A mixture needs all rows in memory for now, and these data come in pieces: give a DataFrame, or "
                    "the pieces one after the other to tg.MixtureStream."
                )
        scale = None if sigma is None else parse_scale_formula(sigma, columns, functions, beside=spec)
        options: dict[str, Any] = {"scale": scale, "weights": weights, "missing": missing, "censored": censored}
        self._read: TrainingData | PiecesData
        if source is None:
            self._read = prepare(spec, data, **options)
            frame = keep_covariates(self._read.state.spec, self._read, data)
        else:
            self._read, frame = prepare_pieces(spec, source, store=Store() if source.here else None, **options), None
        self._source, self._columns = data, present
        self.spec = self._read.state.spec
        self.formula = self.spec.formula
        self.endog_names = plain_text(self.spec.response.label)
        self.exog_names = list(self._read.state.linear.columns)
        self.data = ModelData(self.exog_names, frame)
        self.counts = dict(self._read.counts)

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *error: object) -> None:
        """Remove what was kept of data in pieces."""
        if isinstance(self._read, PiecesData) and self._read.store is not None:
            self._read.store.close()

    @property
    def training(self) -> TrainingData:
        """The rows used, as the rooms below hand them on.

        Raises
        ------
        SpecError
            If the data came in pieces.
        """
        if isinstance(self._read, PiecesData):
            raise SpecError("The data came in pieces, and their rows are not kept together.")
        return self._read

    def __repr__(self) -> str:
        censored = ", ".join(f"{self.counts[kind]} {kind}-censored" for kind in COUNTS[1:4] if self.counts[kind])
        rows = f"{self.counts['exact']} rows exact, {censored or 'none censored'}, {self.counts['dropped']} dropped"
        return f"Model: {self.formula.strip()}\n  {self._family.name}: {rows}"

    def fit(
        self,
        *,
        method: str | Method | MixtureMethod = "auto",
        bound: str | None = None,
        inducing: Any = "auto",
        hyper: Hyper = "auto",
        fixed: Mapping[str, float] | None = None,
        start: Mapping[str, float] | None = None,
        priors: Mapping[str, LogNormal | Normal | float | None] | None = None,
        n_starts: int | None = None,
        max_iter: int | None = None,
        tol: float | None = None,
        rng: int | np.random.Generator | None = None,
        progress: bool | Callable[[str, int, float], None] = False,
        cov_type: str = "nonrobust",
        cov_kwds: Mapping[str, Any] | None = None,
    ) -> GPResults | TobitResults | MixtureResults:
        """Fit the model.

        Parameters
        ----------
        method, bound, inducing, hyper, fixed, start, priors, n_starts, max_iter, tol, rng, progress, cov_type, cov_kwds
            As in :func:`tobitgp.fit`.

        Returns
        -------
        GPResults, TobitResults or MixtureResults

        Raises
        ------
        SpecError
            If an option is not offered or names no parameter, or the ``with`` statement that the model belongs to has
            ended, and data in pieces with it.
        """
        if isinstance(self._read, PiecesData) and self._read.store is not None and self._read.store.closed:
            raise SpecError(
                "What this model kept of its data in pieces went with its with statement; fit within that, or make "
                "another tg.Model."
            )
        asked = {"bound": bound, "inducing": inducing, "hyper": hyper, "start": start, "priors": priors}
        asked |= {"n_starts": n_starts, "tol": tol}
        seed = read_rng(rng)
        n_starts = None if n_starts is None else read_whole("n_starts", n_starts)
        max_iter = None if max_iter is None else read_whole("max_iter", max_iter)
        tol = None if tol is None else read_positive("tol", tol)
        if self.spec.mixture is not None:
            beside = {name: asked[name] for name in ("bound", "inducing", "hyper", "start")}
            refuse_with_mixture({**beside, "fixed": fixed, "cov_type": cov_type, "cov_kwds": cov_kwds})
            chosen = choose_mixture_method(method, n_starts=n_starts, max_iter=max_iter, tol=tol)
            return self._fit_mixture(chosen, priors, seed, progress)
        if means_mle(method, self.spec, asked):
            refuse_with_mle(method, asked)
            return self._fit_mle(fixed, cov_type, cov_kwds, max_iter or MAX_ITER, progress)
        refuse_without_mle(cov_type, cov_kwds, scale=self._read.state.scale is not None)
        inference = choose_method(method, bound)
        assert isinstance(self._family, Family)
        refuse_noise(inference, self._family)
        settings = Settings(
            integrate=read_hyper(hyper), n_starts=n_starts or 2, max_iter=max_iter or MAX_ITER, tol=tol, rng=seed
        )
        given = Given.read(inducing, fixed, start, priors, inference.side_noises)
        with progress_bar(progress) as on_step:
            return fit_process(
                self.spec,
                self._read,
                self._family,
                self._source,
                self._columns,
                method=inference,
                given=given,
                settings=settings,
                on_step=on_step,
            )

    def _fit_mle(
        self,
        fixed: Mapping[str, float] | None,
        cov_type: str,
        cov_kwds: Mapping[str, Any] | None,
        max_iter: int,
        progress: bool | Callable[[str, int, float], None],
    ) -> TobitResults:
        if isinstance(self._read, PiecesData):
            raise SpecError(
                "Maximum likelihood needs all rows in memory for now, and these data come in pieces: give a DataFrame, "
                "or ask for a posterior by method='ep'."
            )
        assert isinstance(self._family, Family)
        groups = read_groups(cov_type, cov_kwds, self._source, self._read.kept)
        with progress_bar(progress) as on_step:
            results = fit_tobit(
                self.spec,
                self._read,
                self._family,
                self._source,
                fixed=fixed,
                cov_type=cov_type,
                groups=groups,
                max_iter=max_iter,
            )
            if on_step is not None:
                on_step(Step("newton", results.parts.maximum.iterations, results.llf, rows=len(self._read.labels)))
        return results

    def _fit_mixture(
        self,
        method: MixtureMethod,
        priors: Any,
        seed: int | np.random.Generator | None,
        progress: bool | Callable[[str, int, float], None],
    ) -> MixtureResults:
        assert not isinstance(self._family, Family)
        with progress_bar(progress, "{stage}: {passes} passes over {rows:,} rows, objective {value:.3f}") as on_step:
            return fit_components(
                self.spec,
                self.training,
                self._family,
                self._source,
                method=method,
                priors=priors,
                rng=seed,
                on_step=on_step,
            )
