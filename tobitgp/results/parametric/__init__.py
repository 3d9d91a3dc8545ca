"""Proportional hazards, odds and probits with a parametric baseline, and what is asked of them."""
