"""A formula with its data, ready to be fitted by any method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tobitgp.data.frames import reads_frames
from tobitgp.kinds.call import Call
from tobitgp.kinds.kind import claimed
from tobitgp.kinds.registry import KINDS
from tobitgp.likelihoods.families import BoxCox, GenGamma, Student
from tobitgp.method_settings import PosteriorMethod
from tobitgp.method_value import MethodValue
from tobitgp.options import FitOptions, read_vcov, saying_what_was_meant
from tobitgp.priors.hyperpriors import LKJ, LogNormal, Normal
from tobitgp.priors.scale_priors import ScalePrior
from tobitgp.results.comparable import is_of_counts
from tobitgp.results.hazards.cells import PH
from tobitgp.results.views import ModelData
from tobitgp.typing import Frame

if TYPE_CHECKING:
    from tobitgp.kinds.process import Evidence


class Model:
    """A formula with its data, which can be fitted by any method; :func:`tobitgp.fit` in two steps.

    The data are read once, so that the same rows can be fitted by several methods.

    Parameters
    ----------
    formula, data
        As in :func:`tobitgp.fit`; the data are never modified.
    family, weights, var_weights, missing, censored, functions
        As in :func:`tobitgp.fit`.
    sigma, cure, formulas, rescor, id, engine
        As in :func:`tobitgp.fit`.

    Attributes
    ----------
    formula : str
        As written.
    spec : ModelSpec
        The formula as it was read; prints in words.
    endog_names : str
        The response as written.
    exog_names : list of str
        Columns of the linear part.
    data : ModelData
        ``param_names``, here the linear columns, and ``frame``, the covariates of the rows used (None for partitioned
        data).
    counts : dict of int
        Numbers of exact, left-, right- and interval-censored rows, and of dropped rows.

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
    >>> model.fit(method=tg.Laplace(hyper="maximize")).evidence_kind
    'laplace'
    """

    _column_texts = ()  # in addition to its arguments

    @saying_what_was_meant
    @reads_frames
    def __init__(
        self,
        formula: str | Mapping[str | int, str],
        data: Frame,
        *,
        family: str | Student | GenGamma | BoxCox | PH | Mapping[Any, Any] | None = None,
        weights: Any = None,
        var_weights: Any = None,
        missing: Literal["drop", "raise"] = "drop",
        censored: Literal["model", "drop", "ignore"] = "model",
        functions: Mapping[str, Callable[..., Any]] | None = None,
        sigma: str | None = None,
        cure: str | Mapping[Any, str | None] | None = None,
        formulas: Mapping[str, str] | None = None,
        rescor: bool = False,
        id: str | None = None,
        engine: Any = None,
    ):
        call = Call(
            formula,
            data,
            family=family,
            sigma=sigma,
            cure=cure,
            formulas=formulas,
            rescor=rescor,
            id=id,
            weights=weights,
            var_weights=var_weights,
            missing=missing,
            censored=censored,
            functions=functions,
            engine=engine,
        )
        self._kind, call = claimed(call, KINDS)
        self._rows = self._kind.read(call)
        self.spec, self.formula, self.counts = self._rows.spec, self._rows.formula, self._rows.counts
        self.endog_names, self.exog_names = self._rows.endog_names, self._rows.exog_names
        self.data = ModelData(self.exog_names, self._rows.frame)

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *error: object) -> None:
        """Remove what was kept of partitioned data."""
        self._rows.close()

    @property
    def counting(self) -> bool:
        """Whether the family gives counts probabilities; the others have densities."""
        return is_of_counts(self._rows.family)

    @property
    def training(self) -> Any:
        """The rows used, as the subpackages pass them to each other."""
        return self._rows.training

    @property
    def has_causes(self) -> bool:
        """Whether events have competing causes."""
        return self._rows.has_causes

    @property
    def has_posterior(self) -> bool:
        """Whether the model can be fitted under priors."""
        return self._kind.has_posterior

    def __repr__(self) -> str:
        return f"Model: {self._rows.shown}\n  {self._rows.title}: {self._rows.counted}"

    @saying_what_was_meant
    def fit(
        self,
        *,
        method: str | MethodValue = "auto",
        fixed: Mapping[str, float] | None = None,
        start: Any = None,
        priors: Mapping[str, LKJ | LogNormal | Normal | ScalePrior | float | None] | None = None,
        rng: int | np.random.Generator | None = None,
        progress: bool | Callable[[str, int, float], None] = False,
        vcov: str | Mapping[str, Any] | None = None,
        cov_type: str = "nonrobust",
        cov_kwds: Mapping[str, Any] | None = None,
    ) -> Any:
        """Fit the model.

        Parameters
        ----------
        method, fixed, start, priors, rng, progress, vcov, cov_type, cov_kwds
            As in :func:`tobitgp.fit`.

        Returns
        -------
        GPResults, RegressionResults or results of another kind
            As :func:`tobitgp.fit` gives them, in the units of the response.

        Raises
        ------
        SpecError
            If an option is not supported or names no parameter, or the ``with`` statement of the model has ended, which
            removes the temporary files of partitioned data.
        NumericalError
            If the computation breaks down, for example with numerically extreme weights.

        Examples
        --------
        >>> import tobitgp as tg
        >>> model = tg.Model("y ~ gp(x) | censor(lower)", tg.datasets.simulate_groot_lucas())
        >>> methods = {"ep": tg.EP, "vi": tg.VI, "laplace": tg.Laplace}
        >>> {m: round(model.fit(method=methods[m](hyper="maximize")).log_evidence, 2) for m in methods}
        {'ep': -35.48, 'vi': -35.49, 'laplace': -35.45}
        """
        asked = FitOptions(method, fixed, start, priors, rng, progress, *read_vcov(vcov, cov_type, cov_kwds))
        self._rows.check_open()
        return self._kind.fit(self._rows, asked)

    @saying_what_was_meant
    def evidence(
        self,
        params: Mapping[str, float],
        *,
        method: str | PosteriorMethod = "auto",
        priors: Mapping[str, LKJ | LogNormal | Normal | ScalePrior | float | None] | None = None,
        gradient: bool = True,
        rng: int | np.random.Generator | None = None,
    ) -> Evidence:
        """Log evidence at given hyper-parameters, for your own optimiser or sampler.

        The value equals ``log_evidence`` of a fit with ``fixed=params``. Linear coefficients that are not given are
        integrated over their priors; priors of hyper-parameters are not included. Inducing inputs, and the order and
        neighbours of Vecchia's prior, are chosen for ``params``, and the gradient treats them as fixed.

        Parameters
        ----------
        params : dict of parameter name to value
            All hyper-parameters on the natural scale, in the user's units; also linear coefficients if they are known.
        method : {"auto", "ep", "vi", "laplace"} or a value such as ``tg.VI(bound="local")``
            ``"auto"`` means ``"ep"``.
        priors : dict of parameter name to prior, optional
            Priors of linear coefficients.
        gradient : bool
            Compute the derivatives, which costs about one more pass over the rows.
        rng : int or numpy Generator, optional
            As in :func:`tobitgp.fit`.

        Returns
        -------
        Evidence
            ``value, kind, gradient``: the gradient is a Series of derivatives by hyper-parameter on the natural scale,
            at fixed inducing inputs. ``inducing="auto"`` chooses these anew for every ``params``, so values may differ
            by some hundredths of a nat between two sets of them.

        Raises
        ------
        SpecError
            If a hyper-parameter is missing or unknown, for a mixture, and for ``method="mle"``.
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
        self._rows.check_open()
        options = {"priors": priors, "gradient": gradient, "rng": rng}
        return self._kind.evidence(self._rows, params, method=method, **options)
