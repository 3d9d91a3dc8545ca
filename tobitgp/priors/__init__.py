"""Priors as blocks of features."""
