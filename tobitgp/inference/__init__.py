"""From a problem to its posterior: methods, hyper-parameters, integration."""

from tobitgp.inference.method import EP, Laplace, Method
from tobitgp.inference.vi import VI

METHODS: dict[str, type[EP] | type[Laplace] | type[VI]] = {"laplace": Laplace, "ep": EP, "vi": VI}

__all__ = ["EP", "METHODS", "VI", "Laplace", "Method"]
