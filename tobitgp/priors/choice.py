"""The representation of each process: low-rank features, or a structure; there is at most one structure.

Half-integer Matern processes of one input are exactly Markov, so they become a chain as soon as a hundred features have
an approximation gap; those of the same input share a chain. Vecchia's prior, which is not exact, is used for rough
fields in few inputs if five hundred features leave more than a nat. For other processes of several inputs all rows are
features while these are few; beyond that it is used if doubling its neighbours changes less than the gap of the
features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tobitgp.priors.group_effects import EffectsBlock, GroupEffects
from tobitgp.priors.kernel_block import GPPrior, KernelBlock
from tobitgp.priors.kernels import Covariance
from tobitgp.priors.markov import Markov, is_markov
from tobitgp.priors.prior import Prior
from tobitgp.priors.structure import Block, Inputs, Knots, Structure, StructuredTerm, distinct, split_theta
from tobitgp.priors.vecchia import Vecchia
from tobitgp.typing import Array

FEATURES = {"markov": 100, "vecchia": 500}  # that a process is tried with
LEFT = 1.0  # largest gap of these in nats, above which Vecchia's prior is used
MOST_PLACES = 20_000  # beyond which factors of Vecchia's precision take minutes
# Most columns of other terms next to a structure that was not requested, since each is solved with it; and if the gap
# of the features is large, as many columns as have this many numbers in all rows.
MOST_COLUMNS, MOST_NUMBERS = 200, 10_000_000

DENSE_PLACES = 2500  # distinct rows that are features all of them where a smooth process takes so many
ROUGH, ROUGH_INPUTS = (0, 1), 3  # smoothness p + 1/2, and inputs, of fields that few neighbours determine
FEATURES_FIRST = "features"  # neighbours come second

ApproximationKind = Literal["markov", "vecchia"]


@dataclass(frozen=True, slots=True)
class StructureCandidate:
    """A process that can become a structure."""

    term: int  # among the processes
    kind: ApproximationKind
    left: float  # gap of its features in nats; infinite if the structure was requested


def choose_blocks(
    prior: Prior,
    theta: Array,
    precision: Array,
    rows: Callable[[int], Inputs],
    *,
    nats: float,
    cap: int,
) -> list[Block]:
    """Blocks in order, fit for ``theta`` and site precisions, on rows with inputs ``rows(block)``."""
    parts = split_theta(prior.gps, theta)
    share, first = nats / max(len(prior.gps), 1), 0 if prior.linear is None else 1
    chosen: dict[int, Block] = {}
    candidates = []
    kinds = [structure_of(gp) for gp in prior.gps]
    tried = max((FEATURES[kind] for kind in kinds if kind is not None), default=0)
    for t, (gp, own, kind) in enumerate(zip(prior.gps, parts, kinds, strict=True)):
        if kind is None:
            continue
        left = np.inf
        if gp.approximation == "auto":
            block, left = gp.low_rank(own, precision, nats=share, cap=tried)
            if left <= nats:
                chosen[t] = replace(block, Z=block.Z[:cap])  # the first chosen tell most
                continue
        if kind == "markov" or left > LEFT:
            candidates.append(StructureCandidate(t, kind, left))
    standing = together(prior.gps, candidates)
    for t, (gp, own) in enumerate(zip(prior.gps, parts, strict=True)):
        if t not in standing and t not in chosen:
            chosen[t] = gp.low_rank(own, precision, nats=share, cap=cap)[0]
    columns, asked = _columns(prior, chosen), any(np.isinf(c.left) for c in candidates)
    if columns > MOST_COLUMNS and not asked:
        low_rank = {t: prior.gps[t].low_rank(parts[t], precision, nats=share, cap=cap) for t in standing}
        if columns * len(precision) > MOST_NUMBERS or all(left <= LEFT for _, left in low_rank.values()):
            chosen |= {t: block for t, (block, _) in low_rank.items()}
            standing = []
    if standing:
        built = build(prior.gps, standing, parts, lambda term: rows(first + term))
        for t in standing:
            gp = prior.gps[t]
            chosen[t] = StructuredTerm(gp.inputs, gp.n_parameters, built, gp.grouping)
    return prior.with_linear([chosen[t] for t in range(len(prior.gps))])


def _columns(prior: Prior, chosen: Mapping[int, Block]) -> int:
    """Columns of all features, those of groups spread out."""
    columns = prior.n_linear
    for block in chosen.values():
        if isinstance(block, KernelBlock | EffectsBlock):
            width = len(block.Z) if isinstance(block, KernelBlock) else block.size
            columns += width * (1 if block.grouping is None else block.grouping.size)
    return columns


def structure_of(gp: GPPrior) -> ApproximationKind | None:
    """The kind of structure that a process can have, if any."""
    if gp.approximation == "markov":
        return "markov"
    if gp.approximation == "vecchia":
        return "vecchia"
    factors = gp.covariance.factors
    if gp.approximation != "auto" or not isinstance(gp.inducing, str) or gp.moves or not factors:
        return None
    if is_markov([gp.covariance]):
        return "markov"
    return "vecchia" if gp.inputs.X.shape[1] > 1 and all(factor.n_scales for factor in factors) else None


def of_several_inputs(covariance: Covariance, inputs: Inputs) -> str:
    """What may stand for a process of several inputs that was left to choose."""
    X = inputs.X
    if not all(factor.n_scales for factor in covariance.factors):
        return "low_rank"
    if X.shape[1] <= ROUGH_INPUTS and all(factor.kernel.markov in ROUGH for factor in covariance.factors):
        return "auto"
    few = len(X) <= DENSE_PLACES or len(distinct(inputs)[0].X) <= DENSE_PLACES
    return "low_rank" if few else FEATURES_FIRST


def with_neighbours(prior: Prior, theta: Array, precision: Array, *, cap: int) -> Prior | None:
    """The prior with Vecchia's for that process of several inputs of which features leave most; None without one."""
    left = {
        t: gp.low_rank(own, precision, nats=LEFT, cap=cap)[1]
        for t, (gp, own) in enumerate(zip(prior.gps, split_theta(prior.gps, theta), strict=True))
        if gp.approximation == FEATURES_FIRST
    }
    if not left or max(left.values()) <= LEFT:
        return None
    chosen = max(left, key=lambda t: left[t])
    gps = (replace(gp, approximation="vecchia") if t == chosen else gp for t, gp in enumerate(prior.gps))
    return replace(prior, gps=tuple(gps))


def default_neighbours(inputs: int) -> int:
    """Neighbours in Vecchia's prior: with more inputs a location has more informative neighbours."""
    return 20 if inputs <= 2 else 40


def together(gps: Sequence[GPPrior], candidates: Sequence[StructureCandidate]) -> list[int]:
    """Processes in the structure: the one with the largest gap of its features, and those that can share it."""
    if not candidates:
        return []
    best = max(candidates, key=lambda candidate: candidate.left)
    if best.kind == "vecchia":
        return [best.term]
    own = gps[best.term]
    same = [c.term for c in candidates if c.kind == "markov" and _equal(gps[c.term].inputs, own.inputs)]
    constant = [
        t
        for t, gp in enumerate(gps)
        if not gp.covariance.factors and not isinstance(gp, GroupEffects) and gp.grouping == own.grouping is not None
    ]
    return sorted([*same, *constant])


def _equal(a: Inputs, b: Inputs) -> bool:
    codes = a.code is b.code or (a.code is not None and b.code is not None and np.array_equal(a.code, b.code))
    return codes and np.array_equal(a.X, b.X)


def build(
    gps: Sequence[GPPrior], standing: Sequence[int], theta: Sequence[Array], rows: Callable[[int], Inputs]
) -> Knots:
    """The structure of some processes on all rows; the first that is not a random intercept has the inputs."""
    lead = next(t for t in standing if gps[t].covariance.factors)
    at, of_row = distinct(rows(lead))
    gp = gps[lead]
    structure: Structure
    if structure_of(gp) == "vecchia":
        neighbours = gp.neighbours or default_neighbours(at.X.shape[1])
        structure = Vecchia(at, gp.covariance, neighbours, gp.covariance.scales(np.exp(theta[lead][1:])))
    else:
        structure = Markov(at, tuple(gps[t].covariance for t in standing))
    return Knots(structure, of_row)
