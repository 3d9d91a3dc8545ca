"""Proportional hazards: rows cut into bands of time, and what is asked of them."""
