"""What a fit knows of the response in rows, and the questions that are asked of it."""
