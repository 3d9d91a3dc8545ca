"""What fits and answers should cost, and what they cost now."""
