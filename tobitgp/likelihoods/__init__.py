"""Noise families."""

from tobitgp.likelihoods.families import FAMILIES, Family

__all__ = ["FAMILIES", "Family"]
