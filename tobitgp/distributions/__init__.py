"""Normal distributions with limits: clipped there (`CensoredNormal`), or never seen beyond (`TruncatedNormal`)."""

from __future__ import annotations

from tobitgp.distributions.censored import CensoredNormal
from tobitgp.distributions.truncated import TruncatedNormal

__all__ = ["CensoredNormal", "TruncatedNormal"]
