"""What users ask of a fitted Gaussian process."""
