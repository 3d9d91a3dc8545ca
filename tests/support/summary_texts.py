"""Texts of summaries, as they can be compared between fits with and without training rows."""

import re


def without_tests(summary):
    """The text without the table of smooth terms, whose tests require training rows."""
    return re.sub(r"\nSmooth terms .*?\n=+", "", str(summary), flags=re.DOTALL)
