"""Linear Tobit models by lifelines and statsmodels, and models of statsmodels without censoring."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.answer import Answer, linear, normal
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


def additive(draw: Draw) -> Answer:
    """A penalised spline of each input to the uncensored rows, its penalty by generalised cross-validation."""
    from statsmodels.gam.api import BSplines, GLMGam

    rows, T = draw.train[draw.status == 0], draw.test[draw.inputs].clip(0.0, 1.0)
    ends = [{"lower_bound": 0.0, "upper_bound": 1.0}] * len(draw.inputs)
    splines = BSplines(rows[draw.inputs], df=[6] * len(draw.inputs), degree=[3] * len(draw.inputs), knot_kwds=ends)
    gam = GLMGam(rows["y"], exog=np.ones((len(rows), 1)), smoother=splines, alpha=np.ones(len(draw.inputs)))
    gam.fit()  # without, the search lacks a scale
    gam.alpha = gam.select_penweight()[0]
    f = gam.fit().get_prediction(exog=np.ones((len(T), 1)), exog_smooth=T)
    return normal(np.asarray(f.predicted_mean), np.asarray(f.se_mean))


def groups(draw: Draw) -> Answer:
    """Random intercepts of the uncensored rows; its standard error of f is that of the effect of a group."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    rows = draw.train[draw.status == 0]
    fit = MixedLM.from_formula("y ~ x", rows, groups="g").fit()
    effects, sds = fit.random_effects, fit.random_effects_cov
    mean = fit.predict(draw.test) + [effects[g].iloc[0] if g in effects else 0.0 for g in draw.test["g"]]
    missing = float(fit.cov_re.iloc[0, 0])
    var = [float(sds[g].iloc[0, 0]) if g in sds else missing for g in draw.test["g"]]
    return normal(np.asarray(mean), np.sqrt(var))
