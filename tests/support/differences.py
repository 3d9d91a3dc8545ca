"""Finite differences."""

import numpy as np


def derivative(function, x, h):
    """Fourth-order central difference of ``function`` at ``x``; the error is of order h^4."""
    near = function(x + h) - function(x - h)
    far = function(x + 2.0 * h) - function(x - 2.0 * h)
    return (8.0 * near - far) / (12.0 * h)


def gradient(function, x, h):
    """Gradient (k,) of a scalar function of a vector."""
    return np.array([derivative(lambda s, e=e: function(x + s * e), 0.0, h) for e in np.eye(len(x))])
