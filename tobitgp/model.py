"""A formula that has met its data, ready to be fitted by any method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from tobitgp.data.censored_response import warn_unmet_limits
from tobitgp.data.frames import reads_frames
from tobitgp.data.outcome import warn_outlier
from tobitgp.data.prepare import PartitionedData, TrainingData, prepare, prepare_partitions
from tobitgp.data.row_warnings import warn_fractions, warn_split_subjects
from tobitgp.data.sources import open_source
from tobitgp.data.table import column_names
from tobitgp.engines import Store
from tobitgp.errors import SpecError
from tobitgp.formula import parse_formula
from tobitgp.formula.parse import parse_scale_formula
from tobitgp.formula.spec import CureSpec
from tobitgp.inference import Method
from tobitgp.inference.fitted import Settings, Step
from tobitgp.inference.hyperparameters import Given, read_mapping
from tobitgp.kinds.cure import fit_cure
from tobitgp.kinds.mixture_fit import choose_mixture_method, fit_components, refuse_with_mixture
from tobitgp.kinds.process import Evidence, estimated_values, evidence_at, fit_process, read_start
from tobitgp.kinds.regression_fit import fit_partitions, fit_regression
from tobitgp.likelihoods import Family
from tobitgp.likelihoods.families import GenGamma, Student
from tobitgp.mixture.methods import Method as MixtureMethod
from tobitgp.numerics.linear_algebra import breakdown_in_words
from tobitgp.options import (
    MAX_ITER,
    MLE,
    FitOptions,
    choose_family,
    means_mle,
    method_for,
    read_rng,
    read_robust,
    refuse_var_weights,
    refuse_with_cure,
    refuse_with_mle,
    refuse_without_mle,
    saying_what_was_meant,
)
from tobitgp.priors.hyperpriors import LKJ, LogNormal, Normal
from tobitgp.report.progress import progress_bar
from tobitgp.results.comparable import is_of_counts
from tobitgp.results.likelihood.cure_results import CureResults
from tobitgp.results.likelihood.kinds import results_of
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.mixture.mixture_results import MixtureResults
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.views import COUNTS, ModelData, keep_covariates, plain_text
from tobitgp.typing import Frame

Hyper = Literal["auto", "integrate", "maximize"]
_NO_POSTERIOR = "and method=, priors=, hyper=, inducing= and start= of a posterior do not go with it."


class Model:
    """A formula that has met its data; :func:`tobitgp.fit` in two steps.

    The data are read once, so that the same rows can be fitted by several methods.

    Parameters
    ----------
    formula, data
        As in :func:`tobitgp.fit`; the data are never modified.
    family, weights, var_weights, missing, censored, functions, sigma, cure, engine
        As in :func:`tobitgp.fit`.

    Attributes
    ----------
    formula : str
        As written.
    spec : ModelSpec
        Prints in words what was understood.
    endog_names : str
        The response as written.
    exog_names : list of str
        Columns of the linear part.
    data : ModelData
        ``param_names``, here the linear columns, and ``frame``, the covariates of the rows used; None of partitioned
        data.
    counts : dict of int
        Rows that are exact, left-, right- and interval-censored, and dropped.

    Raises
    ------
    FormulaError, DataError, SpecError
        As :func:`tobitgp.fit`.

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

    _column_texts = ()  # beside what it is given

    @saying_what_was_meant
    @reads_frames
    def __init__(
        self,
        formula: str,
        data: Frame,
        *,
        family: str | Student | GenGamma | None = None,
        weights: Any = None,
        var_weights: Any = None,
        missing: Literal["drop", "raise"] = "drop",
        censored: Literal["model", "drop", "ignore"] = "model",
        functions: Mapping[str, Callable[..., Any]] | None = None,
        sigma: str | None = None,
        cure: str | None = None,
        engine: Any = None,
    ):
        source = open_source(data, engine)
        present = column_names(data) if source is None else list(source.columns)
        # "." means the columns of the model, and weights are none of them.
        beside = [name for name in (weights, var_weights) if isinstance(name, str)]
        columns = [c for c in present if c not in beside]
        spec = parse_formula(formula, columns, functions)
        self._family = choose_family(family, spec)
        if spec.mixture is not None:
            refuse_with_mixture({"sigma": sigma, "var_weights": var_weights})
        scale = None if sigma is None else parse_scale_formula(sigma, columns, functions, beside=spec)
        if cure is not None:
            scale = parse_scale_formula(cure, columns, functions, beside=spec, kind=CureSpec)
            beside_cure = {"sigma=": sigma, "var_weights=": var_weights, "partitioned data": source}
            beside_cure["censored="] = None if censored == "model" else censored
            refuse_with_cure(beside_cure, self._family, replace(spec, scale=scale))
        spec = replace(spec, scale=scale)
        options: dict[str, Any] = {"scale": scale, "weights": weights, "missing": missing, "censored": censored}
        options["log_time"] = isinstance(self._family, Family) and self._family.log_time
        if var_weights is not None:
            refuse_var_weights(self._family)
            options["var_weights"] = var_weights
        self._read: TrainingData | PartitionedData
        if source is None:
            self._read = prepare(spec, data, **options)
            frame = keep_covariates(self._read, data)
            if self._family.name not in ("weibull", "exponential"):
                warn_split_subjects(spec, self._read, data, frame)
            limits: Any = (self._read.response.limit_lower, self._read.response.limit_upper)
        else:
            self._read = prepare_partitions(spec, source, store=Store() if source.here else None, **options)
            frame, limits = None, self._read.found.mean_limits
        if self._read.state.spec.limit is None:
            warn_unmet_limits(self._read.counts, limits)
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
        """Remove what was kept of partitioned data."""
        if isinstance(self._read, PartitionedData) and self._read.store is not None:
            self._read.store.close()

    @property
    def counting(self) -> bool:
        """Whether the family gives counts probabilities; the others have densities."""
        return is_of_counts(self._family)

    @property
    def training(self) -> TrainingData:
        """The rows used, as the subpackages pass them to each other."""
        if isinstance(self._read, PartitionedData):
            raise SpecError("The data are partitioned, and their rows are not kept together.")
        return self._read

    def __repr__(self) -> str:
        censored = ", ".join(f"{self.counts[kind]} {kind}-censored" for kind in COUNTS[1:4] if self.counts[kind])
        rows = f"{self.counts['exact']} rows exact, {censored or 'none censored'}, {self.counts['dropped']} dropped"
        return f"Model: {self.spec.written}\n  {self._family.name}: {rows}"

    @saying_what_was_meant
    def fit(
        self,
        *,
        method: str | Method | MixtureMethod = "auto",
        bound: str | None = None,
        inducing: Any = "auto",
        hyper: Hyper = "auto",
        fixed: Mapping[str, float] | None = None,
        start: Mapping[str, float] | GPResults | None = None,
        priors: Mapping[str, LKJ | LogNormal | Normal | float | None] | None = None,
        n_starts: int | None = None,
        max_iter: int | None = None,
        tol: float | None = None,
        rng: int | np.random.Generator | None = None,
        progress: bool | Callable[[str, int, float], None] = False,
        cov_type: str = "nonrobust",
        cov_kwds: Mapping[str, Any] | None = None,
    ) -> GPResults | RegressionResults | CureResults | MixtureResults:
        """Fit the model.

        Parameters
        ----------
        method, bound, inducing, hyper, fixed, start, priors, n_starts, max_iter, tol, rng, progress, cov_type, cov_kwds
            As in :func:`tobitgp.fit`.

        Returns
        -------
        GPResults, RegressionResults, CureResults or MixtureResults

        Raises
        ------
        SpecError
            If an option is not supported or names no parameter, or the ``with`` statement that the model belongs to has
            ended, which removes what was kept of partitioned data.
        NumericalError
            If the computation breaks down, as with numerically extreme weights.

        Examples
        --------
        >>> import tobitgp as tg
        >>> model = tg.Model("y ~ gp(x) | censor(lower)", tg.datasets.simulate_groot_lucas())
        >>> {m: round(model.fit(method=m, hyper="maximize").log_evidence, 2) for m in ("ep", "vi", "laplace")}
        {'ep': -35.48, 'vi': -35.49, 'laplace': -35.45}
        """
        asked = FitOptions(
            method,
            bound,
            inducing,
            hyper,
            fixed,
            start,
            priors,
            n_starts,
            max_iter,
            tol,
            rng,
            progress,
            cov_type,
            cov_kwds,
        )
        self._refuse_closed()
        if isinstance(self._read, TrainingData) and cov_type == "nonrobust":
            warn_fractions(self._read.response.weight)
        if self.spec.mixture is not None:
            return self._fit_mixture(asked)
        if isinstance(self._read, TrainingData):
            assert isinstance(self._family, Family)
            warn_outlier(self._read.response, log_time=self._family.log_time, labels=self._read.labels)
        if means_mle(asked, self.spec):
            return self._fit_mle(asked)
        if self._cured:
            raise SpecError(f"cure= goes with maximum likelihood, {_NO_POSTERIOR}")
        return self._fit_process(asked)

    def evidence(
        self,
        params: Mapping[str, float],
        *,
        method: str | Method = "auto",
        bound: str | None = None,
        inducing: Any = "auto",
        priors: Mapping[str, LKJ | LogNormal | Normal | float | None] | None = None,
        gradient: bool = True,
        rng: int | np.random.Generator | None = None,
    ) -> Evidence:
        """Log evidence at given hyper-parameters, for optimisers and samplers of one's own.

        It is ``log_evidence`` of a fit with ``fixed=params``: linear coefficients that are not given are integrated
        over their priors, and priors of hyper-parameters are no part of it. Inducing inputs, and the order and
        neighbours of Vecchia's prior, are those of ``params``, and the gradient holds where they stay.

        Parameters
        ----------
        params : dict of parameter name to value
            All hyper-parameters, natural scale, the user's units; linear coefficients if they are known.
        method : {"auto", "ep", "vi", "laplace"} or a method value
            ``"auto"`` is ``"ep"``.
        bound, inducing
            As in :func:`tobitgp.fit`.
        priors : dict of parameter name to prior, optional
            Of linear coefficients.
        gradient : bool
            Form the derivatives, at the cost of about another pass over the rows.
        rng : int or numpy Generator, optional
            As in :func:`tobitgp.fit`.

        Returns
        -------
        Evidence
            ``value, kind, gradient``: the derivatives as a Series by hyper-parameter, natural scale. They hold inducing
            inputs where they are, which ``inducing="auto"`` chooses anew at every ``params``: its values may differ by
            some hundredths of a nat between two sets of them.

        Raises
        ------
        SpecError
            If a hyper-parameter is lacking or unknown, for a mixture, and for ``method="mle"``.
        NumericalError
            If the computation breaks down.

        References
        ----------
        (SIT6) of the theory pages in the units of (SIT8), its derivatives by (SIT9), of Laplace's method by (LA6).

        Examples
        --------
        >>> import tobitgp as tg
        >>> model = tg.Model("y ~ gp(x, line=False) | censor(lower)", tg.datasets.simulate_groot_lucas())
        >>> value, kind, gradient = model.evidence({"sd(gp(x))": 8.0, "lengthscale(gp(x))": 0.15, "sigma": 0.3})
        >>> round(value, 2), kind
        (-35.13, 'ep')
        >>> gradient.round(1)
        sd(gp(x))             -0.1
        lengthscale(gp(x))    32.0
        sigma                -10.6
        dtype: float64
        """
        self._refuse_closed()
        if self.spec.mixture is not None:
            raise SpecError("evidence() is that of Gaussian processes and regressions with priors, not of a mixture.")
        if self._cured:
            raise SpecError(f"cure= goes with maximum likelihood, which has no evidence: {_NO_POSTERIOR}")
        if method == MLE:
            raise SpecError("method='mle' has no evidence; llf of a fit with fixed= is its log likelihood.")
        assert isinstance(self._family, Family)
        inference = method_for(method, bound, self._family)
        return evidence_at(
            self.spec,
            self._read,
            self._family,
            method=inference,
            given=Given.read(inducing, read_mapping("params", params), None, priors, inference.side_noises),
            settings=Settings(rng=read_rng(rng)),
            gradient=gradient,
        )

    def _covariates(self) -> pd.DataFrame | None:
        """The covariates of the rows used, for the results to keep."""
        return None if self.data.frame is None else self.data.frame.copy(deep=False)

    @property
    def _cured(self) -> bool:
        """Whether some rows are cured."""
        return isinstance(self.spec.scale, CureSpec)

    @property
    def _fitter(self) -> Callable[..., Any]:
        """What maximises the likelihood of rows in memory."""
        return fit_cure if self._cured else fit_regression

    def _refuse_closed(self) -> None:
        if isinstance(self._read, PartitionedData) and self._read.store is not None and self._read.store.closed:
            raise SpecError(
                "What this model kept of its partitioned data was removed at the end of its with statement; fit within "
                "that, or make another tg.Model."
            )

    def _fit_process(self, asked: FitOptions) -> GPResults:
        refuse_without_mle(asked.cov_type, asked.cov_kwds)
        assert isinstance(self._family, Family)
        method = method_for(asked.method, asked.bound, self._family)
        near = read_start(asked.start)
        if near is not None:
            asked = replace(asked, start=estimated_values(near, asked.fixed or {}))
            near = near if asked.n_starts is None else None
        how: dict[str, Any] = {"method": method, "given": asked.given(method), "settings": asked.settings()}
        with progress_bar(asked.progress) as on_step:
            parts = fit_process(
                self.spec, self._read, self._family, self._covariates(), self._columns, near, on_step=on_step, **how
            )
        return GPResults.from_parts(parts)

    def _fit_mle(self, asked: FitOptions) -> RegressionResults | CureResults:
        refuse_with_mle(asked)
        assert isinstance(self._family, Family)
        read, options = self._read, asked.named(("fixed", "cov_type")) | {"max_iter": asked.max_iter or MAX_ITER}
        if isinstance(read, TrainingData):
            options |= read_robust(asked.cov_type, asked.cov_kwds, self._source, read)
        with breakdown_in_words(), progress_bar(asked.progress) as on_step:
            if isinstance(read, TrainingData):
                covariates, rows = self._covariates(), read.found.n
                assert covariates is not None
                parts: Any = self._fitter(self.spec, read, self._family, covariates, self._columns, **options)
            else:
                parts, rows = fit_partitions(self.spec, read, self._family, self._columns, **options), read.found.n
            if on_step is not None:
                on_step(Step("newton", parts.maximum.iterations, parts.llf, rows=rows))
        found: RegressionResults | CureResults = results_of(parts)
        return found

    def _fit_mixture(self, asked: FitOptions) -> MixtureResults:
        refuse_with_mixture(asked.named(("bound", "inducing", "hyper", "start", "fixed", "cov_type", "cov_kwds")))
        method = choose_mixture_method(asked.method, n_starts=asked.n_starts, max_iter=asked.max_iter, tol=asked.tol)
        assert not isinstance(self._family, Family)
        shown = "{stage}: {passes} passes over {rows:,} rows, objective {value:.3f}"
        with breakdown_in_words(), progress_bar(asked.progress, shown) as on_step:
            parts = fit_components(
                self.spec,
                self._read,
                self._family,
                self._covariates(),
                self._columns,
                method=method,
                priors=asked.priors,
                rng=asked.rng,
                on_step=on_step,
            )
        return MixtureResults(parts)
