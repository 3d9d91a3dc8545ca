"""Noise families."""

from tobitgp.likelihoods.families import FAMILIES, Family, GenGamma, Student, resolve_family

__all__ = ["FAMILIES", "Family", "GenGamma", "Student", "resolve_family"]
