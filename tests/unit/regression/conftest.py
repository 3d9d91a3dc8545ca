import numpy as np
import pytest
from support.responses import response


@pytest.fixture
def mixed(rng):
    """Every kind of row in one set, weights among them, and a design with an intercept."""
    n = 120
    H = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    y = H @ [1.0, 0.5, -1.0] + 0.7 * rng.logistic(size=n)
    kind = rng.integers(0, 4, size=n)
    lower = np.where(kind == 1, -np.inf, np.where(kind == 3, y - 0.4, y))
    upper = np.where(kind == 2, np.inf, np.where(kind == 3, y + 0.9, y))
    return response(lower, upper, weight=rng.integers(1, 4, size=n)), H


@pytest.fixture
def windowed(rng):
    """Rows that were only seen inside windows of their own."""
    n = 400
    H = np.column_stack([np.ones(n), rng.normal(size=n)])
    y = H @ [1.0, 0.5] + rng.normal(size=n)
    entry, exit = np.where(rng.random(n) < 0.6, rng.normal(-0.5, 0.5, n), -np.inf), np.full(n, np.inf)
    exit[rng.random(n) < 0.3] = 2.5
    seen = (y > entry) & (y <= exit)
    H, y, entry, exit = H[seen], y[seen], entry[seen], exit[seen]
    late = np.minimum(np.maximum(1.8, entry + 0.01), exit - 0.01)
    censored = y > late
    return response(np.where(censored, late, y), np.where(censored, np.inf, y), entry=entry, exit=exit), H
