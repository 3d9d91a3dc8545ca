"""The processes of a formula: their covariances, and the names of their hyper-parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tobitgp.formula.spec import GPFactor, GPTerm
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.prior.covariance import Covariance, KernelFactor
from tobitgp.prior.kernels import KERNELS


class HyperParameter(NamedTuple):
    """One hyper-parameter before it meets the data."""

    name: str  # as users write it
    role: str  # what it does; "arc" is the length-scale of a periodic kernel, in which a circle has the radius 1
    n_inputs: int = 1  # inputs among which distances are formed, in its process
    known: float | None = None  # value given in the formula, in the user's units


SIGMA = HyperParameter("sigma", "sigma")
SIDE_NOISES = tuple(HyperParameter(name, name) for name in SIDES)
DF = HyperParameter("df", "df")


def term_covariance(term: GPTerm) -> Covariance:
    """Covariance of a term."""
    factors, start = [], 0
    for factor in term.factors:
        stop = start + len(factor.inputs)
        factors.append(KernelFactor(KERNELS[factor.kernel], slice(start, stop), factor.ard))
        start = stop
    return Covariance(tuple(factors))


def term_parameters(term: GPTerm) -> list[HyperParameter]:
    """Hyper-parameters of a term, in the order of its block's theta.

    A parameter that is not alone in its role names its inputs, as in ``lengthscale(gp(x, z))[x]``, and its kernel where
    those are not enough.
    """
    found = [entry for factor in term.factors for entry in _factor_parameters(factor)]
    words = [_word(role) for role, _, _, _ in found]
    n_inputs = sum(len(f.inputs) for f in term.factors if KERNELS[f.kernel].stationary)
    out = [HyperParameter(f"sd({term.name})", "sd" if term.factors else "group", n_inputs)]
    places = [(_word(role), inputs) for role, inputs, _, _ in found]
    for word, (role, inputs, kernel, known) in zip(words, found, strict=True):
        which = inputs if places.count((word, inputs)) == 1 else f"{inputs}, {kernel}"
        which = f"[{which}]" if words.count(word) > 1 else ""
        out.append(HyperParameter(f"{word}({term.name}){which}", role, n_inputs, known))
    return out


def _factor_parameters(factor: GPFactor) -> Iterator[tuple[str, str, str, float | None]]:
    """Role, inputs, kernel and known value of each parameter."""
    kernel, together = KERNELS[factor.kernel], ", ".join(item.text for item in factor.inputs)
    if kernel.scaled:
        for text in [item.text for item in factor.inputs] if factor.ard else [together]:
            yield "lengthscale", text, factor.kernel, None
    for role in kernel.shape:
        yield role, together, factor.kernel, factor.period if role == "period" else None


def _word(role: str) -> str:
    return "lengthscale" if role == "arc" else role
