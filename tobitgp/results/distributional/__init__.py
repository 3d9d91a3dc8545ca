"""Fits by maximum likelihood whose rows have several parameters, each linear in its own coefficients."""
