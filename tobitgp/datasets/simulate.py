"""Synthetic problems of papers, as data frames that include the true values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd

from tobitgp.errors import DataError
from tobitgp.typing import Array, IntArray

# Draws of the components, numbered 0 and 1, and the limits between which they are seen; of counts at least 7.
KOHJIMA: dict[str, tuple[Callable[[np.random.Generator, IntArray], Array], tuple[float, float]]] = {
    "gmm": (lambda rng, z: rng.normal(np.array([-3.0, 3.0])[z], 1.0), (-4.0, 4.0)),
    "emm": (lambda rng, z: rng.exponential(1.0 / np.array([0.3, 3.0])[z]), (-math.inf, 4.0)),
    "pmm": (lambda rng, z: rng.poisson(np.array([1.0, 5.0])[z]).astype(np.float64), (-math.inf, 7.0)),
}
KARLOVA_LIMITS = {"left": (-3.0, math.inf), "right": (-math.inf, 0.0), "symmetric": (-2.0, 2.0)}


def simulate_groot_lucas(
    rng: np.random.Generator | int | None = None,
    n: int = 30,
    censored_fraction: float = 0.4,
    noise_sd: float = math.sqrt(0.1),
    design: Literal["grid", "uniform"] = "grid",
) -> pd.DataFrame:
    r"""Simulate the artificial data of Groot and Lucas.

    .. math:: y^* = (6x - 2)^2 \sin(2(6x - 2)) + \epsilon, \quad \epsilon \sim N(0, 0.1), \quad y = \max(y^*, l)

    at 30 equally spaced x in [0, 1], where l is the 40% quantile of the 30 values of y*.

    Parameters
    ----------
    rng : None, int or numpy.random.Generator
        Source of randomness; an int is a seed, None means seed 0, so the result is always the same.
    n : int
        Number of rows.
    censored_fraction : float in [0, 1]
        Which quantile of y* is the lower limit (linear interpolation, numpy's default); 0 means no limit.
    noise_sd : float
        Standard deviation of the noise, in units of y.
    design : {"grid", "uniform"}
        Equally spaced x, or n sorted independent draws from the uniform distribution (not in the paper).

    Returns
    -------
    DataFrame
        Columns of pure numbers ``x``, ``y`` (as observed, the limit itself where censored), ``f`` (true function),
        ``y_star`` (f plus noise, before censoring), ``lower`` and ``upper`` (limits, ``-inf`` or ``inf`` where there is
        none).

    Raises
    ------
    DataError
        If an argument is out of range.

    References
    ----------
    .. [1] P. Groot and P. J. F. Lucas, "Gaussian process regression with censored data using expectation propagation",
       PGM 2012, section 3.1, eq. 18.

    Examples
    --------
    >>> data = simulate_groot_lucas()
    >>> len(data), int((data["y"] == data["lower"]).sum())
    (30, 12)
    >>> data.tail(2).round(3)
            x       y       f  y_star  lower  upper
    28  0.966  13.730  13.875  13.730 -0.341    inf
    29  1.000  15.899  15.830  15.899 -0.341    inf
    """
    check_size(n, noise_sd)
    if not 0 <= censored_fraction <= 1:
        raise DataError(f"censored_fraction={censored_fraction!r}: must be in [0, 1].")
    generator = seeded(rng)
    match design:
        case "grid":
            x = np.linspace(0, 1, n)
        case "uniform":
            x = np.sort(generator.uniform(0, 1, n))
        case _:
            raise DataError(f"design={design!r}: must be 'grid' or 'uniform'.")

    f = _groot_lucas(x)
    y_star = f + generator.normal(0, noise_sd, n)
    lower = float(np.quantile(y_star, censored_fraction)) if censored_fraction > 0 else -math.inf
    return observed_frame(x=x, f=f, y_star=y_star, lower=lower, upper=math.inf)


def simulate_basson(example: Literal[1, 2] = 1, rng: np.random.Generator | int | None = None) -> pd.DataFrame:
    """Simulate one of the two synthetic examples of Basson, Louw and Smith.

    Example 1 is the problem of Groot and Lucas (`simulate_groot_lucas`). Example 2 has the same function and noise
    variance 0.1 at 30 equally spaced x in [0, 1.15], with limits at the 40% and the 90% quantile of y*, so that half of
    the rows are censored.

    Parameters
    ----------
    example : {1, 2}
        Which example.
    rng
        As in `simulate_groot_lucas`.

    Returns
    -------
    DataFrame
        Columns as in `simulate_groot_lucas`, in pure numbers.

    Raises
    ------
    DataError
        If ``example`` is neither 1 nor 2.

    Notes
    -----
    The paper takes the upper limit from "the 90th percentile of the uncensored observational data" and counts 50%
    censored rows: uncensored means before censoring, all 30 values of y*.

    References
    ----------
    .. [1] M. Basson, T. M. Louw and T. R. Smith, "Variational Tobit Gaussian process regression", Statistics and
       Computing 33, 2023, sections 5.1 and 5.2.

    Examples
    --------
    >>> data = simulate_basson(2)
    >>> int((data["y"] == data["lower"]).sum()), int((data["y"] == data["upper"]).sum())
    (12, 3)
    """
    if example not in (1, 2):
        raise DataError(f"example={example!r}: must be 1 or 2.")
    if example == 1:
        return simulate_groot_lucas(rng)
    x = np.linspace(0, 1.15, 30)
    f = _groot_lucas(x)
    y_star = f + seeded(rng).normal(0, math.sqrt(0.1), 30)
    lower, upper = np.quantile(y_star, [0.4, 0.9])
    return observed_frame(x=x, f=f, y_star=y_star, lower=float(lower), upper=float(upper))


def simulate_karlova(
    case: Literal["left", "right", "symmetric"] = "left",
    rng: np.random.Generator | int | None = None,
    *,
    n: int = 15,
    noise_sd: float = 0.1,
    x_range: tuple[float, float] = (0.0, 2.0),
) -> pd.DataFrame:
    r"""Simulate the one-dimensional problem of Karlova, Kabra, de Souza and Paige.

    .. math:: y^* = (5x - 10) \sin(10x - 20) + \epsilon, \quad y = \min(\max(y^*, l), u)

    with limits l = -3 ("left"), u = 0 ("right"), or l = -2 and u = 2 ("symmetric").

    Parameters
    ----------
    case : {"left", "right", "symmetric"}
        Which limits.
    rng
        As in `simulate_groot_lucas`.
    n : int
        Number of rows, 15 in the paper.
    noise_sd : float
        Standard deviation of the noise, in units of y.
    x_range : pair of float
        Ends of the interval from which x is drawn, pure numbers.

    Returns
    -------
    DataFrame
        Columns as in `simulate_groot_lucas`, in pure numbers, in increasing order of x.

    Raises
    ------
    DataError
        If an argument is out of range.

    Notes
    -----
    The paper gives the function, n and the limits, but neither the noise nor how x is drawn; on [0, 2] all three limits
    bite. The number of censored rows varies from draw to draw, and can be 0.

    References
    ----------
    .. [1] A. Karlova, R. Kabra, D. A. de Souza and B. Paige, "Variational inference with censored Gaussian process
       regressors", 2024, appendix A.

    Examples
    --------
    >>> data = simulate_karlova("symmetric")
    >>> float(data["y"].min()), float(data["y"].max())
    (-2.0, 2.0)
    """
    check_size(n, noise_sd)
    if case not in KARLOVA_LIMITS:
        raise DataError(f"case={case!r}: must be one of {', '.join(map(repr, KARLOVA_LIMITS))}.")
    low, high = x_range
    if not -math.inf < low < high < math.inf:
        raise DataError(f"x_range={x_range!r}: must be two finite numbers in increasing order.")

    generator = seeded(rng)
    noise = generator.normal(0, noise_sd, n)
    x = np.sort(generator.uniform(low, high, n))
    f = (5 * x - 10) * np.sin(10 * x - 20)
    y_star = f + noise
    lower, upper = KARLOVA_LIMITS[case]
    return observed_frame(x=x, f=f, y_star=y_star, lower=lower, upper=upper)


def simulate_kohjima(
    case: Literal["gmm", "emm", "pmm"] = "gmm", seed: np.random.Generator | int | None = None, *, n: int = 100
) -> pd.DataFrame:
    r"""Simulate the mixtures of Kohjima, Matsubayashi and Toda.

    Two components have the weight 1/2 each:

    - ``"gmm"``: normal with means -3 and 3 and precisions 1, seen between -4 and 4
    - ``"emm"``: exponential with rates 0.3 and 3, seen up to 4
    - ``"pmm"``: Poisson with rates 1 and 5, seen up to 6

    Parameters
    ----------
    case : {"gmm", "emm", "pmm"}
        Which mixture.
    seed : None, int or numpy.random.Generator
        Source of randomness, as ``rng`` in `simulate_groot_lucas`.
    n : int
        Number of rows; the paper has 10,000 in each test set, and varies it in training sets.

    Returns
    -------
    DataFrame
        Columns of pure numbers ``y`` (as observed, the limit itself where censored), ``y_star`` (before censoring),
        ``component`` (1 or 2, the truth), ``lower`` and ``upper`` (limits, ``-inf`` or ``inf`` where there is none).
        The formula is ``"y ~ mixture(2) | censor(lower, upper)"``. Counts above 6 are "at least 7" in it, so ``upper``
        is 7.

    Raises
    ------
    DataError
        If an argument is out of range.

    References
    ----------
    .. [1] M. Kohjima, T. Matsubayashi and H. Toda, "Variational Bayes for mixture models with censored data",
       ECML PKDD 2019, section 6.1.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = simulate_kohjima("pmm", seed=1)
    >>> int((data["y"] == 7).sum()), data["component"].value_counts().to_dict()
    (12, {1: 50, 2: 50})
    >>> res = tg.fit("y ~ mixture(2) | censor(lower, upper)", data, family="poisson")
    >>> res.params[["rate[1]", "rate[2]"]].round(1).tolist()
    [0.9, 4.9]
    """
    check_size(n, 0.0)
    if case not in KOHJIMA:
        raise DataError(f"case={case!r}: must be one of {', '.join(map(repr, KOHJIMA))}.")
    draw, (low, high) = KOHJIMA[case]
    generator = seeded(seed, "seed")
    component = generator.integers(0, 2, n)
    y = draw(generator, component)
    columns = {"y": np.clip(y, low, high), "y_star": y, "component": component + 1, "lower": low, "upper": high}
    return pd.DataFrame(columns)


def _groot_lucas(x: Array) -> Array:
    """Groot and Lucas, eq. 18."""
    return np.asarray((6 * x - 2) ** 2 * np.sin(2 * (6 * x - 2)))


def observed_frame(*, x: Array, f: Array, y_star: Array, lower: float, upper: float) -> pd.DataFrame:
    """Censor y_star and put everything side by side."""
    y = np.clip(y_star, lower, upper)
    return pd.DataFrame({"x": x, "y": y, "f": f, "y_star": y_star, "lower": lower, "upper": upper})


def check_size(n: int, noise_sd: float) -> None:
    """Raise an error for numbers with which nothing can be drawn."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise DataError(f"n={n!r}: must be a positive whole number.")
    if not 0 <= noise_sd < math.inf:
        raise DataError(f"noise_sd={noise_sd!r}: must be a finite number of 0 or more.")


def seeded(rng: np.random.Generator | int | None, name: str = "rng") -> np.random.Generator:
    """Turn the three forms of ``rng`` into a generator; None is seed 0, never the clock."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng(0)
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or rng < 0:
        raise DataError(f"{name}={rng!r}: must be None, a seed (a whole number of 0 or more) or a numpy Generator.")
    return np.random.default_rng(int(rng))
