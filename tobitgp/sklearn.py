"""A censored Gaussian process as an estimator of scikit-learn."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError as error:
    raise ImportError("Install scikit-learn 1.6 or newer for tg.sklearn: pip install 'tobitgp[sklearn]'.") from error

from tobitgp.api import fit
from tobitgp.errors import DataError, SpecError
from tobitgp.method_settings import MLE
from tobitgp.method_spelling import read_method
from tobitgp.options import saying_what_was_meant
from tobitgp.results.process.process_results import GPResults
from tobitgp.typing import Array


class CensoredGPRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Gaussian-process regression with Gaussian noise for a response that may be censored at limits.

    The estimator calls :func:`tobitgp.fit` with ``y ~ gp(x0, x1, ...) | censor(lower, upper)``; ``results_`` is that
    fit with all its methods. Rows with ``y <= lower`` are left-censored at their limit, rows with ``y >= upper``
    right-censored. Predictions are those of the uncensored response, noise included.

    Parameters
    ----------
    kernel : str
        ``"rbf"``, ``"matern12"``, ``"matern32"``, ``"matern52"``, ``"rq"`` or ``"linear"``.
    method : {"auto", "ep", "vi", "laplace"} or a value such as ``tg.EP(inducing=20, n_starts=4)``
        As in :func:`tobitgp.fit`.
    ard : bool
        Use a separate length-scale for each feature.
    random_state : int, RandomState or None
        Random numbers that choose the rows of the first search on large data.
    line : bool
        With one feature: whether the process consists of a linear effect and a smooth deviation from it, as ``gp(x)``
        does in formulas; False for the smooth effect alone. It has no effect for several features or linear kernels.

    Attributes
    ----------
    results_ : GPResults
        The fit, with the names ``y`` and ``x0, x1, ...``.
    n_features_in_ : int
        The number of features d.
    feature_names_in_ : (d,) array of str
        Names of the features, if X had names.

    Notes
    -----
    Limits are metadata in the terminology of scikit-learn: one number for all rows, or an array with one per row. For
    a search over parameters, which splits the rows, let arrays of limits be routed::

        sklearn.set_config(enable_metadata_routing=True)
        model = CensoredGPRegressor().set_fit_request(lower=True).set_score_request(lower=True)
        GridSearchCV(model, {"kernel": ["rbf", "matern52"]}).fit(X, y, lower=lower)

    References
    ----------
    .. [1] P. Groot and P. Lucas, "Gaussian process regression with censored data using expectation propagation", PGM
       2012.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_groot_lucas()
    >>> model = tg.sklearn.CensoredGPRegressor(kernel="matern52")
    >>> model.fit(data[["x"]].to_numpy(), data["y"], lower=data["lower"]).results_.formula
    "y ~ gp(x0, kernel='matern52', ard=True) | censor(lower=lower)"
    """

    @saying_what_was_meant
    def __init__(
        self,
        kernel: str = "rbf",
        method: Any = "auto",
        ard: bool = True,
        random_state: Any = None,
        line: bool = True,
    ):
        self.kernel = kernel
        self.method = method
        self.ard = ard
        self.random_state = random_state
        self.line = line

    def fit(self, X: Any, y: Any, lower: Any = None, upper: Any = None) -> CensoredGPRegressor:
        """Fit the model to n rows.

        Parameters
        ----------
        X : (n, d) array or DataFrame
            Features in any units, finite.
        y : (n,) array
            Responses in any units, finite; censored responses at their limits.
        lower, upper : float or (n,) array, optional
            Censoring limits in the units of y; ``-inf`` and ``inf`` mean no limit.

        Returns
        -------
        CensoredGPRegressor
            The estimator itself.

        Raises
        ------
        ValueError
            If X or y is not finite. DataError if a limit is NaN or its length differs from that of y; SpecError for
            ``method="mle"``; both are subclasses.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_groot_lucas()
        >>> model = tg.sklearn.CensoredGPRegressor().fit(data[["x"]], data["y"], lower=data["lower"])
        >>> int(model.results_.counts["left"])
        12
        """
        if isinstance(read_method(self.method), MLE):
            raise SpecError("method='mle': is not supported for processes. Choose 'auto', 'ep', 'vi' or 'laplace'.")
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        features, limits = _columns(X), _read_limits(lower, upper, len(y))
        censoring = f" | censor({', '.join(f'{name}={name}' for name in limits)})" if limits else ""
        line = "" if self.line else ", line=False"
        results = fit(
            f"y ~ gp({', '.join(features)}, kernel={self.kernel!r}, ard={bool(self.ard)}{line}){censoring}",
            {**features, "y": np.asarray(y), **limits},
            method=self.method,
            rng=None if self.random_state is None else _seed(self.random_state),
        )
        assert type(results) is GPResults
        self.results_ = results
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict the response without its limits.

        Parameters
        ----------
        X
            As in :meth:`fit`.
        return_std : bool
            Also return the standard deviation of a new response, noise included.
        return_cov : bool
            Also return the covariance of new responses.

        Returns
        -------
        mean : (n,) array
        sd : (n,) array, or covariance : (n, n) array
            With ``return_std`` in the units of y, with ``return_cov`` in their squares.

        Raises
        ------
        SpecError
            If both ``return_std`` and ``return_cov`` are True.
        ValueError
            If X does not fit.

        References
        ----------
        (PRE2) of the theory pages, with the variance of the noise added.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_groot_lucas()
        >>> model = tg.sklearn.CensoredGPRegressor().fit(data[["x"]], data["y"], lower=data["lower"])
        >>> mean, sd = model.predict(data[["x"]].head(2), return_std=True)
        >>> mean.round(2), sd.round(2)
        (array([3.03, 1.4 ]), array([0.45, 0.4 ]))
        """
        if return_std and return_cov:
            raise SpecError("return_std=True cannot be combined with return_cov=True. Set one of them to False.")
        rows = self._rows(X)
        if return_cov:
            mean, V = self.results_.posterior(rows)
            return mean.to_numpy(), V.to_numpy() + self._noise() ** 2 * np.eye(len(mean))
        if not return_std:
            return self.results_.predict(rows, "uncensored").to_numpy()
        table = cast(pd.DataFrame, self.results_.predict(rows, "uncensored", se=True))
        return table["estimate"].to_numpy(), np.hypot(table["se"].to_numpy(), self._noise())

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Draw new responses jointly for all rows.

        Parameters
        ----------
        X
            As in :meth:`fit`.
        n_samples : int
            Number of draws.
        random_state : int, RandomState or None
            As everywhere in scikit-learn.

        Returns
        -------
        (n, n_samples) array
            In the units of y, without the limits, noise included.

        Raises
        ------
        ValueError
            If X does not fit.

        References
        ----------
        (PRE1) of the theory pages at points drawn by (HYP6).

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_groot_lucas()
        >>> model = tg.sklearn.CensoredGPRegressor().fit(data[["x"]], data["y"], lower=data["lower"])
        >>> model.sample_y(data[["x"]].head(2), n_samples=100).mean(axis=1).round()
        array([3., 1.])
        """
        rows = self._rows(X)
        return self.results_.sample(rows, draws=n_samples, rng=_seed(random_state)).to_numpy()

    def score(self, X: Any, y: Any, lower: Any = None, upper: Any = None, sample_weight: Any = None) -> float:
        """Score of the predictions for n rows.

        Without limits the score is :math:`R^2`, as for all regressors. With limits it is the mean log predictive
        density of the rows; censored rows contribute their log probability of lying beyond the limit.

        Parameters
        ----------
        X, y, lower, upper
            As in :meth:`fit`.
        sample_weight : (n,) array, optional
            Frequency weights of the rows.

        Returns
        -------
        float
            Higher is better; with limits in nats per row.

        Raises
        ------
        ValueError
            If X, y or the limits do not fit.

        References
        ----------
        With limits: minus (MET12) of the theory pages, with the predictive distribution instead of the normal one.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_groot_lucas()
        >>> model = tg.sklearn.CensoredGPRegressor().fit(data[["x"]], data["y"], lower=data["lower"])
        >>> round(model.score(data[["x"]], data["y"], lower=data["lower"]), 2)
        -0.09
        """
        if lower is None and upper is None:
            return float(super().score(X, y, sample_weight))
        rows = self._rows(X)
        y = column_or_1d(y)
        limits = _read_limits(lower, upper, len(y))
        weight = None if sample_weight is None else column_or_1d(sample_weight, dtype=np.float64)
        return self.results_.score({**rows, "y": y, **limits}, "log_likelihood", weights=weight)

    def _rows(self, X: Any) -> dict[str, Array]:
        check_is_fitted(self)
        return _columns(validate_data(self, X, reset=False, dtype=np.float64))

    def _noise(self) -> float:
        """Standard deviation of the noise, averaged over the hyper-parameters."""
        fitted, units = self.results_.parts.fitted, self.results_.parts.gp.problem.units
        variance = fitted.weights @ np.square([point.sigma for point in fitted.points])
        return float(units.scale * np.sqrt(variance))


def _columns(X: Array) -> dict[str, Array]:
    """Features by their names in the formula."""
    return {f"x{k}": np.ascontiguousarray(column) for k, column in enumerate(X.T)}


def _seed(random_state: Any) -> int:
    """Seed of a Generator from what scikit-learn calls a random state."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def _read_limits(lower: Any, upper: Any, n: int) -> dict[str, Array]:
    """The given limits, one per row."""
    limits = {}
    for name, given in (("lower", lower), ("upper", upper)):
        if given is None:
            continue
        try:
            values = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.array(np.nan)
        if np.isnan(values).any() or values.shape not in ((), (n,)):
            raise DataError(f"{name}= must be a number, or one per row ({n}), without NaN. -inf and inf mean no limit.")
        kept = np.asarray(given)  # in single precision where it was, which is read as written
        limits[name] = np.broadcast_to(kept if kept.dtype.kind == "f" else values, (n,)).copy()
    return limits
