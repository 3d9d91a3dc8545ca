"""Summaries, tests and trends of concentrations of which some are known only to lie below a detection limit.

What has covariates is a model: ``tg.fit("y ~ x | censor(limit)", data, family="lognormal")``.
"""

from __future__ import annotations

__all__: list[str] = []
