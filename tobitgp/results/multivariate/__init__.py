"""Several responses to the same rows: ``mvbind(y1, y2) ~ ...``."""
