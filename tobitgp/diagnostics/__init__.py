"""Whether a fit can be trusted, and which of several predicts better."""
