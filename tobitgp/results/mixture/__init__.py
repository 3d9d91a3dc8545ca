"""What users ask of a fitted mixture."""
