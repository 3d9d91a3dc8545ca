"""Fits of responses that are normal after a power transformation, by maximum likelihood or with a posterior."""
