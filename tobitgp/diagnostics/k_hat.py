"""Whether a Gaussian posterior q is close to the exact one: the Pareto shape of the weights p(f) p(y | f) / q(f).

(CHK10) of the theory pages: the weights are equal where q is right; it judges all of f jointly, and may be large where
every single marginal is good. Yao, Vehtari, Simpson and Gelman, "Yes, but did it work?", ICML 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tobitgp.data.notebook import html_of_text
from tobitgp.diagnostics.training_draws import chunks, training_rows
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.engines import map_independent, single_blas_thread
from tobitgp.numerics.sampling import generator, good_shape, smooth
from tobitgp.results.likelihood.likelihood_draws import EstimateDraws
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.inference.partitioned import Sites
    from tobitgp.inference.rows_together import DrawnWeights
    from tobitgp.kinds.process import ProcessParts

GOOD, USELESS = 0.5, 1.0
ENOUGH, NEARLY = 0.2, 0.9
OF_EP = "Compare the evidence and the means with those of other methods by compare_bounds()"
OF_PROCESS = "Fit again with method='ep', which is the most accurate one"
OF_LIKELIHOOD = "Use profile_interval() for intervals"
OF_ROBUST = "Use bootstrap() for intervals"
_CONSTANT = 1e-6
_HEAVY = 100_000


@dataclass(frozen=True, slots=True, repr=False)
class KHat:
    """A Pareto shape, and what it says of a Gaussian posterior; (CHK5), (CHK6) and (CHK10) of the theory pages.

    Attributes
    ----------
    k : float
        The shape, a pure number; ``-inf`` where the posterior is exact.
    draws : int
        Number of draws.
    efficiency : float
        Effective number of draws as a share of ``draws``. k depends only on the tail of the weights and varies: for
        correct models with 200 rows it is often 0.7 to 0.9 with an efficiency of 97%.
    remedy : str
        Advice if the posterior is not exact enough.
    exact : str
        The distribution that is approximated: the posterior, or the likelihood of a fit by maximum likelihood.

    Examples
    --------
    >>> KHat(0.3, 1000, 0.8)
    k-hat 0.30 of 1000 draws worth 80%: the Gaussian approximation is close to the exact posterior.
    >>> float(KHat(0.3, 1000, 0.8)), KHat(0.9, 1000, 0.1).good
    (0.3, False)
    """

    k: float
    draws: int
    efficiency: float
    remedy: str = OF_PROCESS
    exact: str = "posterior"

    @property
    def good(self) -> bool:
        """Whether the posterior may be used.

        k is below 0.7, or what so many draws can tell from it; or below 1 and draws are worth a fifth; or draws are
        worth nine tenths.
        """
        return self.k <= good_shape(self.draws) or self.efficiency > (ENOUGH if self.k < USELESS else NEARLY)

    @property
    def words(self) -> str:
        """What the number means."""
        if np.isneginf(self.k):
            return f"the Gaussian approximation is the exact {self.exact}"
        if self.k <= GOOD:
            return f"the Gaussian approximation is close to the exact {self.exact}"
        if self.good:
            return "the Gaussian approximation is adequate; far tails and joint probabilities are less accurate"
        return f"the Gaussian approximation differs from the exact {self.exact}. {self.remedy}"

    def __float__(self) -> float:
        return self.k

    def __repr__(self) -> str:
        return f"k-hat {self.k:.2f} of {self.draws} draws worth {100.0 * self.efficiency:.0f}%: {self.words}."

    def _repr_html_(self) -> str:
        """The number in words, in a notebook."""
        return html_of_text(self)


def process_k_hat(parts: ProcessParts, draws: int, rng: int | np.random.Generator | None) -> KHat:
    """K-hat of the posterior at the mode of the hyper-parameters: the likelihood of draws over that of their sites."""
    from tobitgp.inference.rows_together import draw
    from tobitgp.kinds.process import refuse_censoring_noises
    from tobitgp.kinds.rows_left_out import site_order

    training_rows(parts, "k_hat()")
    refuse_censoring_noises(parts, "k_hat()")
    n, point, stream = len(parts.rows.labels), parts.fitted.points[0], generator(rng)
    sites = site_order(point, parts.gp.problem.order)
    drawn = draw(point, parts.gp.inputs(parts.rows.design), draws, stream)
    spans = list(zip(chunks(n), stream.integers(2**63, size=len(chunks(n))).tolist(), strict=True))
    with single_blas_thread():
        sums = map_independent(lambda at: _log_ratio(parts, drawn, sites, *at), spans, heavy=n * draws > _HEAVY)
    return _judge(np.sum(sums, axis=0), OF_EP if parts.fitted.method.name == "ep" else OF_PROCESS)


def regression_k_hat(draws: EstimateDraws) -> KHat:
    """K-hat of the normal distribution of a regression's estimates against its likelihood under a flat prior."""
    rows, robust = draws.parts.rows, draws.parts.cov_type != "nonrobust"
    weight, remedy = (rows.tested_weight, OF_ROBUST) if robust else (rows.response.weight, OF_LIKELIHOOD)
    log_ratio = 0.5 * draws.squares
    for at, value in draws.log_likelihoods():
        log_ratio = log_ratio + weight[at] @ value
    return _judge(log_ratio, remedy, "likelihood")


def _log_ratio(parts: ProcessParts, drawn: DrawnWeights, sites: Sites, rows: slice, seed: int) -> Array:
    """Weighted log likelihood of some rows under draws, less what their sites say, (S,).

    What the features leave of f is integrated out under Gaussian noise, and drawn elsewhere.
    """
    gp, point, design = parts.gp, parts.fitted.points[0], parts.rows.design
    scale, at = gp.problem.units.scale, np.arange(rows.start, rows.stop)
    seen = parts.rows.response.rows(at)
    inputs = [part.rows(rows) for part in gp.inputs(design)]
    distribution = parts.family.distribution_at(point.theta)
    residual = np.maximum(point.features(inputs)[1], 0.0)
    f = drawn.rows(rows).at(point, inputs)
    sites, log_noise = sites.rows(rows), np.zeros((len(at), 1))
    if point.noise:
        log_noise = drawn.log_noise(point, inputs)[0]
        u = np.stack([f, log_noise])
        of_sites = np.einsum("ni,ins->s", sites.lambda1, u)
        of_sites -= 0.5 * np.einsum("ins,nij,jns->s", u, sites.lambda2, u, optimize=True)
    else:
        of_sites = sites.lambda1 @ f - 0.5 * (sites.lambda2 @ np.square(f))
    open_window = np.isinf(seen.entry) & np.isinf(seen.exit)
    joined = np.where(open_window & distribution.gaussian, residual, 0.0)
    if (residual > joined).any():
        f += np.sqrt(residual - joined)[:, None] * np.random.default_rng(seed).standard_normal(f.shape)
    noise = np.broadcast_to(gp.noise(design, point.theta), len(design.H))[rows]
    sigma = scale * np.sqrt(np.square(noise[:, None] * np.exp(log_noise)) + joined[:, None])
    y = LocationScale(distribution, gp.known_mean(design)[rows][:, None] + scale * f, sigma, parts.family.log_time)
    value = y.log_likelihood(seen.lower, seen.upper, seen.entry, seen.exit)
    return np.asarray(seen.weight @ value - of_sites)


def _judge(log_ratio: Array, remedy: str, exact: str = "posterior") -> KHat:
    constant = np.ptp(log_ratio) < _CONSTANT
    k = -np.inf if constant else float(smooth(log_ratio[None]).k[0])
    weight = np.exp(log_ratio - log_ratio.max())
    share = float(weight.sum() ** 2 / np.square(weight).sum() / len(weight))
    return KHat(k, len(log_ratio), min(share, 1.0), remedy, exact)
