"""tobitgp itself."""

from __future__ import annotations

from benchmarks.peers.answer import Answer, Fit, normal
from benchmarks.problems import Draw


def process(**options: str) -> Fit:
    """A formula with processes; the mixture is that over the hyper-parameters."""

    def fit(draw: Draw) -> Answer:
        import tobitgp as tg
        from tobitgp.engines import single_blas_thread
        from tobitgp.numerics.truncated import moments

        res = tg.fit(draw.formula, draw.train, **options)
        model, fitted = res.parts.gp, res.parts.fitted
        design, _ = res.parts.training.state.replay(draw.test)
        inputs, known = model.inputs(design), model.known_mean(design)
        with single_blas_thread():
            mean, sd, _ = moments(fitted, inputs, known, slice(None), model.problem.units.scale)
        return Answer(mean, sd, fitted.weights)

    return fit


def maximum_likelihood(draw: Draw) -> Answer:
    """A formula without processes."""
    import tobitgp as tg

    table = tg.fit(draw.formula, draw.train, method="mle").predict(draw.test, "latent", se=True)
    return normal(table["estimate"].to_numpy(), table["se"].to_numpy())
