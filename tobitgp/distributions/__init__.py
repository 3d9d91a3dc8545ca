"""Normal distributions with limits: clipped there (`CensoredNormal`), or never seen beyond (`TruncatedNormal`)."""

from __future__ import annotations

from tobitgp.distributions.truncated import CensoredNormal, TruncatedNormal

__all__ = ["CensoredNormal", "TruncatedNormal"]
