"""Tables and figures of a fit."""
