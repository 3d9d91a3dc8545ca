"""GPflow with a Tobit likelihood: natural gradients for q(u), Adam for everything else, as its notebooks do."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.answer import Answer, Fit
from benchmarks.peers.arrays import Arrays, cosine
from benchmarks.problems import Draw


def vgp(steps: int, gamma: float = 1.0, rate: float = 0.1) -> Fit:
    """Dense variational inference; ``gamma`` and ``rate`` are the steps of the natural gradient and of Adam."""

    def fit(draw: Draw) -> Answer:
        import gpflow

        a = Arrays.of(draw)
        model = gpflow.models.VGP((a.X, _response(a)), _kernel(a), _tobit())
        return _train(a, model, model.training_loss, steps, gamma, rate)

    return fit


def svgp(m: int, batch: int, steps: int, gamma: float = 0.1, rate: float = 0.02) -> Fit:
    """Stochastic variational inference with ``m`` inducing inputs."""

    def fit(draw: Draw) -> Answer:
        import gpflow
        import tensorflow as tf

        a = Arrays.of(draw)
        model = gpflow.models.SVGP(_kernel(a), _tobit(), a.inducing(m), num_data=len(a.X))
        rows = tf.data.Dataset.from_tensor_slices((a.X, _response(a))).repeat().shuffle(10_000, seed=0).batch(batch)
        return _train(a, model, model.training_loss_closure(iter(rows), compile=False), steps, gamma, rate)

    return fit


def _train(a: Arrays, model: Any, loss: Any, steps: int, gamma: float, rate: float) -> Answer:
    import gpflow
    import tensorflow as tf

    gpflow.set_trainable(model.q_mu, False)
    gpflow.set_trainable(model.q_sqrt, False)
    length = tf.Variable(gamma, dtype=gpflow.default_float(), trainable=False)
    natural, adam = gpflow.optimizers.NaturalGradient(length), tf.keras.optimizers.Adam(rate)

    @tf.function
    def step() -> None:
        natural.minimize(loss, [(model.q_mu, model.q_sqrt)])
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(model.trainable_variables)
            value = loss()
        adam.apply_gradients(
            zip(tape.gradient(value, model.trainable_variables), model.trainable_variables, strict=True)
        )

    for share in cosine(steps):
        length.assign(gamma * share)
        adam.learning_rate = rate * share
        step()
    mean, var = model.predict_f(a.T)
    return a.answer(mean.numpy()[:, 0], var.numpy()[:, 0])


def _kernel(a: Arrays) -> Any:
    import gpflow

    return gpflow.kernels.SquaredExponential(lengthscales=np.full(a.X.shape[1], 0.3))


def _response(a: Arrays) -> np.ndarray:
    return np.column_stack([a.y, a.status])


def _tobit() -> Any:
    import gpflow
    import tensorflow as tf
    import tensorflow_probability as tfp

    class Tobit(gpflow.likelihoods.QuadratureLikelihood):  # type: ignore[misc]
        """Its two-column response holds y and -1, 0 or 1 for left-censored, exact, right-censored."""

        def __init__(self) -> None:
            super().__init__(input_dim=None, latent_dim=1, observation_dim=2)
            self.sigma = gpflow.Parameter(0.5, transform=gpflow.utilities.positive())

        def _log_prob(self, X: Any, F: Any, Y: Any) -> Any:
            normal = tfp.distributions.Normal(F[..., 0], self.sigma)
            y, status = Y[..., 0], Y[..., 1]
            tail = tfp.distributions.Normal(tf.zeros_like(self.sigma), 1).log_cdf(status * (F[..., 0] - y) / self.sigma)
            return tf.where(status == 0, normal.log_prob(y), tail)

    return Tobit()
