"""Questions under the names of other packages."""
