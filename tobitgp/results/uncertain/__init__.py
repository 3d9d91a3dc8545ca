"""Results of processes over inputs that were measured with errors."""
