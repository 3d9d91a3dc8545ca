"""Log predictive density of Gaussian predictions; (MET11) and (MET12) of the theory pages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics.calibration import read_mean
from tobitgp.metrics.metric_arguments import check_order, read_bounds, read_column
from tobitgp.metrics.survival_curves import Strata, average, read_strata
from tobitgp.numerics.truncated_moments import log_interval_mass
from tobitgp.typing import Array

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


def mnll(
    f: Any, mean: Any, sd: Any = None, *, stratify: Any = None, contributions: bool = False
) -> float | pd.Series[float]:
    r"""Mean negative log loss: minus the mean log density of the true f under its predicted normal distribution.

    .. math:: \frac1n \sum_i \Big\{ \tfrac12 \log(2\pi s_i^2) + \frac{(f_i - m_i)^2}{2 s_i^2} \Big\}

    Parameters
    ----------
    f : (n,) array
        True latent values, in any units.
    mean : (n,) array or DataFrame
        Predicted means of f, in its units. A table with columns ``mean`` and ``se`` (or ``mean_se``) has both moments,
        as returned by ``predict(what="latent", se=True)``.
    sd : float or (n,) array
        Predicted standard deviations of f, without noise, in its units.
    stratify, contributions
        As in `mae`; limits are compared with f.

    Returns
    -------
    float or Series
        In nats per row, for a density in the units of f; as `mae`.

    Raises
    ------
    DataError, SpecError
        As `mae`, and if a standard deviation is not positive.

    References
    ----------
    Basson, Louw and Smith (2023), Variational Tobit Gaussian process regression, *Statistics and Computing* 33,
    equation 55.

    Examples
    --------
    >>> round(mnll([0.0, 1.0], mean=[0.0, 0.0], sd=1.0), 6)
    1.168939
    """
    check_order(f=f, mean=mean, sd=sd, stratify=stratify)
    truth = read_column("f", f)
    m, s = _moments(mean, sd, len(truth), ("se", "mean_se"))
    return average("mnll", -_log_density(truth, truth, m, s), read_strata(stratify, truth), contributions)


def nlpd(
    y: Any,
    mean: Any,
    sd: Any = None,
    *,
    event: Any = None,
    lower: Any = None,
    upper: Any = None,
    stratify: Any = None,
    contributions: bool = False,
) -> float | pd.Series[float]:
    r"""Negative log predictive density of responses under the censored likelihood, for any Gaussian prediction.

    .. math:: -\frac1n \sum_i \begin{cases} \log\{\phi((y_i - m_i)/s_i)/s_i\} & \text{exact rows} \\
              \log\{\Phi((u_i - m_i)/s_i) - \Phi((l_i - m_i)/s_i)\} & \text{rows known to } (l_i, u_i) \end{cases}

    Models with and without a censoring rule are compared on equal terms: the probability of a censored row is the
    predicted probability beyond its limit.

    Parameters
    ----------
    y : (n,) array or None
        Responses, in any units.
    mean : (n,) array or DataFrame
        Predicted means before clipping, in the units of y. A table with columns ``mean`` and ``sd`` has both moments.
    sd : float or (n,) array
        Standard deviations, in the units of y, of a new response before clipping: ``sqrt(se**2 + sigma**2)``, noise
        included.
    event : (n,) array, optional
        1 or True for exact rows, 0 or False for rows right-censored at y.
    lower, upper : float or (n,) array, optional
        With ``y``: censoring limits in its units; rows at or below ``lower``, or at or above ``upper``, are censored
        there. With ``y=None``: ends of the intervals that contain the rows, equal for exact rows and infinite if open.
    stratify : True, tuple of two limits, or (n,) array, optional
        True reports ``"exact"``, ``"left"``, ``"right"`` and ``"interval"`` rows separately, if there are any;
        otherwise as in `mae`.
    contributions : bool
        As in `mae`.

    Returns
    -------
    float or Series
        In nats per row; as `mae`. Densities are in the units of y; report densities of exact rows and probabilities of
        censored rows separately (``stratify=True``).

    Raises
    ------
    DataError, SpecError
        As `mae`, if arguments cannot be combined, and if a standard deviation is not positive.

    References
    ----------
    Karlova, Kabra, de Souza and Paige (2024), Variational inference with censored Gaussian process regressors,
    section 4: NLPD; the subscript c there means censored rows alone (``stratify=True``).

    Examples
    --------
    >>> nlpd([0.0, 0.5, 2.0], mean=[-1.0, 0.5, 1.0], sd=1.0, lower=0.0, stratify=True).round(4)
    all      0.8369
    exact    1.1689
    left     0.1728
    Name: nlpd, dtype: float64
    >>> round(nlpd(None, mean=[0.0, 0.0], sd=1.0, lower=[-1.0, 0.0], upper=[1.0, np.inf]), 4)
    0.5374
    """
    check_order(y=y, mean=mean, sd=sd, event=event, lower=lower, upper=upper, stratify=stratify)
    m, s = _moments(mean, sd, None, ("sd",))
    low, high = read_bounds(y, event, lower, upper, len(m), "y")
    exact, left, right = low == high, np.isinf(low), np.isinf(high)
    kinds: Strata = {"exact": exact, "left": left & ~right, "right": right & ~left, "interval": ~(exact | left | right)}
    kinds = {kind: rows for kind, rows in kinds.items() if rows.any()}
    if y is None and isinstance(stratify, tuple):
        raise SpecError("stratify= with y=None must be True or a label for each row, not limits.")
    strata = read_strata(stratify, low if y is None else read_column("y", y), kinds)
    return average("nlpd", -_log_density(low, high, m, s), strata, contributions)


def _moments(mean: Any, sd: Any, n: int | None, names: tuple[str, ...]) -> tuple[Array, Array]:
    """Means and standard deviations, from two columns or a table of both."""
    if isinstance(mean, pd.DataFrame) and sd is None:
        found = [name for name in names if name in mean.columns]
        if not found:
            raise SpecError(
                f"sd= must be given: the table of means has columns {', '.join(map(str, mean.columns))}, none of them "
                f"{' or '.join(names)}." + (" sd includes the noise: sqrt(se**2 + sigma**2)." if "sd" in names else "")
            )
        sd = mean[found[0]]
    if sd is None:
        raise SpecError("sd= must be given: one standard deviation, or one per row.")
    m = read_mean("mean", mean, n)
    s = read_column("sd", np.full(len(m), sd) if pd.api.types.is_scalar(sd) else sd, len(m))
    if (s <= 0.0).any():
        raise DataError(f"sd={s[s <= 0.0][0]:g}: must be positive, in row {int(np.argmax(s <= 0.0))} (counted from 0).")
    return m, s


def _log_density(low: Array, high: Array, mean: Array, sd: Array) -> Array:
    """Log density of exact rows, log probability of the others."""
    with np.errstate(over="ignore"):
        a, b = (low - mean) / sd, (high - mean) / sd
        out = -0.5 * a * a - np.log(sd) - _HALF_LOG_2PI
    wide = low < high
    out[wide] = log_interval_mass(a[wide], b[wide])
    return out
