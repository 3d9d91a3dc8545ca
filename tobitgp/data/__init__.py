"""From a ModelSpec and a data frame to arrays, and the same again on new data."""
