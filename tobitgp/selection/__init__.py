"""Fit several models to the same data and rank them."""

from tobitgp.selection.select import Selection, select

__all__ = ["Selection", "select"]
