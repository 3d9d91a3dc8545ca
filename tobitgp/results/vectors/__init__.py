"""Results of mixtures of vectors."""
