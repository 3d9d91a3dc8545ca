"""Helpers of the tests: small problems, and oracles that share no code with the package."""
