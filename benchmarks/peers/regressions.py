"""Linear Tobit models as users of lifelines and statsmodels fit them."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.answer import Answer, linear
from benchmarks.problems import Draw


def lifelines(draw: Draw) -> Answer:
    """Log-normal times are exponentials of normal ones, so its AFT fitter fits a Tobit model."""
    from lifelines import LogNormalAFTFitter

    train = draw.train[draw.inputs].assign(time=np.exp(draw.train["y"]), seen=draw.status == 0)
    fitter = LogNormalAFTFitter().fit_left_censoring(train, "time", "seen")
    beta = fitter.params_["mu_"][[*draw.inputs, "Intercept"]]
    V = fitter.variance_matrix_.loc["mu_"]["mu_"].loc[beta.index, beta.index].to_numpy()
    return linear(draw, beta.to_numpy(), V)


def statsmodels(draw: Draw) -> Answer:
    """A log likelihood of two lines with numerical derivatives."""
    from scipy.stats import norm
    from statsmodels.base.model import GenericLikelihoodModel

    censored = draw.status != 0

    class Tobit(GenericLikelihoodModel):  # type: ignore[misc]
        def nloglikeobs(self, params: np.ndarray) -> np.ndarray:
            z, log_sigma = (self.endog - self.exog @ params[:-1]) / np.exp(params[-1]), params[-1]
            return -np.where(censored, norm.logcdf(z), norm.logpdf(z) - log_sigma)

    X = np.column_stack([draw.train[draw.inputs], np.ones(len(draw.train))])
    y = draw.train["y"].to_numpy()
    start = np.append(np.linalg.lstsq(X, y, rcond=None)[0], np.log(y.std()))
    fit = Tobit(y, X, extra_params_names=["log_sigma"]).fit(start_params=start, method="bfgs", disp=0)
    return linear(draw, fit.params[:-1], fit.cov_params()[:-1, :-1])
