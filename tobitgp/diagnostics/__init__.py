"""Whether a fit can be trusted, and which of several foretells better."""
