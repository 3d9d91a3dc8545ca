"""Mixture cure models: rows of which a share never has the event, and what is asked of them."""
