"""Questions to fits by maximum likelihood, the same for every kind."""
