"""Aims for the cost of fits and predictions, and their present cost."""
