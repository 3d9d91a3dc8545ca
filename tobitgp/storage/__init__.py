"""Fits as files: one zip of a JSON document and plain arrays. Nothing in it is ever executed."""

from tobitgp.storage.stored_fit import load, save

__all__ = ["load", "save"]
