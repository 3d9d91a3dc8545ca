"""After a power of 0 all answers are those of log-normal noise, to which the processes were written."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg

pytestmark = pytest.mark.diagonal

FORMULA = "y ~ z + arm + gp(x) | censor(upper=lim)"


def rows():
    rng = np.random.default_rng(3)
    x, z, arm = rng.uniform(0, 6, 60), rng.normal(size=60), rng.choice(["a", "b"], 60)
    y = np.exp(1.0 + 0.5 * np.sin(x) + 0.3 * z + 0.3 * rng.normal(size=60))
    end = np.quantile(y, 0.8)
    return pd.DataFrame({"x": x, "z": z, "arm": arm, "y": np.minimum(y, end), "lim": end})


DATA = rows()
NEW = DATA.head(5)


@pytest.fixture(scope="module", params=[None, "~ z"], ids=["one sigma", "sigma of rows"])
def pair(request):
    how = {"sigma": request.param, "method": tg.EP(hyper="maximize")}
    return [tg.fit(FORMULA, DATA, family=family, **how) for family in (tg.BoxCox(power=0.0), "lognormal")]


EXACT = {
    **{
        what: lambda res, what=what: res.predict(NEW, what, interval=0.9)
        for what in ("median", "uncensored", "latent", "observed", "conditional", "sigma", "terms")
    },
    "conditional of the rows": lambda res: res.predict(None, "conditional", interval=0.9),
    "quantile": lambda res: res.predict(NEW, "quantile", q=0.8, interval=0.9),
    "prob": lambda res: res.predict(NEW, "prob", above=3.0, interval=0.9),
    **{
        f"residuals {kind}": lambda res, kind=kind: res.residuals(kind)
        for kind in ("quantile", "pearson", "response", "deviance", "cox_snell", "martingale")
    },
    "survival": lambda res: res.predict_survival_function(NEW, [1.0, 3.0, 5.0], interval=0.9),
    "survival after": lambda res: res.predict_survival_function(NEW, [1.0, 5.0], conditional_after=2.0, interval=0.9),
    "hazard": lambda res: res.predict_hazard(NEW, [1.0, 3.0, 5.0], interval=0.9),
    "restricted mean": lambda res: res.predict_restricted_mean(NEW, 4.0, interval=0.9),
    "expectation": lambda res: res.predict_expectation(NEW),
    "loo": lambda res: res.loo().pointwise,
    "k-hat": lambda res: [float(res.k_hat(rng=1)), res.score(DATA, "log_likelihood"), res.elbo],
    "posterior": lambda res: res.posterior(NEW)[1],
    "slopes": lambda res: res.slopes(),
    "anova": lambda res: res.anova(),
    "parameters": lambda res: res.summary_frame()[["coef", "std err"]],
    "suggest": lambda res: tg.suggest(res, NEW.drop(columns="y"), k=2)[["estimate", "se", "gain"]],
    "check": lambda res: res.check().table["value"],
}
BY_DIFFERENCES = {
    "latent": {},
    "median": {},
    "uncensored": {},
    "observed": {},
    "truncated": {},
    "prob_uncensored": {},
    "sigma": {},
    "prob": {"above": 3.0},
    "survival": {"times": 3.0},
    "rmst": {"times": 3.0},
    "quantile": {"q": 0.3},
}
DRAWN = {
    "psis": lambda res: res.loo("psis", rng=1).elpd / 60,
    "waic": lambda res: res.waic(rng=1).elpd / 60,
    "latent": lambda res: res.sample(NEW, draws=20_000, what="latent", rng=1).mean(axis=1),
    "uncensored": lambda res: res.sample(NEW, draws=20_000, rng=1).mean(axis=1),
    "observed": lambda res: res.sample(NEW, draws=20_000, what="observed", rng=1).mean(axis=1),
    "conditional": lambda res: res.sample(None, draws=5000, what="conditional", rng=1).mean(axis=1),
    "survival": lambda res: res.standardise("arm", "survival", [3.0], rng=1)["estimate"],
    "median": lambda res: res.standardise("arm", "median", rng=1)["estimate"],
    "median after": lambda res: res.standardise("arm", "median", rng=1, conditional_after=1.0)["estimate"],
}


def both(pair, ask):
    return (np.asarray(ask(res), dtype=np.float64) for res in pair)


@pytest.mark.parametrize("name", EXACT)
def test_exact(pair, name):
    np.testing.assert_allclose(*both(pair, EXACT[name]), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("what", BY_DIFFERENCES)
def test_effects(pair, what):
    how = BY_DIFFERENCES[what]
    np.testing.assert_allclose(*both(pair, lambda res: res.marginal_effects(what, **how)), rtol=1e-5, atol=1e-8)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:waic. the estimate")
@pytest.mark.parametrize("name", DRAWN)
def test_drawn(pair, name):
    np.testing.assert_allclose(*both(pair, DRAWN[name]), rtol=0.03, atol=0.01)
