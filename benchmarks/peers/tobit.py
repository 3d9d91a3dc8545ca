"""tobitgp itself."""

from __future__ import annotations

import os
from typing import Any

from benchmarks.peers.answer import Answer, Fit, normal
from benchmarks.problems import Draw


def process(
    approximation: str = "auto", *, told: str | None = None, pure: bool = False, maximise: bool = False, **options: Any
) -> Fit:
    """A formula with processes; the mixture is that over the hyper-parameters.

    ``approximation`` is that of a formula whose only term is a process; ``told`` takes the place of the terms; ``pure``
    turns the compiled core off.
    """

    def fit(draw: Draw) -> Answer:
        if pure:
            os.environ["TOBITGP_COMPILED"] = "0"
        import tobitgp as tg
        from tobitgp.kinds.process_nodes import nodes_of

        if maximise:
            options["method"] = tg.EP(hyper="maximize")
        chosen = "" if approximation == "auto" else f', approximation="{approximation}"'
        formula = draw.formula.replace(") | censor", f"{chosen}) | censor")
        if told is not None:
            formula = f"y ~ {told} | {formula.partition('|')[2]}"
        parts = tg.fit(formula, draw.train, **options).parts
        design, _ = parts.training.state.replay(draw.test)
        nodes = nodes_of(parts, design)
        return Answer(nodes.mean, nodes.sd, nodes.weight)

    return fit


def maximum_likelihood(draw: Draw) -> Answer:
    """A formula without processes."""
    import tobitgp as tg

    table = tg.fit(draw.formula, draw.train, method="mle").predict(draw.test, "latent", se=True)
    return normal(table["estimate"].to_numpy(), table["se"].to_numpy())
