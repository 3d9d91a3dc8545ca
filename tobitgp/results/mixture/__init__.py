"""Methods of a fitted mixture."""
