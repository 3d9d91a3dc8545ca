"""Fit several models to the same data and rank them, or one to parts of them."""

from tobitgp.selection.cross_validation import cross_validate
from tobitgp.selection.select import Selection, select

__all__ = ["Selection", "cross_validate", "select"]
