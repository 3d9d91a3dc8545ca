"""Trends of concentrations in rivers, from which what discharge did is taken out."""

from tobitgp.flow.normalise import flow_normalise
from tobitgp.flow.trend import FlowNormalised

__all__ = ["FlowNormalised", "flow_normalise"]
