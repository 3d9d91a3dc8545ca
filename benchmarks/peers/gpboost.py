"""GPBoost: Vecchia's approximation of the process and Laplace's of the likelihood."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.answer import Answer, Fit, normal
from benchmarks.problems import Draw

TOBIT = "zero_censored_power_transformed_normal"  # max(0, N(f, sigma^2))^lambda; lambda, here 1, is estimated too


def vecchia(covariance: str, shape: float = 0.0, neighbours: int = 20, inversion: str = "default") -> Fit:
    """Fit a constant and a process of one range; ``shape`` is the smoothness of a Matern covariance.

    Its default ``inversion`` is by conjugate gradients, which do not end on curves of many rows to a length-scale.
    """

    def fit(draw: Draw) -> Answer:
        import gpboost

        X, T = draw.train[draw.inputs].to_numpy(), draw.test[draw.inputs].to_numpy()
        limit = draw.train["lower"].iloc[0]
        model = gpboost.GPModel(
            likelihood=TOBIT,
            gp_coords=X,
            cov_function=covariance,
            cov_fct_shape=shape,
            gp_approx="vecchia",
            num_neighbors=neighbours,
            matrix_inversion_method=inversion,
        )
        model.fit(draw.train["y"].to_numpy() - limit, X=np.ones((len(X), 1)))
        f = model.predict(gp_coords_pred=T, X_pred=np.ones((len(T), 1)), predict_var=True, predict_response=False)
        return normal(limit + f["mu"], np.sqrt(f["var"]))

    return fit


def groups(draw: Draw) -> Answer:
    """Fit a constant, a slope and random intercepts."""
    import gpboost

    X, T = (np.column_stack([np.ones(len(rows)), rows["x"]]) for rows in (draw.train, draw.test))
    limit = draw.train["lower"].iloc[0]
    model = gpboost.GPModel(likelihood=TOBIT, group_data=draw.train["g"].to_numpy())
    model.fit(draw.train["y"].to_numpy() - limit, X=X)
    of_test = {"group_data_pred": draw.test["g"].to_numpy(), "X_pred": T}
    f = model.predict(**of_test, predict_var=True, predict_response=False)
    return normal(limit + f["mu"], np.sqrt(f["var"]))
