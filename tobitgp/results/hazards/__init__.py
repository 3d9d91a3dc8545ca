"""Proportional hazards: rows cut into bands of time, and what is predicted from them."""
