"""Methods of a fitted Gaussian process."""
