"""A structure by dense matrices, and blocks that stand in any structure."""

from dataclasses import dataclass

import numpy as np

from support.problems import product
from tobitgp.data.arrays import join
from tobitgp.inference.partitioned import cut
from tobitgp.priors.kernels import Covariance
from tobitgp.priors.structure import Inputs, Knots, StructuredTerm, distinct


def covariance_between(terms, theta, a, b, which=None):
    """Covariance of the terms of a structure between two sets of inputs."""
    K = np.zeros((len(a.X), len(b.X)))
    for t, (term, own) in enumerate(zip(terms, theta, strict=True)):
        if which is None or t in which:
            K += np.exp(2.0 * own[0]) * term.value(a.X, b.X, np.exp(own[1:]))
    return K if a.code is None else np.where(np.equal.outer(a.code, b.code), K, 0.0)


@dataclass(frozen=True)
class Dense:
    lead = 0

    inputs: Inputs
    terms: tuple[Covariance, ...]

    def at(self, theta):
        return DenseAt(self, tuple(theta))

    def extended(self, inputs):
        return Dense(join([self.inputs, inputs]), self.terms)


@dataclass(frozen=True)
class DenseAt:
    structure: Dense
    theta: tuple

    @property
    def K(self):
        inputs = self.structure.inputs
        return covariance_between(self.structure.terms, self.theta, inputs, inputs)

    def condition(self, lambda2):
        return ConditionedDense(self, np.asarray(lambda2, float))

    def draw(self, draws, rng):
        K = self.K
        L = np.linalg.cholesky(K + 1e-12 * np.eye(len(K)))
        return L @ rng.standard_normal((len(K), draws))


@dataclass(frozen=True)
class ConditionedDense:
    at: DenseAt
    lambda2: np.ndarray

    @property
    def inner(self):
        """``(I + Lambda K)^-1``."""
        return np.linalg.inv(np.eye(len(self.lambda2)) + self.lambda2[:, None] * self.at.K)

    @property
    def variance(self):
        return np.diag(self.at.K @ self.inner)

    @property
    def log_det(self):
        return -np.linalg.slogdet(self.inner)[1]

    def solve(self, U):
        return self.at.K @ self.inner @ U

    def gradient(self, U, signs):
        x = self.inner @ U
        R = self.inner * self.lambda2
        W = 0.5 * (x * signs) @ x.T - 0.5 * R
        inputs, out = self.at.structure.inputs, []
        for term, own in zip(self.at.structure.terms, self.at.theta, strict=True):
            value = term.value(inputs.X, inputs.X, np.exp(own[1:]))
            G = np.exp(2.0 * own[0]) * (W if inputs.code is None else W * np.equal.outer(inputs.code, inputs.code))
            slopes = term.contract(inputs.X, inputs.X, np.exp(own[1:]), value, G)
            out += [2.0 * np.sum(G * value), *slopes]
        return np.array(out)

    def smooth(self, U):
        return SmoothedDense(self, U)


@dataclass(frozen=True)
class SmoothedDense:
    conditioned: ConditionedDense
    U: np.ndarray

    def at(self, inputs, terms=None):
        at, inner = self.conditioned.at, self.conditioned.inner
        cross = covariance_between(at.structure.terms, at.theta, inputs, at.structure.inputs, terms)
        prior = np.diag(covariance_between(at.structure.terms, at.theta, inputs, inputs, terms))
        return cross @ inner @ self.U, prior - np.einsum("nk,kl,nl->n", cross, inner * self.conditioned.lambda2, cross)


def in_structure(problem, make, kernels=("matern32",), t=0):
    """Blocks of the problem's t-th inputs that stand together in what ``make(inputs, covariances)`` gives."""
    inputs = Inputs(problem.X[t], problem.code[t])
    terms = tuple(product((kernel, inputs.X.shape[1])) if kernel else Covariance(()) for kernel in kernels)
    ordered = join([part.inputs[0] for part in cut(problem, [inputs]).partitions.items])
    at, of_row = distinct(ordered)
    knots = Knots(make(at, terms), of_row)
    return [StructuredTerm(inputs, 1 + term.n_parameters, knots) for term in terms]
