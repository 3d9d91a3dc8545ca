"""Fits as files: one zip of a JSON document and plain arrays. Nothing in it is ever executed."""
