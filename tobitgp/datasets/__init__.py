"""Data to learn on: small real sets that come with the package, and the papers' simulated problems."""

from __future__ import annotations

from tobitgp.datasets.bundled import available, load
from tobitgp.datasets.simulate import simulate_additive, simulate_basson, simulate_groot_lucas, simulate_karlova

__all__ = ["available", "load", "simulate_additive", "simulate_basson", "simulate_groot_lucas", "simulate_karlova"]
