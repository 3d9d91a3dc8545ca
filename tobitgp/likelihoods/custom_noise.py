"""A user's own noise distribution, from its log density and log tails."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from tobitgp.distributions.standard_noise import Distribution
from tobitgp.errors import SpecError
from tobitgp.numerics.log_probabilities import log_complement
from tobitgp.typing import Array

_GRID = np.concatenate([-np.logspace(2.0, -2.0, 60), [0.0], np.logspace(-2.0, 2.0, 60)])
_CHECKED = (-3.0, -1.0, 0.0, 1.0, 3.0)
_AGREE = 1e-6
_SMALL = np.log(0.05)  # log of a lower tail below which it is an integral of the density
_T = np.linspace(-3.4, 2.0, 121)  # of the double exponential rule on (0, infinity)
_U = np.exp(0.5 * np.pi * np.sinh(_T))
_LOG_WEIGHT = np.log((_T[1] - _T[0]) * 0.5 * np.pi * np.cosh(_T) * _U)

LogFunction = Callable[[Array], Any]


@dataclass(frozen=True, slots=True)
class CustomNoise:
    r"""Your own noise distribution, given as ``family=tg.CustomNoise("name", logpdf, logsf)``.

    The response, or with ``positive=True`` its logarithm, is ``eta + sigma Z``. The functions take an array of values
    of Z, the standardised noise, and return an array of logarithms. They are checked once: the density must integrate
    to one, have one mode, and agree with the tails. Such fits cannot be saved to a file, which holds no functions.

    Parameters
    ----------
    name : str
        What summaries call it.
    logpdf : callable
        Log density of Z.
    logsf : callable
        Log probability of more than z. It must keep its relative precision where it is small: ``np.log1p(-cdf)`` does
        not.
    logcdf : callable, optional
        Log probability of at most z. Without it, small lower tails are integrals of the density, which takes longer.
    positive : bool
        The response is positive, and its logarithm has this noise.

    Raises
    ------
    SpecError
        If a function does not return finite numbers, the density does not integrate to one or has several modes, or a
        tail does not agree with the density.

    References
    ----------
    (REG1) of the theory pages, of linear formulas; (ROW12), of processes.

    Examples
    --------
    >>> import numpy as np
    >>> import tobitgp as tg
    >>> from scipy.special import log_ndtr
    >>> normal = tg.CustomNoise("normal", lambda z: -0.5 * z**2 - 0.5 * np.log(2 * np.pi), lambda z: log_ndtr(-z))
    >>> tobin = tg.datasets.load("tobin")
    >>> own = tg.fit("durable ~ age | censor(0)", tobin, family=normal)
    >>> bool(abs(own.llf - tg.fit("durable ~ age | censor(0)", tobin).llf) < 1e-8)
    True
    """

    name: str
    logpdf: LogFunction
    logsf: LogFunction
    logcdf: LogFunction | None = None
    positive: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SpecError(f"CustomNoise(name={self.name!r}): the name must be a text, e.g. 'skewed'.")
        for argument in ("logpdf", "logsf", "logcdf"):
            function = getattr(self, argument)
            if function is not None or argument != "logcdf":
                self._check_values(argument, function)
        self._check_density()

    def _check_values(self, argument: str, function: Any) -> None:
        if not callable(function):
            raise SpecError(f"CustomNoise({argument}={function!r:.60}): must be a function of an array.")
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(function(_GRID), dtype=np.float64)
        except Exception as error:
            raise SpecError(
                f"CustomNoise({argument}=...): the function fails for an array: {error}. Use numpy's functions."
            ) from error
        inside = np.abs(_GRID) <= max(map(abs, _CHECKED))
        if found.shape != _GRID.shape or np.isnan(found).any() or not np.isfinite(found[inside]).all():
            raise SpecError(
                f"CustomNoise({argument}=...): the function must return a logarithm for each number of an array, "
                "finite between -3 and 3. Centre and scale the distribution so that most of it lies there."
            )

    def _check_density(self) -> None:
        """One error for a density, or a tail, that is wrong."""
        from scipy.integrate import quad  # slow to import, and required only here

        def density(z: float) -> float:
            return float(np.exp(np.asarray(self.logpdf(np.array([z])))[0]))

        def mass(low: float, high: float) -> float:
            return float(quad(density, low, high, epsabs=1e-12, epsrel=1e-10, limit=400)[0])

        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of integrals that do not end
            pieces = np.array([mass(*ends) for ends in pairwise((-np.inf, *_CHECKED, np.inf))])
            slopes = np.sign(np.diff(np.asarray(self.logpdf(_GRID), dtype=np.float64)))
        total = pieces.sum()
        if not abs(total - 1.0) < _AGREE:
            remedy = f" Subtract {np.log(total):.6g} from the log density." if 0.0 < total < np.inf else ""
            raise SpecError(
                f"CustomNoise(logpdf=...): the density integrates to {total:.6g}, but must integrate to 1.{remedy}"
            )
        if (np.diff(slopes[slopes != 0.0]) > 0.0).any():
            raise SpecError("CustomNoise(logpdf=...): the density has several modes, but must have one.")
        self._check_tail("logsf", "above", np.cumsum(pieces[::-1])[::-1][1:])
        self._check_tail("logcdf", "below", np.cumsum(pieces)[:-1])

    def _check_tail(self, argument: str, side: str, wanted: Array) -> None:
        """Compare a tail with integrals of the density."""
        function = getattr(self, argument)
        if function is None:
            return
        found = np.exp(np.asarray(function(np.array(_CHECKED)), dtype=np.float64))
        for z, own, of_density in zip(_CHECKED, found, wanted, strict=True):
            if not abs(own - of_density) <= _AGREE:
                raise SpecError(
                    f"CustomNoise({argument}=...): its probability {side} z = {z:g} is {own:.6g}, but that of the "
                    f"density is {of_density:.6g}. Correct one of the two functions."
                )


@dataclass(frozen=True, slots=True)
class FunctionNoise(Distribution):
    """The distribution of a user's functions."""

    given: CustomNoise
    name: ClassVar[str] = "custom"

    def logpdf(self, z: Array) -> Array:
        return np.asarray(self.given.logpdf(z), dtype=np.float64)

    def log_sf(self, z: Array) -> Array:
        return np.asarray(self.given.logsf(z), dtype=np.float64)

    def log_cdf(self, z: Array) -> Array:
        """See `Distribution`; a small one is an integral of the density where no function is given."""
        if self.given.logcdf is not None:
            return np.asarray(self.given.logcdf(z), dtype=np.float64)
        z = np.asarray(z, dtype=np.float64)
        with np.errstate(all="ignore"):
            out = np.asarray(log_complement(np.minimum(self.log_sf(z), 0.0)))
        small = ~(out > _SMALL) & (z > -np.inf)
        if small.any():
            out = np.where(small, self._lower_tail(np.where(small, z, 0.0)), out)
        return out

    def _lower_tail(self, z: Array) -> Array:
        """Log of the integral of the density below z, by a double exponential rule in units of its slope."""
        with np.errstate(all="ignore"):
            unit = 1.0 / np.maximum(np.abs(self.log_density(z, 1)[1]), 1e-3)[..., None]
            each = self.logpdf(z[..., None] - _U * unit) + _LOG_WEIGHT
            top = np.max(np.where(np.isfinite(each), each, -np.inf), axis=-1, keepdims=True)
            area = np.exp(np.where(np.isfinite(each), each, -np.inf) - top).sum(axis=-1)
            return np.asarray(np.log(area) + top[..., 0] + np.log(unit[..., 0]))
