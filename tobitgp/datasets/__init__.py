"""Data to learn on: small real sets that come with the package, others that are downloaded, and simulated problems."""

from __future__ import annotations

from tobitgp.datasets.bundled import available, load
from tobitgp.datasets.cache import fetch
from tobitgp.datasets.simulate import (
    simulate_basson,
    simulate_groot_lucas,
    simulate_karlova,
    simulate_kohjima,
)
from tobitgp.datasets.simulate_models import simulate_additive, simulate_cure, simulate_latent, simulate_vectors

__all__ = [
    "available",
    "fetch",
    "load",
    "simulate_additive",
    "simulate_basson",
    "simulate_cure",
    "simulate_groot_lucas",
    "simulate_karlova",
    "simulate_kohjima",
    "simulate_latent",
    "simulate_vectors",
]
