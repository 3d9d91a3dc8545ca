"""scikit-learn, which knows no censoring."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.peers.answer import Answer, normal
from benchmarks.problems import Draw


def censored_rows_dropped(draw: Draw) -> Answer:
    """Squared-exponential regression on the rows that are not censored."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    rows = draw.train[draw.status == 0]
    X, T = rows[draw.inputs].to_numpy(), draw.test[draw.inputs].to_numpy()
    kernel = ConstantKernel() * RBF(np.full(X.shape[1], 0.3)) + WhiteKernel(0.1)
    regression = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        regression.fit(X, rows["y"].to_numpy())
    mean, sd = regression.predict(T, return_std=True)
    # predict() includes the white noise; f itself does not.
    noise = regression.kernel_.k2.noise_level * regression._y_train_std**2
    return normal(mean, np.sqrt(np.maximum(sd**2 - noise, 1e-12)))
