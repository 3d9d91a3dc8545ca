"""From a problem to its posterior: methods, hyper-parameters, integration."""

from tobitgp.inference.ep import EP
from tobitgp.inference.laplace import Laplace
from tobitgp.inference.method import Method
from tobitgp.inference.vi import VI

METHODS: dict[str, type[EP] | type[Laplace] | type[VI]] = {"laplace": Laplace, "ep": EP, "vi": VI}

__all__ = ["EP", "METHODS", "VI", "Laplace", "Method"]
