"""From a problem to its posterior: methods, hyper-parameters, integration."""

from tobitgp.inference.method import EPUpdates, LaplaceUpdates, Method
from tobitgp.inference.vi import VIUpdates

METHODS: dict[str, type[EPUpdates] | type[LaplaceUpdates] | type[VIUpdates]] = {
    "laplace": LaplaceUpdates,
    "ep": EPUpdates,
    "vi": VIUpdates,
}

__all__ = ["METHODS", "EPUpdates", "LaplaceUpdates", "Method", "VIUpdates"]
