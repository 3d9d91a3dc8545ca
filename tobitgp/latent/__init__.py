"""Processes of several responses over latent coordinates."""
