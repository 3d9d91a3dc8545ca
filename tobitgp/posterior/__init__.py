"""The distribution of the response in rows under a fit, and the quantities computed from it."""
