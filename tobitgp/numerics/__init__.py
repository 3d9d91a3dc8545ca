"""Scalar functions, quadrature and triangular linear algebra on arrays."""
