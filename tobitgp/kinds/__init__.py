"""Kinds of fits by maximum likelihood: how each is fitted, and what it says of the distribution of the response."""
