"""What every kind of results answers about its own worth: leave-one-out, WAIC, draws for arviz."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from tobitgp.diagnostics import elpd
from tobitgp.diagnostics.elpd import DRAWS, LEAST_DRAWS, LOO, WAIC, Elpd
from tobitgp.diagnostics.k_hat import KHat
from tobitgp.diagnostics.training_draws import inference_data, of_subjects, read_draws
from tobitgp.numerics.sampling import Rng
from tobitgp.results.fit import Fit


def elpd_of(results: Fit, by: str) -> Elpd:
    """``loo()`` or ``waic()`` with their defaults, without a warning."""
    if by not in results._elpds:
        results._elpds[by] = results._make_elpd(by, DRAWS, None)
    return results._elpds[by]


def make_elpd(results: Fit, by: str, draws: Any, rng: Rng, method: Any = "auto") -> Elpd:
    """Leave-one-out or WAIC of a fit, without a warning."""
    parts = results.parts
    if by == "loo" and elpd.read_method(method, sites=parts.has_sites) == "ep":
        return elpd.loo_by_cavities(parts)
    made = of_subjects(results, results._draws(read_draws(draws, LEAST_DRAWS), rng, f"{by}()"), f"{by}()")
    return (elpd.loo_by_draws if by == "loo" else elpd.waic_by_draws)(made, parts)


def log_likelihood_draws(results: Fit, draws: int = 1000, *, rng: Rng = None) -> pd.DataFrame:
    """Log-likelihood, in nats, of each training row under draws from the posterior.

    For a Gaussian process, each draw consists of a design point of the hyper-parameters and all of f. For a regression,
    parameters are drawn from the normal distribution of the estimates (``cov_params``), and for a mixture likewise on
    unbounded scales. Exact rows have the log density of the response as written, censored rows the log probability of
    the observation; truncated rows have these given their window. A row with a frequency weight has the log-likelihood
    of one of its copies.

    Parameters
    ----------
    draws : int
        Number of draws.
    rng : int or numpy Generator, optional
        With None the result is deterministic.

    Returns
    -------
    DataFrame, (draws, rows)
        A row for each draw, and a column, named by its label, for each training row that was used. With ``id=`` the
        rows are parts of a subject's time; the log-likelihood of a subject is their sum.

    Raises
    ------
    SpecError
        If the fit holds no training rows, has no covariance to draw from, or has censoring noise (``bound="local"``),
        with which the likelihood is not a density.

    References
    ----------
    (ROW1) to (ROW3) of the theory pages at the draws of (CHK4).

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> res.log_likelihood_draws(200).shape
    (200, 20)
    """
    made = results._draws(read_draws(draws, rows=results.parts.facts.n), rng, "log_likelihood_draws()")
    values = np.concatenate([value for _, value in made.log_likelihoods()]).T
    index = results.parts.rows.index[results.parts.rows.kept]
    columns = index.set_names([None] * index.nlevels)
    return pd.DataFrame(values, index=pd.RangeIndex(made.size, name="draw"), columns=columns)


def loo(results: Fit, method: Literal["auto", "psis", "ep"] = "auto", *, draws: int = DRAWS, rng: Rng = None) -> LOO:
    r"""Leave-one-out cross-validation without refitting, in nats.

    ``"psis"``: Pareto-smoothed importance sampling of draws from the posterior, those of
    :meth:`log_likelihood_draws`, by weights :math:`1 / p(y_n | f_n, \theta)`. For each row, k shows whether the
    posterior without the row is close enough to the posterior with it.

    ``"ep"``, for processes: the row's site is removed from the posterior, and the row is predicted by the rest, in
    closed form or by quadrature; hyper-parameters are reweighted without each row. This method has no draws or weights
    that can fail. Without censoring it is exact at given hyper-parameters. Sites of Laplace's method or variational
    inference can also be used (see ``kind``); those of expectation propagation are the most accurate.

    Parameters
    ----------
    method : {"auto", "psis", "ep"}
        ``"auto"`` is ``"ep"`` for a process, ``"psis"`` for a regression or a mixture.
    draws : int
        Number of draws with ``"psis"``, at least 25.
    rng : int or numpy Generator, optional
        With None the result is deterministic.

    Returns
    -------
    LOO
        ``elpd_loo, se, p_loo, pointwise, n_bad``, and ``summary()``. A row of frequency weight c counts c times; one
        copy is left out at a time. With ``id=`` whole subjects are left out, and the log densities of their rows are
        summed.

    Raises
    ------
    SpecError
        As :meth:`log_likelihood_draws`, and for ``"ep"`` with a fit that has no sites.

    Warns
    -----
    ApproximationWarning
        If k is above 0.7 (for few draws: above ``1 - 1 / log10(draws)``) in rows whose own contribution exceeds 0.01
        nats. With ``"ep"``: if removing a row leaves less than half of the weight of the integration points of the
        hyper-parameters.

    References
    ----------
    .. [1] A. Vehtari, A. Gelman and J. Gabry, "Practical Bayesian model evaluation using leave-one-out
       cross-validation and WAIC", Statistics and Computing 27 (2017).
    .. [2] A. Vehtari et al., "Bayesian leave-one-out cross-validation approximations for Gaussian latent variable
       models", JMLR 17(103) (2016).

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("y ~ gp(x) | censor(lower)", tg.datasets.simulate_groot_lucas(), method=tg.EP(hyper="maximize"))
    >>> res.loo()
    Leave-one-out cross-validation (ep) of 30 rows
      elpd     -10.40   se 2.88
      p          8.08
      the estimates of all rows are reliable
    """
    found = results._make_elpd("loo", draws, rng, method)
    elpd.warn_of(found)
    assert isinstance(found, LOO)
    return found


def waic(results: Fit, *, draws: int = DRAWS, rng: Rng = None) -> WAIC:
    """The widely applicable information criterion, on the scale of log densities, in nats.

    WAIC is the log of the mean likelihood of each row over draws from the posterior, minus the variance of its
    log-likelihood. :meth:`loo` has better diagnostics.

    Parameters
    ----------
    draws : int
        Number of draws, at least 25.
    rng : int or numpy Generator, optional
        With None the result is deterministic.

    Returns
    -------
    WAIC
        ``elpd_waic, se, p_waic, pointwise, n_bad``, and ``summary()``. With ``id=`` per subject, as :meth:`loo`.

    Raises
    ------
    SpecError
        As :meth:`log_likelihood_draws`.

    Warns
    -----
    ApproximationWarning
        If the variance is above 0.4 in some rows.

    References
    ----------
    .. [1] S. Watanabe, "Asymptotic equivalence of Bayes cross validation and widely applicable information
       criterion", JMLR 11 (2010).

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ age", tg.datasets.load("lung"), family="weibull")
    >>> res.waic()
    WAIC of 228 rows
      elpd   -1155.07   se 39.88
      p          3.24
      the estimates of all rows are reliable
    """
    found = results._make_elpd("waic", draws, rng)
    elpd.warn_of(found)
    assert isinstance(found, WAIC)
    return found


def to_arviz(results: Fit, draws: int = 1000, *, rng: Rng = None) -> Any:
    """Convert the fit to arviz, for ``arviz.loo``, ``arviz.compare`` and its plots.

    The groups have one chain of the same draws. ``posterior`` has the parameters by name; hyper-parameters of a
    process are drawn from the design points that they are integrated over. ``log_likelihood`` is as in
    :meth:`log_likelihood_draws`. ``posterior_predictive`` has new responses, clipped at the censoring limits where
    these are known. ``observed_data`` has the recorded value or limit, the bounds ``lower`` and ``upper`` of the
    response, and ``censoring`` (-1 left, 0 none, 1 right, 2 interval). Rows are repeated by their frequency weights.
    With ``id=``, ``log_likelihood`` is per subject, named by the label of the subject's last row.

    Parameters
    ----------
    draws : int
        Number of draws.
    rng : int or numpy Generator, optional
        With None the result is deterministic.

    Returns
    -------
    arviz.InferenceData, or from arviz 1.0 on xarray.DataTree
        Variables of shape (1, draws, ...), with rows named by their labels.

    Raises
    ------
    SpecError
        If arviz is not installed (``pip install 'tobitgp[arviz]'``), if frequency weights are not whole numbers, and
        as :meth:`log_likelihood_draws`.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> res.to_arviz(200)["posterior"]["sigma"].shape
    (1, 200)
    """
    made = results._draws(read_draws(draws, rows=results.parts.facts.n), rng, "to_arviz()")
    made = of_subjects(results, made, "to_arviz()")
    return inference_data(made, results.parts, results.model.endog_names)


def k_hat(results: Fit, draws: int = 1000, *, rng: Rng = None) -> KHat:
    """Pareto k-hat: how close the Gaussian approximation is to the exact posterior.

    K-hat is the Pareto shape of the importance weights between the two. For a process, the approximation is the
    posterior of f at the mode of the hyper-parameters; for a regression, it is the normal distribution of the
    estimates. Below 0.5 it is close, and up to 0.7 it is adequate. Above 0.7 the joint distribution differs, although
    single marginals may be good. A process is exact without censoring and with normal noise.

    Parameters
    ----------
    draws : int
        Number of draws, at least 25.
    rng : int or numpy Generator, optional
        With None the result is deterministic.

    Returns
    -------
    KHat
        ``k``, ``efficiency``, ``good``, ``words``.

    Raises
    ------
    SpecError
        As :meth:`log_likelihood_draws`.

    References
    ----------
    .. [1] Y. Yao, A. Vehtari, D. Simpson and A. Gelman, "Yes, but did it work? Evaluating variational inference",
       ICML 2018.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("y ~ gp(x) | censor(lower)", tg.datasets.simulate_groot_lucas())
    >>> res.k_hat()  # doctest: +ELLIPSIS
    k-hat 0... of 1000 draws worth 9...%: the Gaussian approximation is close to the exact posterior.
    """
    return results._k_hat(read_draws(draws, LEAST_DRAWS), rng)
