"""What users ask of a regression by maximum likelihood."""
