"""Random questions to a fit of any kind, each a function of the fit, its model and a generator."""

import copy
import pickle
import re
import tempfile
from pathlib import Path

import numpy as np

import tobitgp as tg
from support.random_tables import new_rows
from support.unexplained import documented

QUESTIONS = {}
NEEDS = {
    "predict": ("predict",),
    "marginal_effects": ("marginal_effects",),
    "curve": ("predict_survival_function",),
    "lifetimes": ("predict_median",),
    "anova": ("anova",),
    "wald": ("wald_test",),
    "hazard_ratios": ("hazard_ratios",),
    "proportionality": ("proportionality",),
    "check": ("check",),
    "elpd": ("waic",),
    "draws": ("sample",),
    "standardise": ("standardise",),
    "contrast": ("standardise",),
    "copies": ("predict",),
    "residuals": ("residuals",),
    "influence": ("influence",),
    "score": ("score",),
    "cured": ("cured_fraction",),
    "groups": ("group_effects",),
    "responses": ("correlations",),
    "power": ("power",),
    "components": ("components",),
    "conformal": ("conformalise",),
    "profile": ("profile_interval",),
    "page": ("report",),
    "to_arviz": ("to_arviz",),
}


def question(share=1.0, plot=False):
    def add(ask):
        QUESTIONS[ask.__name__] = (share, ask, plot)
        return ask

    return add


def random_questions(res, rng, number):
    names = [name for name in QUESTIONS if able(res, name, rng)]
    shares = np.array([QUESTIONS[name][0] for name in names])
    return [str(name) for name in rng.choice(names, min(number, len(names)), replace=False, p=shares / shares.sum())]


def columns(res, model):
    """Columns that a formula has, most often."""
    text = f"{model.formula} {model.options.get('cure', '')} {model.options.get('sigma', '')}".partition("~")[2]
    return [name for name in ("x", "z", "b", "g", "k", "rare", "my col") if re.search(rf"\b{name}\b", text)] or ["z"]


def settings(model, name):
    values = model.data[name].dropna().unique()
    return [values[0], values[-1]]


def able(res, name, rng):
    """Whether a fit has what a question needs; now and then it is asked all the same, to hear the error."""
    return rng.random() < 0.03 or all(hasattr(type(res), each) for each in NEEDS.get(name, ()))


def some(rng, values):
    return values[int(rng.integers(len(values)))]


def level(rng):
    return some(rng, [None, 0.9, 0.95])


def rows(model, rng):
    """New rows, or none for those of the fit; the model is told whether a covariate is missing in them."""
    new = None if rng.random() < 0.3 else new_rows(model.data, rng)
    asked = model.data if new is None else new
    model.notes["gaps"] = bool(asked[["x", "z"]].isna().any(axis=None))
    return new


def times(model, rng):
    column = np.asarray(model.data["time"], float)
    grid = np.quantile(column, [0.1, 0.5, 0.9])
    return some(rng, [grid, float(grid[1]), np.r_[grid, 3 * column.max()], None])


def values(model):
    """Values of the response that mean something."""
    return np.asarray(model.data["y"], float)


@question(3)
def summary(res, model, rng):
    options = some(rng, [{}, {"alpha": 0.1}, {"anova": True}, {"hazard_ratios": True}])
    table = res.summary(**options)
    assert len(str(table)) > 100
    table._repr_html_()
    if not hasattr(res, "summary_frame"):
        return None
    return documented("summary_frame", res.summary_frame())


@question(5)
def predict(res, model, rng):
    what = some(
        rng, ["median", "latent", "uncensored", "observed", "conditional", "quantile", "prob", "sigma", "terms"]
    )
    asked = {"interval": level(rng), "se": bool(rng.random() < 0.3)}
    if what == "quantile":
        asked["q"] = some(rng, [0.9, [0.05, 0.5]])
    if what == "prob":
        asked[some(rng, ["below", "above"])] = float(np.nanmedian(values(model)))
    return res.predict(rows(model, rng), what, **asked)


@question()
def parameters(res, model, rng):
    res.tvalues, res.pvalues  # noqa: B018  of which sigma has none
    return [res.params, res.bse, res.conf_int(), res.cov_params()]


@question()
def criteria(res, model, rng):
    if res.method in ("mle", "em"):
        return [res.llf, res.nobs, res.aic, res.bic]
    return [res.llf if hasattr(res, "causes") and np.isnan(res.log_evidence) else res.log_evidence, res.nobs]


@question(2)
def curve(res, model, rng):
    names = ["survival_function", "cumulative_hazard", "hazard"]
    name = "cumulative_incidence" if hasattr(res, "causes") else some(rng, names)
    options = {"conditional_after": float(np.quantile(model.data["time"].astype(float), 0.1))}
    options = options if rng.random() < 0.3 else {}
    return getattr(res, f"predict_{name}")(rows(model, rng), times(model, rng), interval=level(rng), **options)


@question(2)
def lifetimes(res, model, rng):
    new, band = rows(model, rng), level(rng)
    return some(
        rng,
        [
            lambda: res.predict_median(new, interval=band),
            lambda: res.predict_percentile(new, p=0.8, interval=band),
            lambda: res.predict_restricted_mean(new, float(model.data["time"].median()), interval=band),
            lambda: res.predict_expectation(new),
        ],
    )()


@question(2)
def marginal_effects(res, model, rng):
    what = some(rng, ["latent", "median", "observed", "uncensored", "prob"])
    asked = {"above": float(np.nanmedian(values(model)))} if what == "prob" else {}
    found = res.marginal_effects(what, some(rng, ["overall", "mean"]), **asked)
    errors = found.xs("se", axis=1, level=-1) if found.columns.nlevels > 1 else found[["se"]]
    return found[(errors != 0.0).all(axis=1)]  # a column that cannot change the answer has no z


@question()
def anova(res, model, rng):
    return documented("anova", res.anova())


@question()
def wald(res, model, rng):
    names = [str(name) for name in res.params.index]
    linear = [name for name in names if not re.match("sigma|shape|sd\\(|length|Q$|df$|power|corr", name)]
    chosen = f"`{some(rng, names)}` = 0" if rng.random() < 0.3 else np.eye(len(linear))[:1]
    found = some(rng, [res.wald_test, res.t_test])(chosen)
    return str(found)


@question()
def hazard_ratios(res, model, rng):
    return res.hazard_ratios()


@question()
def proportionality(res, model, rng):
    return res.proportionality()


@question()
def check(res, model, rng):
    return str(res.check())


@question()
def elpd(res, model, rng):
    found = some(rng, [res.waic, res.loo])(draws=200)
    return [found.elpd, found.se, found.p]


@question(2)
def draws(res, model, rng):
    return res.sample(rows(model, rng), 7, what=some(rng, ["uncensored", "latent", "observed"]), rng=1)


def average(model, rng):
    """What is averaged, and the times that go with it."""
    what = some(rng, ["survival", "risk", "rmst", "median", "mean"])
    at = times(model, rng) if what in ("survival", "risk", "rmst") else None
    return what, float(model.data["time"].median()) if at is None and what in ("survival", "risk", "rmst") else at


@question(1)
def standardise(res, model, rng):
    name = some(rng, columns(res, model))
    column = some(rng, [name, {name: settings(model, name)}])
    return res.standardise(column, *average(model, rng), draws=200)


@question(1)
def contrast(res, model, rng):
    name = some(rng, columns(res, model))
    one, other = settings(model, name)
    what, at = average(model, rng)
    scale = some(rng, ["difference", "ratio"])
    return tg.contrast(res, {name: one}, {name: other}, what, at, scale, draws=200)


@question(1.5)
def copies(res, model, rng):
    before = res.predict()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.tgp"
        res.save(path)
        loaded = tg.load(path)
    new = new_rows(model.data, rng)
    other = some(rng, [lambda: pickle.loads(pickle.dumps(res)), lambda: copy.deepcopy(res), lambda: loaded])()
    np.testing.assert_allclose(res.predict(new), other.predict(new), rtol=1e-6)
    return before


@question(2)
def residuals(res, model, rng):
    found = res.residuals(some(rng, ["quantile", "cox_snell", "martingale", "response", "pearson"]), rng=1)
    if not hasattr(res, "responses"):
        return found
    return found.where(model.data[list(res.responses)].notna().to_numpy(), 0.0)  # a response may be missing in a row


@question()
def influence(res, model, rng):
    return res.influence()


@question(0.5)
def score(res, model, rng):
    return res.score(model.data)


@question(0.5)
def cured(res, model, rng):
    return [res.cured_fraction(), res.predict_cured(rows(model, rng), interval=level(rng))]


@question(0.5)
def groups(res, model, rng):
    return res.group_effects() if rng.random() < 0.7 else res.slopes()


@question(0.5)
def responses(res, model, rng):
    return some(rng, [res.correlations, res.impute, lambda: res.regression("y", "other")[["coef", "std err"]]])()


@question(0.7)
def power(res, model, rng):
    return [res.power, res.mass_beyond()]


@question(0.7)
def components(res, model, rng):
    return [res.components, res.n_effective]


@question(0.5)
def conformal(res, model, rng):
    res.conformalise(model.data.iloc[::2]).predict(rows(model, rng))  # whose ends may be open


@question(0.3)
def profile(res, model, rng):
    return res.profile_interval(str(some(rng, list(res.params.index))))


@question(0.5)
def to_arviz(res, model, rng):
    res.to_arviz(50)


@question(0.3)
def page(res, model, rng):
    with tempfile.TemporaryDirectory() as folder:
        res.report(Path(folder) / "page.html")


@question(5, plot=True)
def figure(res, model, rng):
    names = [name for name in dir(res) if name.startswith("plot")]
    name = some(rng, names)
    asked = {}
    if name == "plot_effect":
        asked = {
            "x": some(rng, [None, *columns(res, model)]),
            "what": some(rng, ["median", "latent", "survival", "hazard"]),
        }
    if name in ("plot_survival", "plot_cumulative_incidence"):
        asked = some(rng, [{}, {"by": some(rng, columns(res, model))}, {"df": new_rows(model.data, rng)}])
    return drawn(getattr(res, name)(**asked))


def drawn(plot):
    """The figure, rendered as a browser would."""
    from matplotlib import pyplot

    axes = np.ravel(np.array(plot, dtype=object))[0]
    if axes is not None and hasattr(axes, "figure"):
        axes.figure.canvas.draw()
    pyplot.close("all")
