"""Noise families."""

from tobitgp.likelihoods.families import FAMILIES, Family, Student, resolve_family

__all__ = ["FAMILIES", "Family", "Student", "resolve_family"]
