"""Competing risks: models of the hazards of several causes, and what they say together."""
