r"""Where to measure next: rows of a table of candidates by what a fit expects to learn from them.

f has in all rows together the normal distribution of the mean m and covariance V that the fit gives, hyper-parameters
averaged over. A response of row x is f_x plus noise of variance s^2, and may be censored at the row's own limits; it
takes away, on average over what may be seen (SUG1),

.. math:: \Delta V = \frac{\kappa_x V_{\cdot x} V_{x \cdot}}{V_{xx} + s^2}, \qquad
          \kappa_x = P(\text{exact}) + P(\text{left}) \delta(a) + P(\text{right}) \delta(-b),

a and b the limits in standard deviations of the response, and delta(z) = h(z) (z + h(z)), h = phi / Phi, the share of
the variance of a normal variable that goes when it is known to lie below z. For batches the rows chosen are taken out
of V one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, owens_t

from tobitgp.data.frames import reads_frames
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.errors import DataError, SpecError
from tobitgp.kinds.process_nodes import nodes_of
from tobitgp.numerics.normal_functions import mills
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.rows import Asked, ask
from tobitgp.typing import Array, Frame

MOST_ROWS = 5000  # candidates and reference rows, whose covariance is formed
DRAWS = 4096
_UNUSABLE = "No candidate, or no reference row, can be used: their inputs are missing."
GOALS = ("integrated_variance", "expected_improvement", "limit_exceedance")


class Known(NamedTuple):
    """What is known about f in rows together, candidates first, reference rows last."""

    mean: Array  # (n,)
    V: Array  # (n, n)
    share: Array  # (c,), of what an exact response would tell, kappa
    noise: Array  # (c,), variances
    n_reference: int

    def fall(self, V: Array) -> Array:
        """By how much each candidate lowers the variance in the reference rows, (c, r), where the covariance is V."""
        c, first = len(self.share), len(V) - self.n_reference
        return self.share[:, None] * np.square(V[:c, first:]) / (V.diagonal()[:c] + self.noise)[:, None]

    def without(self, V: Array, x: int) -> Array:
        """V less what candidate x tells, (SUG1)."""
        return V - self.share[x] / (V[x, x] + self.noise[x]) * np.multiply.outer(V[:, x], V[x])


@reads_frames
def suggest(
    results: GPResults,
    candidates: Frame,
    k: int = 1,
    goal: str = "integrated_variance",
    *,
    reference: Frame | None = None,
    limit: float | None = None,
    maximize: bool = True,
    best: float | None = None,
    rng: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Choose candidates to measure next, each given those chosen before it.

    The choice accounts for censoring: a response that is likely to be censored, at the limits of its candidate, is less
    informative. Runs that were capped ("at least this") are right-censored rows of the fit.

    Parameters
    ----------
    results : GPResults
        A fit under a prior.
    candidates : DataFrame or dict of columns
        Rows that could be measured, with the inputs of the formula, and its limits if they are columns. Without limits,
        responses are assumed to be uncensored.
    k : int
        Number of points.
    goal : {"integrated_variance", "expected_improvement", "limit_exceedance"}
        The goal: the largest reduction of the variance of f, averaged over the reference rows; the largest expected
        improvement of f over the best row so far; or the clearest decision in which reference rows f exceeds a limit,
        which is the largest reduction of the mean of ``p (1 - p)``, where p is the probability of exceedance.
    reference : DataFrame or dict of columns, optional
        Rows for which f is of interest (default: all candidates).
    limit : float, optional
        For ``"limit_exceedance"``, in the units of the response.
    maximize : bool
        For ``"expected_improvement"``: whether large or small f is better.
    best : float, optional
        For ``"expected_improvement"``: the f to improve on, in its units (default: the best posterior mean in the
        training rows).
    rng : int or numpy Generator, optional
        For ``"expected_improvement"``, which draws 4096 times. With None the result is deterministic.

    Returns
    -------
    DataFrame
        The chosen rows in order, with the current ``estimate`` and ``se`` of f, and ``gain``, the contribution of each:
        in squared units of f, units of f, or a pure number. For log-time families, f is on the log scale.

    Raises
    ------
    SpecError
        If the fit has no prior, the goal is unknown, there are too many or too few candidates, or a limit is missing.
    DataError, UnseenLevelError
        If the candidates cannot be used, have only some of the limits, or have columns named ``estimate``, ``se`` or
        ``gain``.

    References
    ----------
    (SUG1) to (SUG3) of the theory pages. D. Cohn (1996), Neural network exploration using optimal experiment design,
    *Neural Networks* 9; D. Ginsbourger, R. Le Riche and L. Carraro (2010), Kriging is well-suited to parallelize
    optimization; C. Chevalier and others (2014), Fast parallel kriging-based stepwise uncertainty reduction,
    *Technometrics* 56.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_groot_lucas()
    >>> res = tg.fit("y ~ gp(x) | censor(lower)", data, method=tg.EP(hyper="maximize"))
    >>> tg.suggest(res, {"x": [0.1, 0.5, 0.9, 1.4], "lower": data["lower"].iloc[:4]}, k=2)["x"].tolist()
    [1.4, 0.1]
    """
    table = _read_candidates(candidates, "candidates")
    _check(results, goal, k, table, {"limit": limit, "best": best, "reference": reference})
    if goal == "expected_improvement":
        asked = ask(results.parts, table)
        chosen = _improve(results, asked, table, k, best, 1.0 if maximize else -1.0, rng)
    else:
        known, asked = _known(results, table, None if reference is None else _read_candidates(reference, "reference"))
        score = _variance_gain if limit is None else _exceedance_gain(known, _modelled(results, limit))
        chosen = _choose(known, k, score)
    at, gain = np.flatnonzero(asked.usable)[[x for x, _ in chosen]], [value for _, value in chosen]
    found = table.iloc[at]
    latent: Any = results.predict(found, what="latent", se=True)
    return found.assign(estimate=latent["estimate"].to_numpy(), se=latent["se"].to_numpy(), gain=gain)


ADDED = ("estimate", "se", "gain")


def _read_candidates(given: Any, what: str) -> pd.DataFrame:
    """A table of rows, none of whose columns has the name of one that is added."""
    if not isinstance(given, (pd.DataFrame, Mapping)):
        raise DataError(f"{what}= must be a DataFrame or a dict of columns, not {type(given).__name__}.")
    try:
        return pd.DataFrame(given if isinstance(given, pd.DataFrame) else dict(given))
    except ValueError as error:
        raise DataError(f"{what}: {error}") from None


def _check(results: Any, goal: str, k: Any, table: pd.DataFrame, given: Mapping[str, Any]) -> None:
    if not getattr(getattr(results, "parts", None), "has_sites", False):
        raise SpecError(
            'suggest() requires a fit of one response under a prior: a formula with gp() or re(), or method="ep". For '
            "several responses choose one, e.g. res['y1']."
        )
    if goal not in GOALS:
        raise SpecError(f"goal={goal!r}: must be one of {', '.join(map(repr, GOALS))}.")
    n, improve = len(table), goal == "expected_improvement"
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= n:
        raise SpecError(f"k={k!r}: must be a whole number from 1 to the number of candidates, {n}.")
    if (given["limit"] is None) != (goal != "limit_exceedance"):
        raise SpecError(f"limit={given['limit']!r}: must be a number with goal='limit_exceedance', and None otherwise.")
    if (given["best"] is not None and not improve) or (given["reference"] is not None and improve):
        name = "reference" if improve else "best"
        raise SpecError(f"{name}= cannot be combined with goal={goal!r}. Leave it out.")
    for name in ("limit", "best"):
        value = given[name]
        if value is not None and (not isinstance(value, Real) or not math.isfinite(value)):
            raise SpecError(f"{name}={value!r}: must be a finite number.")
    if given["limit"] is not None and results.parts.family.log_time and given["limit"] <= 0:
        raise SpecError(f"limit={given['limit']!r}: must be positive, like the responses of this family.")
    taken = next((name for name in ADDED if name in table.columns), None)
    if taken is not None:
        raise DataError(f"The candidates have a column {taken!r}, which suggest() adds. Rename it.")
    limits = results.parts.spec.names("limit")
    missing = [name for name in limits if name not in table.columns]
    if missing and len(missing) < len(limits):
        raise DataError(f"The candidates have only some of the limits of the formula. Add the column {missing[0]!r}.")


def _modelled(results: GPResults, given: Any) -> Any:
    """Values of the response on the scale of f."""
    return results.parts.reported.modelled(np.asarray(given, dtype=np.float64))


def _known(results: GPResults, table: pd.DataFrame, reference: pd.DataFrame | None) -> tuple[Known, Asked]:
    """What is known about f in candidates and reference rows, and the candidates."""
    asked = ask(results.parts, table)
    c = int(asked.usable.sum())
    together, n_reference = asked, c
    if reference is not None:
        names = [name for name in results.parts.state.input_names if name in table and name in reference]
        together = ask(results.parts, pd.concat([table[asked.usable][names], reference[names]], ignore_index=True))
        n_reference = int(together.usable[c:].sum())
    if not c or not n_reference:
        raise SpecError(_UNUSABLE)
    if together.usable.sum() > MOST_ROWS:
        raise SpecError(
            f"The covariance of {together.usable.sum()} rows is too large. suggest() supports {MOST_ROWS} candidates "
            "and reference rows together. Draw a sample of them."
        )
    mean, V = results._joint.moments(together)
    nodes = nodes_of(results.parts.reported.fit, asked.design)
    variances = np.array([1.0 / information(noise) for noise in nodes.noises])
    noise = nodes.weight @ (np.square(nodes.sigma) * variances[:, None]) * np.ones(c)
    share = _shares(mean[:c], np.sqrt(V.diagonal()[:c] + noise), *_limits(results, asked, c))
    return Known(mean, V, share, noise, n_reference), asked


def information(noise: Distribution) -> float:
    """Fisher's information about the location, of noise of scale 1: what a response tells near the posterior mean."""
    if noise.gaussian:
        return 1.0
    z, h = noise.ppf(np.linspace(2.5e-4, 1.0 - 2.5e-4, 2000)), 1e-4
    slope = (noise.logpdf(z + h) - noise.logpdf(z - h)) / (2.0 * h)
    return float(np.mean(slope * slope))


def _limits(results: GPResults, asked: Asked, c: int) -> tuple[Array, Array]:
    """Limits of the candidates on the scale of f, open where they are not known."""
    try:
        limits = asked.limits()
    except SpecError:
        return np.full(c, -np.inf), np.full(c, np.inf)
    lower = np.where(np.isneginf(limits.lower), -np.inf, _modelled(results, limits.lower))
    return np.where(np.isnan(lower), -np.inf, lower), _modelled(results, limits.upper)


def _shares(mean: Array, sd: Array, lower: Array, upper: Array) -> Array:
    """Kappa of (SUG1), (c,)."""
    a, b = (lower - mean) / sd, (upper - mean) / sd
    out = ndtr(b) - ndtr(a)
    for end, z in ((lower, a), (upper, -b)):
        there = np.isfinite(end)
        h, excess = mills(z[there])
        out[there] += ndtr(z[there]) * h * excess
    return out


Gain = Callable[[Known, Array], Array]


def _choose(known: Known, k: int, gain: Gain) -> list[tuple[int, float]]:
    """Candidates of highest gain, one after the other."""
    V, open_ = known.V, np.ones(len(known.share), dtype=bool)
    chosen: list[tuple[int, float]] = []
    for _ in range(min(k, len(open_))):
        gains = np.where(open_, gain(known, V), -np.inf)
        x = int(np.argmax(gains))
        chosen.append((x, float(gains[x])))
        V, open_[x] = known.without(V, x), False
    return chosen


def _variance_gain(known: Known, V: Array) -> Array:
    """Fall of the mean variance, (SUG1)."""
    return known.fall(V).mean(axis=1)


def _exceedance_gain(known: Known, limit: float) -> Gain:
    """Fall of the mean of ``p (1 - p)``, (SUG3)."""
    at = slice(len(known.V) - known.n_reference, None)
    variance = np.maximum(known.V.diagonal()[at], 1e-300)
    z = (known.mean[at] - limit) / np.sqrt(variance)

    def left(share: Array) -> Array:
        return 2.0 * owens_t(z, np.sqrt((1.0 - share) / (1.0 + share)))

    def gain(known: Known, V: Array) -> Array:
        told = np.clip(1.0 - V.diagonal()[at] / variance, 0.0, 1.0)
        more = np.clip(told + known.fall(V) / variance, 0.0, 1.0)
        return np.asarray((left(told) - left(more)).mean(axis=1))

    return gain


def _improve(
    results: GPResults, asked: Asked, table: pd.DataFrame, k: int, best: float | None, sign: float, rng: Any
) -> list[tuple[int, float]]:
    """Rows whose best f is expected to be farthest beyond the best so far, from joint draws, (SUG2)."""
    if best is None:
        if results.parts.training is None:
            raise SpecError("best= must be given, because the fit holds no training rows.")
        best = sign * float(np.nanmax(sign * np.asarray(results.predict(what="latent"))))
    if not asked.usable.any():
        raise SpecError(_UNUSABLE)
    latent: Any = results.predict(table[asked.usable], what="latent", se=True)
    score = (sign * latent["estimate"].to_numpy() - sign * best) / np.maximum(latent["se"].to_numpy(), 1e-300)
    f = sign * results.sample(table[asked.usable], draws=DRAWS, what="latent", rng=rng).to_numpy()
    top = np.full(f.shape[1], sign * best)
    chosen: list[tuple[int, float]] = []
    for _ in range(min(k, len(f))):
        gains = np.maximum(f - top, 0.0).mean(axis=1)
        gains[[x for x, _ in chosen]] = -np.inf
        # Where no draw improves, the row that is nearest to it.
        x = int(np.argmax(gains)) if gains.max() > 0.0 else int(np.argmax(np.where(gains < 0.0, -np.inf, score)))
        chosen.append((x, float(gains[x])))
        top = np.maximum(top, f[x])
    return chosen
