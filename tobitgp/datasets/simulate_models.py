"""Synthetic data for models of the package, as data frames that include the true values."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit

from tobitgp.datasets.simulate import check_size, observed_frame, seeded
from tobitgp.typing import Array


def simulate_additive(
    rng: np.random.Generator | int | None = None, n: int = 5000, groups: int = 200, noise_sd: float = 0.4
) -> pd.DataFrame:
    r"""Simulate an additive model with groups, a fifth of the rows censored on either side.

    .. math:: y^* = 1 + \sin(2 \pi x_1) + 6 (x_2 - 1/2)^2 - 1/2 + 0.3 z + b_g + \epsilon

    with :math:`x_1, x_2` uniform on [0, 1], z standard normal, and :math:`b_g \sim N(0, 0.5^2)` for each group.

    Parameters
    ----------
    rng, n
        As in `simulate_groot_lucas`.
    groups : int
        Number of groups, to which the rows are allotted at random.
    noise_sd
        As in `simulate_groot_lucas`.

    Returns
    -------
    DataFrame
        Columns of pure numbers ``x1, x2, z, g`` (group, from 0), ``y, f, y_star, lower, upper`` as in
        `simulate_groot_lucas`, and the true parts ``f_x1, f_x2, f_z, f_g``, of which the first two have the mean 0.

    Raises
    ------
    DataError
        If an argument is out of range.

    Examples
    --------
    >>> data = simulate_additive(n=1000, groups=20)
    >>> float((data["y"] == data["upper"]).mean()), data["g"].nunique()
    (0.2, 20)
    """
    check_size(n, noise_sd)
    check_size(groups, noise_sd)
    generator = seeded(rng)
    x1, x2 = generator.uniform(size=(2, n))
    z, g = generator.normal(size=n), generator.integers(0, groups, n)
    parts = {
        "f_x1": np.sin(2 * np.pi * x1),
        "f_x2": 6 * (x2 - 0.5) ** 2 - 0.5,
        "f_z": 0.3 * z,
        "f_g": generator.normal(0, 0.5, groups)[g],
    }
    f = 1 + sum(parts.values(), np.zeros(n))
    y_star = f + generator.normal(0, noise_sd, n)
    lower, upper = np.quantile(y_star, [0.2, 0.8])
    inputs = pd.DataFrame({"x1": x1, "x2": x2, "z": z, "g": g})
    seen = observed_frame(x=x1, f=f, y_star=y_star, lower=float(lower), upper=float(upper)).drop(columns="x")
    return pd.concat([inputs, seen, pd.DataFrame(parts)], axis=1)


def simulate_latent(
    rng: np.random.Generator | int | None = None, n: int = 60, responses: int = 5, noise_sd: float = 0.2
) -> pd.DataFrame:
    r"""Simulate responses that depend on two coordinates of a row, a fifth of the values of each below its limit.

    .. math:: y^*_d = \sin(w_d' x) + v_d' x / 2 + \epsilon, \qquad x, w_d, v_d \sim N(0, I)

    Parameters
    ----------
    rng, n
        As in `simulate_groot_lucas`.
    responses : int
        Number of responses.
    noise_sd
        As in `simulate_groot_lucas`.

    Returns
    -------
    DataFrame
        Columns of pure numbers ``y1, y2, ...``, at least their limits ``limit1, limit2, ...``; without limits
        ``y_star1, y_star2, ...``; and the coordinates ``x1, x2``.

    Raises
    ------
    DataError
        If an argument is out of range.

    Examples
    --------
    >>> data = simulate_latent(n=100, responses=3)
    >>> float((data["y1"] == data["limit1"]).mean())
    0.2
    """
    check_size(n, noise_sd)
    check_size(responses, noise_sd)
    generator = seeded(rng)
    x = generator.normal(size=(n, 2))
    w, v = generator.normal(size=(2, 2, responses))
    y_star = np.sin(x @ w) + 0.5 * x @ v + generator.normal(0, noise_sd, (n, responses))
    return _limited(y_star, 0.2).assign(x1=x[:, 0], x2=x[:, 1])


def simulate_vectors(rng: np.random.Generator | int | None = None, n: int = 200) -> pd.DataFrame:
    r"""Simulate pairs of two groups, three tenths of the values of each coordinate below its limit.

    Three fifths are normal about (0, 0) with variances 1 and correlation 0.5, the others about (4, 2) with variances
    0.5 and correlation -0.5.

    Parameters
    ----------
    rng, n
        As in `simulate_groot_lucas`.

    Returns
    -------
    DataFrame
        Columns of pure numbers ``y1, y2``, at least their limits ``limit1, limit2``; without limits ``y_star1,
        y_star2``; and ``group``, 1 or 2.

    Raises
    ------
    DataError
        If an argument is out of range.

    Examples
    --------
    >>> data = simulate_vectors(n=100)
    >>> float((data["y1"] == data["limit1"]).mean())
    0.3
    """
    check_size(n, 1.0)
    generator = seeded(rng)
    first, z = generator.random(n) < 0.6, generator.normal(size=(n, 2))
    second = z * np.sqrt(0.5) @ np.array([[1.0, -0.5], [0.0, np.sqrt(0.75)]]) + [4.0, 2.0]
    y_star = np.where(first[:, None], z @ np.array([[1.0, 0.5], [0.0, np.sqrt(0.75)]]), second)
    return _limited(y_star, 0.3).assign(group=np.where(first, 1, 2))


def _limited(y_star: Array, share: float) -> pd.DataFrame:
    """Columns of responses (n, D) at least their limits, of the limits, quantiles, and of responses without these."""
    limit = np.quantile(y_star, share, axis=0)
    made = {"y": np.maximum(y_star, limit), "limit": np.broadcast_to(limit, y_star.shape), "y_star": y_star}
    return pd.DataFrame({f"{name}{d + 1}": x[:, d] for name, x in made.items() for d in range(x.shape[1])})


def simulate_cure(n: int = 400, rng: np.random.Generator | int | None = None) -> pd.DataFrame:
    r"""Simulate times of rows of which a share is cured and never has the event.

    The log odds of being cured are -0.8, and 0.2 of treated rows; the times of the others are Weibull with shape 1.25
    and scale 1 or, treated, 1.35. Rows are followed for 3 to 9 years.

    Parameters
    ----------
    n, rng
        As in `simulate_groot_lucas`.

    Returns
    -------
    DataFrame
        Columns ``treated`` (0 or 1), ``time`` (years), ``event`` (1, or 0 where it was not seen) and ``cured`` (0 or 1,
        the truth).

    Raises
    ------
    DataError
        If an argument is out of range.

    Examples
    --------
    >>> data = simulate_cure(n=1000)
    >>> int(data["event"].sum()), round(float(data.loc[data["event"] == 0, "cured"].mean()), 2)
    (568, 0.99)
    """
    check_size(n, 0.0)
    generator = seeded(rng)
    treated = generator.integers(0, 2, n)
    cured = generator.uniform(size=n) < expit(treated - 0.8)
    times = np.exp(0.3 * treated) * generator.weibull(1.25, n)
    end = generator.uniform(3.0, 9.0, n)
    event = ~cured & (times <= end)
    columns = {"treated": treated, "time": np.where(event, times, end), "event": event.astype(int)}
    return pd.DataFrame(columns | {"cured": cured.astype(int)})
