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
    raise ImportError("tg.sklearn needs scikit-learn 1.6 or newer: pip install 'tobitgp[sklearn]'") from error

from tobitgp.api import fit
from tobitgp.errors import DataError, SpecError
from tobitgp.options import MLE
from tobitgp.results.process.results import GPResults
from tobitgp.typing import Array

_LIMITS = ("lower", "upper")


class CensoredGPRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Gaussian-process regression whose response may be censored at limits, with Gaussian noise.

    What :func:`tobitgp.fit` makes of ``y ~ gp(x0, x1, ...) | censor(lower, upper)``; ``results_`` holds that fit with
    all its questions. Rows with ``y <= lower`` are left-censored at their limit, rows with ``y >= upper``
    right-censored. Predictions are those of the response without its limits, noise included.

    Parameters
    ----------
    kernel : str
        ``"rbf"``, ``"matern12"``, ``"matern32"``, ``"matern52"``, ``"rq"`` or ``"linear"``.
    method : {"auto", "ep", "vi", "laplace"} or a value such as ``tg.EP(damping=0.8)``
        As in :func:`tobitgp.fit`.
    ard : bool
        A length-scale for each feature.
    inducing : {"auto", None}, int or (M, d) array
        As in :func:`tobitgp.fit`.
    n_starts : int
        Starts of the search for hyper-parameters.
    random_state : int, RandomState or None
        Chooses rows of the first search on large data.

    Attributes
    ----------
    results_ : GPResults
        The fit, in the names ``y`` and ``x0, x1, ...``.
    n_features_in_ : int
        d.
    feature_names_in_ : (d,) array of str
        Where X had names.

    Notes
    -----
    Limits are metadata in scikit-learn's words: one number for all rows, or an array of one for each. For a search
    over parameters, which splits rows, let arrays of them be routed::

        sklearn.set_config(enable_metadata_routing=True)
        model = CensoredGPRegressor().set_fit_request(lower=True).set_score_request(lower=True)
        GridSearchCV(model, {"kernel": ["rbf", "matern52"]}).fit(X, y, lower=lower)

    References
    ----------
    .. [1] P. Groot and P. Lucas, "Gaussian process regression with censored data using expectation propagation", PGM
       2012.

    Examples
    --------
    >>> import numpy as np
    >>> import tobitgp as tg
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(60)
    >>> model = tg.sklearn.CensoredGPRegressor().fit(X, np.maximum(y, -0.2), lower=-0.2)
    >>> mean, sd = model.predict([[1.5], [4.5]], return_std=True)
    >>> bool(abs(mean[0] - 1.0) < 0.1), bool(mean[1] < -0.4)
    (True, True)
    """

    def __init__(
        self,
        kernel: str = "rbf",
        method: Any = "auto",
        ard: bool = True,
        inducing: Any = "auto",
        n_starts: int = 2,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.method = method
        self.ard = ard
        self.inducing = inducing
        self.n_starts = n_starts
        self.random_state = random_state

    def fit(self, X: Any, y: Any, lower: Any = None, upper: Any = None) -> CensoredGPRegressor:
        """Fit to n rows.

        Parameters
        ----------
        X : (n, d) array or DataFrame
            Features in their own units, finite.
        y : (n,) array
            Responses in their own units, finite; censored ones at their limits.
        lower, upper : float or (n,) array, optional
            Censoring limits, in the units of y; ``-inf`` and ``inf`` are none.

        Returns
        -------
        CensoredGPRegressor
            Itself.

        Raises
        ------
        ValueError
            If X or y is not finite; of its kind DataError if a limit is NaN or of another length than y, SpecError for
            ``method="mle"``.

        Examples
        --------
        >>> import numpy as np
        >>> import tobitgp as tg
        >>> X = np.linspace(0.0, 6.0, 60)[:, None]
        >>> y = np.maximum(np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(60), -0.2)
        >>> model = tg.sklearn.CensoredGPRegressor().fit(X, y, lower=-0.2)
        >>> int(model.results_.counts["left"])
        26
        """
        if self.method == MLE:
            raise SpecError("method='mle' has no process; choose 'auto', 'ep', 'vi' or 'laplace'.")
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        limits = _read_limits(lower, upper, len(y))
        results = fit(
            _formula(X.shape[1], self.kernel, self.ard, limits),
            {**_columns(X), "y": np.asarray(y, dtype=np.float64), **limits},
            method=self.method,
            inducing=self.inducing,
            n_starts=self.n_starts,
            rng=int(check_random_state(self.random_state).randint(2**31 - 1))
            if self.random_state is not None
            else None,
        )
        assert isinstance(results, GPResults)
        self.results_ = results
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict the response without its limits.

        Parameters
        ----------
        X : (n, d) array or DataFrame
            Features in their own units, finite.
        return_std : bool
            Give the standard deviation of a new response too, noise included.
        return_cov : bool
            Give the covariance of new responses too.

        Returns
        -------
        mean : (n,) array
        sd : (n,) array, or covariance : (n, n) array
            In the units of y, and in their squares; with ``return_std`` or ``return_cov``.

        Raises
        ------
        SpecError
            With both.
        ValueError
            If X does not fit.

        References
        ----------
        (PRE2) of the theory pages, with the variance of the noise added.

        Examples
        --------
        >>> import numpy as np
        >>> import tobitgp as tg
        >>> X = np.linspace(0.0, 6.0, 60)[:, None]
        >>> y = np.maximum(np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(60), -0.2)
        >>> model = tg.sklearn.CensoredGPRegressor().fit(X, y, lower=-0.2)
        >>> mean, sd = model.predict([[1.5], [4.5]], return_std=True)
        >>> mean.round(2), sd.round(2)
        (array([ 0.95, -1.17]), array([0.08, 0.41]))
        """
        if return_std and return_cov:
            raise SpecError("return_std and return_cov exclude each other.")
        rows = self._rows(X)
        if return_cov:
            mean, V = self.results_.posterior(rows)
            return mean.to_numpy(), V.to_numpy() + self._noise() ** 2 * np.eye(len(mean))
        if not return_std:
            return self.results_.predict(rows, "uncensored").to_numpy()
        table = cast(pd.DataFrame, self.results_.predict(rows, "uncensored", se=True))
        return table["estimate"].to_numpy(), np.hypot(table["se"].to_numpy(), self._noise())

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Draw new responses, those of a draw together.

        Parameters
        ----------
        X : (n, d) array or DataFrame
            Features in their own units, finite.
        n_samples : int
            How many draws.
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
        >>> import numpy as np
        >>> import tobitgp as tg
        >>> X = np.linspace(0.0, 6.0, 60)[:, None]
        >>> y = np.maximum(np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(60), -0.2)
        >>> model = tg.sklearn.CensoredGPRegressor().fit(X, y, lower=-0.2)
        >>> model.sample_y([[1.5], [4.5]], n_samples=100).mean(axis=1).round(1)
        array([ 0.9, -1.1])
        """
        rng = int(check_random_state(random_state).randint(2**31 - 1))
        return self.results_.sample(self._rows(X), draws=n_samples, rng=rng).to_numpy()

    def score(self, X: Any, y: Any, lower: Any = None, upper: Any = None, sample_weight: Any = None) -> float:
        """How well n rows are predicted.

        Without limits :math:`R^2`, as for all regressors; with them the mean log predictive density of the rows,
        censored ones by their probability of lying beyond the limit.

        Parameters
        ----------
        X : (n, d) array or DataFrame
            Features in their own units, finite.
        y : (n,) array
            Responses in their own units, finite; censored ones at their limits.
        lower, upper : float or (n,) array, optional
            Censoring limits, in the units of y; ``-inf`` and ``inf`` are none.
        sample_weight : (n,) array, optional
            Frequency weights of the rows in the mean.

        Returns
        -------
        float
            Higher is better; with limits in nats a row.

        Raises
        ------
        ValueError
            If X, y or the limits do not fit.

        References
        ----------
        With limits minus (MET12) of the theory pages, by the predictive distribution in place of the normal one.

        Examples
        --------
        >>> import numpy as np
        >>> import tobitgp as tg
        >>> X = np.linspace(0.0, 6.0, 60)[:, None]
        >>> y = np.maximum(np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(60), -0.2)
        >>> model = tg.sklearn.CensoredGPRegressor().fit(X, y, lower=-0.2)
        >>> round(model.score(X, y, lower=-0.2), 2)
        0.67
        """
        if lower is None and upper is None:
            return float(super().score(X, y, sample_weight))
        rows = self._rows(X)
        y = column_or_1d(y, dtype=np.float64)
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
    """Features by the names that the formula has for them."""
    return {f"x{k}": np.ascontiguousarray(column) for k, column in enumerate(X.T)}


def _formula(features: int, kernel: str, ard: bool, limits: dict[str, Array]) -> str:
    """Formula of a fit."""
    inputs = ", ".join(f"x{k}" for k in range(features))
    censoring = f" | censor({', '.join(f'{name}={name}' for name in limits)})" if limits else ""
    return f"y ~ gp({inputs}, kernel={kernel!r}, ard={bool(ard)}){censoring}"


def _read_limits(lower: Any, upper: Any, n: int) -> dict[str, Array]:
    """Limits that are given, one for each row."""
    limits = {}
    for name, given in zip(_LIMITS, (lower, upper), strict=True):
        if given is None:
            continue
        try:
            values = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.array(np.nan)
        if np.isnan(values).any() or values.shape not in ((), (n,)):
            raise DataError(
                f"{name}= takes a number, or one for each of the {n} rows, and no NaN: -inf and inf are no limits."
            )
        limits[name] = np.broadcast_to(values, (n,)).copy()
    return limits
