"""Methods of fitting a model under priors or by maximum likelihood: small values with their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.inference import EPUpdates, LaplaceUpdates, Method, VIUpdates
from tobitgp.inference.batches import Batches
from tobitgp.inference.method import GivenSettings, is_number
from tobitgp.inference.search_settings import Settings
from tobitgp.method_value import MethodValue, given_settings, naming_settings, short_text
from tobitgp.priors.kernel_block import Inducing, read_inducing

MAX_ITER = 200
_INTEGRATE = {"auto": None, "integrate": True, "maximize": False}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class PosteriorMethod(MethodValue):
    """Settings that every method of a posterior has; see `EP`."""

    hyper: Literal["auto", "integrate", "maximize"] = "auto"
    inducing: Any = "auto"
    n_starts: int | None = None
    max_iter: int | None = None
    tol: float | None = None

    def __post_init__(self) -> None:
        read_choice("hyper", self.hyper, _INTEGRATE)
        _check_inducing(self.inducing)
        for name in ("n_starts", "max_iter"):
            if getattr(self, name) is not None:
                read_whole(name, getattr(self, name))
        if self.tol is not None:
            read_positive("tol", self.tol)
        self.updates()

    def updates(self) -> Method:
        """What finds the posterior of f at given hyper-parameters."""
        raise NotImplementedError

    def _given(self) -> GivenSettings:
        """Settings that differ from the defaults, as the user writes them."""
        return tuple((name, short_text(value)) for name, value in given_settings(self).items())

    def settings(self, rng: Any = None) -> Settings:
        """How to search for the hyper-parameters."""
        return Settings(_INTEGRATE[self.hyper], self.n_starts or 2, self.max_iter or MAX_ITER, self.tol, rng)


@naming_settings
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class EP(PosteriorMethod):
    """Expectation propagation: the posterior of a process, or of a regression with priors.

    Sites of all rows are updated in parallel, and accelerated.

    Parameters
    ----------
    hyper : {"auto", "integrate", "maximize"}
        Average over hyper-parameters by a central composite design [3]_, or take the maximum. ``"auto"`` averages up to
        20,000 rows with up to 10 free hyper-parameters, and with up to 18 up to about 2,000 rows, if the posteriors at
        all points fit in about 3 GB.
    inducing : {"auto", None}, int, (M, d) array, ``tg.Inducing``, or dict of these by term name
        Inducing inputs of the ``gp()`` terms: as many as give an approximation gap of 0.01 nats, the numerically exact
        prior, a number, or locations in the user's units. ``tg.Inducing(20)`` moves 20 of them to where a bound on the
        evidence is highest. With ``"auto"``, a process that is too rough for them is represented by a Markov chain or
        by its nearest neighbours, or has all rows as inducing inputs if it has several inputs and at most 2,500
        distinct rows; ``gp(..., approximation=)`` in the formula chooses.
    n_starts : int, optional
        Starts of the search for hyper-parameters, taken from a screened grid; 2 by default.
    max_iter : int, optional
        Iterations of each optimiser run, and the most Newton steps at its end (never more than 10); 200 by default.
    tol : float, optional
        Nats a further Newton step may gain when the search stops; by default 1e-6, and 1e-3 on more than 20,000 rows.
    damping : float
        First step length of the sites, as a share of the whole step; shortened if the residual grows.
    floored : bool
        Keep site precisions from falling below 0 under noise that is not log-concave. This is always done if the others
        do not converge. Such rows match the mean of f only, and the gradient of the evidence is approximate.
    site_tol : float
        Root mean square of the standardised site changes at which to stop, a pure number.
    site_iterations : int
        Most updates of all sites for one set of hyper-parameters.

    Raises
    ------
    SpecError
        If a setting is not supported; the message names it.

    Notes
    -----
    The most accurate of the three methods in every exact comparison made; its evidence lay slightly below the exact one
    ([1]_, with corrections). Equations are those of the theory page on EP, (EP1) to (EP9).

    References
    ----------
    .. [1] P. Groot and P. Lucas, "Gaussian process regression with censored data using expectation propagation",
       PGM 2012, section 2.3.2.
    .. [2] C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning* (2006), section 3.6.
    .. [3] H. Rue, S. Martino and N. Chopin, JRSS B 71 (2009), section 6.5.

    Examples
    --------
    >>> import tobitgp as tg
    >>> method = tg.EP(hyper="maximize", inducing=18)
    >>> method
    EP(hyper='maximize', inducing=18)
    >>> res = tg.fit("y ~ gp(x) | censor(lower)", tg.datasets.simulate_groot_lucas(), method=method)
    >>> res.method, len(res.inducing_inputs["gp(x)"])
    ('ep', 18)
    """

    damping: float = 1.0
    floored: bool = False
    site_tol: float = 1e-7
    site_iterations: int = 200
    name: ClassVar[str] = "ep"

    def updates(self) -> EPUpdates:
        """See `PosteriorMethod`."""
        return EPUpdates(self.site_tol, self.site_iterations, self.damping, self.floored, self._given())


@naming_settings
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Laplace(PosteriorMethod):
    """Laplace's method: a Gaussian at the posterior mode with the curvature found there.

    Parameters
    ----------
    hyper, inducing, n_starts, max_iter, tol
        As in `tobitgp.EP`.
    damping : float
        First step length of the sites, as a share of the whole step.
    site_tol : float
        Root mean square of the standardised site changes at which to stop, a pure number.
    site_iterations : int
        Most updates of all sites for one set of hyper-parameters.

    Raises
    ------
    SpecError
        If a setting is not supported; the message names it.

    Notes
    -----
    Fast; its evidence may be above or below the exact one, and if nearly everything is censored the mode says little
    about the mass [1]_ [2]_. Equations are (LA1) to (LA7) of the theory pages, and (HET14) and (HET15) with a process
    in ``sigma=``.

    References
    ----------
    .. [1] P. Groot and P. Lucas, "Gaussian process regression with censored data using expectation propagation",
       PGM 2012, section 2.3.1.
    .. [2] C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning* (2006), section 3.4.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_groot_lucas()
    >>> tg.fit("y ~ gp(x) | censor(lower)", data, method=tg.Laplace(hyper="maximize")).evidence_kind
    'laplace'
    """

    damping: float = 1.0
    site_tol: float = 1e-7
    site_iterations: int = 200
    name: ClassVar[str] = "laplace"

    def updates(self) -> LaplaceUpdates:
        """See `PosteriorMethod`."""
        return LaplaceUpdates(self.site_tol, self.site_iterations, self.damping, self._given())


@naming_settings
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class VI(PosteriorMethod):
    r"""Variational inference: a Gaussian that maximises a bound on the evidence, or what was published as one.

    Parameters
    ----------
    hyper, inducing, n_starts, max_iter, tol
        As in `tobitgp.EP`.
    bound : {"exact", "local", "monte_carlo", "karlova"}
        ``"exact"``: the expectation of the log-likelihood by quadrature to machine precision, so the posterior is the
        Gaussian closest in Kullback-Leibler divergence, and its evidence a lower bound. ``"local"``: parabolas below
        the log-likelihoods [1]_, with censoring noises ``sigma_lower`` and ``sigma_upper`` on the censored rows; a
        bound on the evidence of the data only if these are fixed at 0. ``"monte_carlo"``: the expectation as an average
        over fixed draws. ``"karlova"``: the closed form of [2]_, which is not a bound; hyper-parameters are those of
        ``"exact"``.
    draws : int, optional
        Draws for each row with ``bound="monte_carlo"``, at least 2; 20 by default.
    side_noise : {"shared", "row"}
        With ``bound="local"``: one censoring noise for each side, or one for each of up to 300 censored rows, as
        ``sigma_lower[12]`` of the row with the label 12 (future work of [1]_, section 6).
    unit : float, optional
        Unit of the response in which ``bound="karlova"`` computes its closed form, in units of the data: 1 for the
        objective of [2]_ for the data as they are. That objective depends on the unit. By default it is computed in the
        standardised unit of the fit, so that parameters and evidence do not depend on the unit of the data.
    damping : float
        First step length of the sites, as a share of the whole step.
    site_tol : float
        Root mean square of the standardised site changes at which to stop, a pure number.
    site_iterations : int
        Most updates of all sites for one set of hyper-parameters.
    batch : int, optional
        Rows of a batch. Natural-gradient steps by batches [3]_ then take the place of passes over all rows, from the
        maximum of a pilot on some of the rows (2,500 to 20,000). The optimum is the same. From about 100,000 rows they
        take less time and memory. Requires ``bound="exact"`` and processes with inducing inputs.
    epochs : int, optional
        How often each row is in a batch; by default once, or as often as makes 100 steps.
    delay, forgetting : float, optional
        Step t = 1, 2, ... has length ``(delay + t)^-forgetting``: a number of at least 0, by default the rows of the
        pilot over those of a batch, and a power in (0.5, 1], by default 1.

    Raises
    ------
    SpecError
        If a setting is not supported; the message names it.

    Notes
    -----
    With ``batch=``, hyper-parameters are maximised, and their standard errors are those of the pilot scaled to all
    rows. ``fit_history`` has the path of the bound, and ``converged`` is False if hyper-parameters would still gain
    0.1 nat, or 0.1 nat per 1000 rows: (SVI1) to (SVI6) of the theory pages.

    Conjugate-computation updates ``lambda2 = -E l''``, ``lambda1 = E l' + lambda2 m``, (VI2) of the theory pages; l is
    the log-likelihood of a row and expectations are over its f. With a process in ``sigma=``, (HET9) to (HET13), the
    bound is ``"exact"``. All bounds but ``"exact"`` require Gaussian noise. The posterior of ``"local"`` has the mode
    for its mean, and too small a variance on censored rows.

    References
    ----------
    .. [1] M. Basson, T. M. Louw and T. R. Smith, "Variational Tobit Gaussian process regression", Statistics and
       Computing 33 (2023), Eq. 46.
    .. [2] A. Karlova et al., "Variational inference with censored Gaussian process regressors" (2024), Eqs. 22 and 37,
       with the divergence of Eq. 38 corrected.
    .. [3] J. Hensman, N. Fusi and N. D. Lawrence, "Gaussian processes for big data", UAI 2013, section 3.2.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data, method = tg.datasets.simulate_groot_lucas(), tg.VI(bound="local", hyper="maximize")
    >>> tg.fit("y ~ gp(x) | censor(lower)", data, method=method).evidence_kind
    'local'
    >>> lung, method = tg.datasets.load("lung"), tg.VI(batch=20, epochs=5)
    >>> res = tg.fit("Surv(time, event) ~ gp(age)", lung, family="lognormal", method=method)
    >>> res.fit_history["stage"].iloc[-2:].tolist(), res.converged
    (['batches', 'all rows'], True)
    """

    bound: Literal["exact", "local", "monte_carlo", "karlova"] = "exact"
    draws: int | None = None
    side_noise: Literal["shared", "row"] = "shared"
    unit: float | None = None
    damping: float = 0.5
    site_tol: float = 1e-7
    site_iterations: int = 500
    batch: int | None = None
    epochs: int | None = None
    delay: float | None = None
    forgetting: float | None = None
    name: ClassVar[str] = "vi"

    def __post_init__(self) -> None:
        PosteriorMethod.__post_init__(self)
        given = [name for name in ("epochs", "delay", "forgetting") if getattr(self, name) is not None]
        if self.batch is None:
            if given:
                raise SpecError(
                    f"{given[0]}={getattr(self, given[0])!r}: this is for steps by batches. Add batch=1000."
                )
            return
        read_whole("batch", self.batch)
        if self.epochs is not None:
            read_whole("epochs", self.epochs)
        if self.delay is not None and not (is_number(self.delay) and self.delay >= 0):
            raise SpecError(f"delay={self.delay!r}: must be a finite number of at least 0.")
        if self.forgetting is not None and not (is_number(self.forgetting) and 0.5 < self.forgetting <= 1.0):
            raise SpecError(f"forgetting={self.forgetting!r}: must be a number in (0.5, 1].")
        if self.bound != "exact":
            raise SpecError(f"batch={self.batch}: steps by batches require bound='exact', not {self.bound!r}.")
        if self.hyper == "integrate":
            raise SpecError(f"batch={self.batch}: hyper='integrate' takes passes over all rows. Use hyper='maximize'.")

    def settings(self, rng: Any = None) -> Settings:
        """With the steps by batches, where ``batch=`` is given."""
        settings = PosteriorMethod.settings(self, rng)
        if self.batch is None:
            return settings
        batches = Batches(self.batch, self.epochs, self.delay, self.forgetting or 1.0)
        return replace(settings, integrate=False, batches=batches)

    def updates(self) -> VIUpdates:
        """See `PosteriorMethod`."""
        rows = self.site_tol, self.site_iterations, self.damping
        return VIUpdates(self.bound, self.draws, self.side_noise, self.unit, *rows, self._given())


@naming_settings
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class MLE(MethodValue):
    """Maximum likelihood, of linear terms and of parameters of rows.

    Parameters
    ----------
    max_iter : int
        Most Newton steps.

    Raises
    ------
    SpecError
        If a setting is not supported; the message names it.

    References
    ----------
    R. J. Olsen (1978), Note on the uniqueness of the maximum likelihood estimator for the Tobit model, *Econometrica*
    46, for Tobit models; the theory pages have the likelihood of every kind.

    Examples
    --------
    >>> import tobitgp as tg
    >>> method = tg.MLE(max_iter=50)
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"), method=method)
    >>> res.method, res.converged
    ('mle', True)
    """

    max_iter: int = MAX_ITER
    name: ClassVar[str] = "mle"

    def __post_init__(self) -> None:
        read_whole("max_iter", self.max_iter)


def read_choice(name: str, value: Any, choices: Any) -> None:
    """Raise an error for what is not one of several words."""
    if not isinstance(value, str) or value not in choices:
        raise SpecError(f"{name}={value!r}: must be one of {', '.join(map(repr, choices))}.")


def read_whole(name: str, value: Any) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise SpecError(f"{name}={value!r}: must be a whole number of at least 1.")
    return int(value)


def read_positive(name: str, value: Any) -> float:
    """A positive number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise SpecError(f"{name}={value!r}: must be a positive number.")
    return float(value)


def _check_inducing(inducing: Any) -> None:
    """Raise an error for what cannot be inducing inputs of any formula; their shapes are checked with the data."""
    for choice in inducing.values() if isinstance(inducing, Mapping) else [inducing]:
        if choice is not None and not isinstance(choice, Inducing) and read_inducing(choice) is None:
            raise SpecError(
                f"inducing={short_text(choice)}: 'auto', None, a positive number, or a finite array is allowed."
            )
