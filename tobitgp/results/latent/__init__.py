"""Results of processes over latent coordinates."""
