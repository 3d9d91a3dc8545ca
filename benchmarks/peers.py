"""Fits to compare: each takes a draw and gives a mixture of normals for f at the test inputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

import tobitgp as tg
from benchmarks.problems import Draw
from tobitgp.engines import single_blas_thread
from tobitgp.results.predict import moments

Mixture = tuple[np.ndarray, np.ndarray, np.ndarray]


def _tobitgp(**options: str) -> Callable[[Draw], Mixture]:
    def run(draw: Draw) -> Mixture:
        res = tg.fit(draw.formula, draw.train, **options)
        model, fitted = res.parts.gp, res.parts.fitted
        design, _ = res.parts.training.state.replay(draw.test)
        inputs, known = model.inputs(design), model.known_mean(design)
        with single_blas_thread():
            mean, sd, _ = moments(fitted, inputs, known, slice(None), model.problem.units.scale)
        return mean, sd, fitted.weights

    return run


def _scikit_learn(draw: Draw) -> Mixture:
    """Squared-exponential regression on the rows that are not censored."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    rows = draw.train[~draw.train["censored"]]
    X, T = rows[draw.inputs].to_numpy(), draw.test[draw.inputs].to_numpy()
    kernel = ConstantKernel() * RBF(np.full(X.shape[1], 0.3)) + WhiteKernel(0.1)
    regression = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        regression.fit(X, rows["y"].to_numpy())
    mean, sd = regression.predict(T, return_std=True)
    # predict() includes the white noise; f itself does not.
    noise = regression.kernel_.k2.noise_level * regression._y_train_std**2
    return mean[None], np.sqrt(np.maximum(sd**2 - noise, 1e-12))[None], np.ones(1)


def _maximum_likelihood(draw: Draw) -> Mixture:
    res = tg.fit(draw.formula, draw.train, method="mle")
    table = res.predict(draw.test, se=True)
    return table["mean"].to_numpy()[None], table["se"].to_numpy()[None], np.ones(1)


def _lifelines(draw: Draw) -> Mixture:
    """Log-normal times are exponentials of normal ones, so its AFT fitter fits a Tobit model."""
    from lifelines import LogNormalAFTFitter

    train = draw.train[draw.inputs].assign(time=np.exp(draw.train["y"]), seen=~draw.train["censored"])
    fitter = LogNormalAFTFitter().fit_left_censoring(train, "time", "seen")
    beta = fitter.params_["mu_"][[*draw.inputs, "Intercept"]]
    V = fitter.variance_matrix_.loc["mu_"]["mu_"].loc[beta.index, beta.index].to_numpy()
    return _linear(draw, beta.to_numpy(), V)


def _statsmodels(draw: Draw) -> Mixture:
    """A Tobit model as its users write it: a log likelihood, numerical derivatives."""
    from scipy.stats import norm
    from statsmodels.base.model import GenericLikelihoodModel

    censored = draw.train["censored"].to_numpy()

    class Tobit(GenericLikelihoodModel):  # type: ignore[misc]
        def nloglikeobs(self, params: np.ndarray) -> np.ndarray:
            z, sigma = (self.endog - self.exog @ params[:-1]) / np.exp(params[-1]), params[-1]
            return -np.where(censored, norm.logcdf(z), norm.logpdf(z) - sigma)

    X = np.column_stack([draw.train[draw.inputs], np.ones(len(draw.train))])
    y = draw.train["y"].to_numpy()
    start = np.append(np.linalg.lstsq(X, y, rcond=None)[0], np.log(y.std()))
    fit = Tobit(y, X, extra_params_names=["log_sigma"]).fit(start_params=start, method="bfgs", disp=0)
    return _linear(draw, fit.params[:-1], fit.cov_params()[:-1, :-1])


def _linear(draw: Draw, beta: np.ndarray, V: np.ndarray) -> Mixture:
    T = np.column_stack([draw.test[draw.inputs], np.ones(len(draw.test))])
    return (T @ beta)[None], np.sqrt(np.einsum("ni,ij,nj->n", T, V, T))[None], np.ones(1)


PEERS: dict[str, Callable[[Draw], Mixture]] = {
    "tobitgp (ep, integrated)": _tobitgp(),
    "tobitgp (ep, maximum)": _tobitgp(hyper="maximize"),
    "tobitgp (laplace, integrated)": _tobitgp(method="laplace"),
    "tobitgp (vi, integrated)": _tobitgp(method="vi"),
    "scikit-learn, censored rows dropped": _scikit_learn,
    "tobitgp (mle)": _maximum_likelihood,
    "lifelines LogNormalAFTFitter": _lifelines,
    "statsmodels GenericLikelihoodModel": _statsmodels,
}
PROCESSES = tuple(PEERS)[:5]
REGRESSIONS = tuple(PEERS)[5:]
