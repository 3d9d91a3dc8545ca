"""Fit several models to the same data and rank them, or one to parts of them; and where to measure next."""

from tobitgp.selection.cross_validation import cross_validate
from tobitgp.selection.select import Selection, select
from tobitgp.selection.suggestion import suggest

__all__ = ["Selection", "cross_validate", "select", "suggest"]
