"""What every fit is asked. A method that is renamed is renamed here, once; names of answers stay."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import tobitgp as tg

from .fits import DATA, NEW, Data
from .samples import nondetect_answers

MOST_ROWS = 14  # of a table: evenly spaced ones are recorded, and totals of all


@dataclass(frozen=True)
class At:
    """What the questions to one fit need beside it."""

    new: pd.DataFrame
    level: float
    times: tuple[float, ...]

    @property
    def paths(self) -> pd.DataFrame:
        return self.new.drop(columns="event")


def called(found: Any) -> Any:
    return found() if callable(found) else found


def predictions() -> Iterator[tuple[str, Callable[[Any, At], Any]]]:
    whats: dict[str, Callable[[At], dict[str, Any]]] = {
        name: lambda at: {}
        for name in ("latent", "median", "uncensored", "observed", "conditional", "terms", "component")
    }
    whats |= {"quantile": lambda at: {"q": [0.1, 0.9]}, "prob": lambda at: {"below": at.level}}
    for what, more in whats.items():
        yield f"predict {what}", lambda res, at, w=what, m=more: res.predict(at.new, w, **m(at))
        yield (
            f"predict {what} se, interval",
            lambda res, at, w=what, m=more: res.predict(at.new, w, se=True, interval=0.9, **m(at)),
        )
        yield f"predict {what} of the training rows", lambda res, at, w=what, m=more: res.predict(what=w, **m(at))
    yield "predict default", lambda res, at: res.predict(at.new)
    yield (
        "predict prob above",
        lambda res, at: res.predict(at.new, "prob", above=[at.level, 2 * at.level], interval=0.95),
    )
    for what in ("latent", "median"):
        yield (
            f"predict {what} exclude",
            lambda res, at, w=what: res.predict(at.new, w, exclude=last_term(res, at), se=True),
        )


def survival() -> Iterator[tuple[str, Callable[[Any, At], Any]]]:
    for curve in ("survival_function", "hazard", "cumulative_hazard"):
        ask = f"predict_{curve}"
        yield curve, lambda res, at, a=ask: getattr(res, a)(at.new, times=at.times)
        yield f"{curve} interval", lambda res, at, a=ask: getattr(res, a)(at.new, times=at.times, interval=0.9)
        yield (
            f"{curve} conditional_after",
            lambda res, at, a=ask: getattr(res, a)(at.new, times=at.times, conditional_after=at.times[0], interval=0.9),
        )
    yield "expectation", lambda res, at: res.predict_expectation(at.new)
    yield "survival median", lambda res, at: res.predict_median(at.new)
    yield "survival median conditional_after", lambda res, at: res.predict_median(at.new, conditional_after=at.times[1])
    yield "percentile", lambda res, at: res.predict_percentile(at.new, p=0.25)
    yield "restricted mean", lambda res, at: res.predict_restricted_mean(at.new, t=at.times[2], interval=0.9)
    yield (
        "restricted mean conditional_after",
        lambda res, at: res.predict_restricted_mean(at.new, t=at.times[2], conditional_after=at.times[0]),
    )


def of_kinds() -> Iterator[tuple[str, Callable[[Any, At], Any]]]:
    """What hazards, cures, powers, causes and several responses are asked beside the rest."""
    for name in ("frailties", "knots", "correlations", "power", "power_interval", "cured_fraction"):
        yield name, lambda res, at, n=name: called(getattr(res, n))
    yield "hazard ratios", lambda res, at: res.hazard_ratios()
    yield "proportionality", lambda res, at: res.proportionality()
    yield "predict sigma", lambda res, at: res.predict(at.new, "sigma")
    yield "predict cured", lambda res, at: res.predict(at.new, "cured", interval=0.9)
    yield "predict quantile of several", lambda res, at: res.predict(at.new, "quantile", q=0.9, interval=0.9)
    for curve in ("survival_function", "hazard"):
        yield (
            f"{curve} of paths",
            lambda res, at, c=curve: getattr(res, f"predict_{c}")(at.paths, at.times, id="who", interval=0.9),
        )
    yield "incidence", lambda res, at: res.predict_cumulative_incidence(at.new, at.times, interval=0.9)
    yield "concordance of cause 1", lambda res, at: res.concordance_index(1)
    yield "standardise survival", lambda res, at: res.standardise("arm", "survival", [1.0])
    yield "standardise median", lambda res, at: res.standardise("arm", "median")
    yield "contrast", lambda res, at: tg.contrast(res, {"arm": "A"}, {"arm": "B"}, "survival", [1.0])


def effects() -> Iterator[tuple[str, Callable[[Any, At], Any]]]:
    for at_name, at_of in {
        "overall": lambda at: "overall",
        "mean": lambda at: "mean",
        "rows": lambda at: at.new,
    }.items():
        for what, more in {"latent": [], "observed": [], "prob": ["below", "above"]}.items():
            for side in more or [""]:
                yield (
                    f"marginal effects {what} {side} {at_name}".replace("  ", " "),
                    lambda res, at, w=what, s=side, a=at_of: res.marginal_effects(
                        w, a(at), **({s: at.level} if s else {})
                    ),
                )
    yield "marginal effects alpha", lambda res, at: res.marginal_effects(alpha=0.2)
    yield "group effects", lambda res, at: res.group_effects(interval=0.9)


def draws() -> Iterator[tuple[str, Callable[[Any, At], Any]]]:
    for what in ("uncensored", "latent", "observed"):
        yield f"sample {what}", lambda res, at, w=what: res.sample(at.new, draws=3, what=w, rng=5)
    yield "sample conditional", lambda res, at: res.sample(what="conditional", draws=2, rng=5)
    yield "sample joint moments", lambda res, at: moments(res.sample(at.new, draws=400, rng=6))
    yield "log likelihood draws", lambda res, at: res.log_likelihood_draws(3, rng=5).T


def moments(draws: Any) -> pd.DataFrame:
    table = draws.T if isinstance(draws, pd.DataFrame) else pd.DataFrame(draws.reshape(len(draws), -1))
    return table.describe().T


def last_term(res: Any, at: At) -> str:
    return str(res.predict(at.new, "terms").columns[-1][0])


def hypothesis(res: Any) -> str:
    return f"{(list(res.model.exog_names) or list(res.params.index))[-1]} = 0.1"


def attributes(found: Any, names: str) -> dict[str, Any]:
    return {name: getattr(found, name) for name in names.split()} | {"text": str(found)}


SCORES = "elpd se p looic n_bad kind pointwise"


NUMBERS = (
    "nobs df_model df_resid converged method evidence_kind formula counts params bse tvalues pvalues llf llnull "
    "log_evidence log_marginal elbo aic bic prsquared prsquared_vz cov_type hyperparameters inducing_inputs components "
    "n_components n_effective selection concordance_index_"
)
RENAMED = {"log_marginal": "log_evidence_integrated"}
RESIDUALS = ("quantile", "pearson", "response", "deviance", "cox_snell", "martingale")

ANSWERS: dict[str, Callable[[Any, At], Any]] = {
    **{name: lambda res, at, n=name: getattr(res, RENAMED.get(n, n)) for name in NUMBERS.split()},
    "summary text": lambda res, at: res.summary().as_text(),
    "summary": lambda res, at: res.summary_frame(),
    "summary alpha": lambda res, at: res.summary_frame(alpha=0.2),
    "summary vb": lambda res, at: res.summary_frame(kind="vb"),
    "specification text": lambda res, at: str(res.model.spec),
    "repr text": lambda res, at: repr(res),
    "conf_int": lambda res, at: res.conf_int(0.1),
    "cov_params": lambda res, at: res.cov_params(),
    "t_test": lambda res, at: res.t_test(hypothesis(res)).summary_frame(),
    "wald_test": lambda res, at: res.wald_test(hypothesis(res)).summary_frame(),
    "get_prediction": lambda res, at: res.get_prediction(at.new).summary_frame(alpha=0.1),
    "posterior mean": lambda res, at: res.posterior(at.new).mean,
    "posterior covariance": lambda res, at: res.posterior(at.new).covariance,
    **dict(predictions()),
    **dict(survival()),
    **{f"residuals {kind}": lambda res, at, k=kind: res.residuals(k) for kind in RESIDUALS},
    "residuals quantile seed": lambda res, at: res.residuals("quantile", rng=3),
    "influence": lambda res, at: res.influence(),
    "influence scaled": lambda res, at: res.influence(scaled=True),
    **dict(effects()),
    **dict(draws()),
    **dict(of_kinds()),
    "check": lambda res, at: attributes(res.check(rng=2), "table ok"),
    "loo": lambda res, at: attributes(res.loo(), SCORES),
    "loo psis": lambda res, at: attributes(res.loo("psis", draws=1000, rng=4), SCORES),
    "waic": lambda res, at: attributes(res.waic(draws=1000, rng=4), SCORES),
    "k_hat": lambda res, at: attributes(res.k_hat(rng=4), "k efficiency good"),
    "score": lambda res, at: res.score(at.new),
    "score concordance": lambda res, at: res.score(at.new, "concordance_index"),
    "predictive mean, variance": lambda res, at: {"mean": res.predictive.mean(), "var": res.predictive.var()},
    **{
        f"predictive {name}": lambda res, at, n=name: getattr(res.predictive, n)(np.array(at.times))
        for name in ("logpdf", "logcdf", "logsf", "sf", "hazard", "cumulative_hazard")
    },
    "predictive ppf": lambda res, at: res.predictive.ppf(np.array([0.05, 0.5, 0.95])),
    "predictive rvs": lambda res, at: res.predictive.rvs(4, 5),
}


def halves(nudge: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows to fit and rows to judge by, for the questions that are not asked of one fit."""
    train, last = DATA["times"].rows(None, nudge)
    return train.iloc[:-14], pd.concat([train.iloc[-14:], last])


def compared(train: pd.DataFrame, by: str) -> pd.DataFrame:
    kernels = {k: f"left ~ gp(x, kernel='{k}') | censor(-0.5)" for k in ("rbf", "matern32")}
    return tg.compare({k: tg.fit(f, train, method=tg.EP(hyper="maximize")) for k, f in kernels.items()}, by=by)


def ratio_test(train: pd.DataFrame, test: pd.DataFrame) -> dict[str, float]:
    large, small = (tg.fit(f"left ~ {right} | censor(-0.5)", train) for right in ("z + b", "z"))
    return attributes(large.lr_test(small), "statistic df pvalue")


def bounds(train: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    return tg.compare_bounds(tg.fit("both ~ gp(x) | censor(-0.5, 1.2)", train.head(40), method=tg.EP(hyper="maximize")))


def metrics(train: pd.DataFrame, test: pd.DataFrame) -> dict[str, Any]:
    m = tg.metrics
    res = tg.fit("Surv(time, event) ~ z + b", train, family="weibull")
    curve = res.predict_survival_function(test, times=np.linspace(0.2, 2.5, 12))
    seen = (train["time"], train["event"]), (test["time"], test["event"])
    median = res.predict_median(test)
    inside = m.d_calibration(res.predict(test, "prob", above=test["time"].iloc[0]), test["event"])
    auc = m.cumulative_dynamic_auc(*seen, 1 - curve, [0.5, 1.0, 1.5])
    return {
        "concordance": m.concordance_index(test["time"], median, test["event"]),
        "concordance counts": list(m.concordance_counts(test["time"], median, test["event"])),
        "concordance ipcw": m.concordance_ipcw(*seen, -median, 1.5),
        "brier": m.brier_score(*seen, curve, [0.5, 1.0, 1.5]),
        "integrated brier": m.integrated_brier_score(*seen, curve, [0.5, 1.0, 1.5]),
        "auc": auc.auc,
        "d calibration": [inside.statistic, inside.p_value],
        "errors": [f(test["t"], median) for f in (m.mae, m.mse, m.rmse)],
        "densities": [m.nlpd(test["y"], test["z"], 1.0), m.mnll(test["y"], test["z"], 1.0)],
    }


def distributions(train: pd.DataFrame, test: pd.DataFrame) -> dict[str, Any]:
    out = {}
    for name, kind in {
        "censored": tg.distributions.CensoredNormal,
        "truncated": tg.distributions.TruncatedNormal,
    }.items():
        one, other = kind([0.3, -9.0], 0.7, lower=-0.6, upper=1.1), kind(-0.2, 0.5, lower=-0.6, upper=1.1)
        out |= {f"{name} {f}": getattr(one, f)() for f in ("mean", "var", "std", "entropy")}
        out |= {
            f"{name} {f}": getattr(one, f)(0.4) for f in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
        }
        out |= {f"{name} kl": one.kl(other), f"{name} cross_entropy": one.cross_entropy(other)}
    return out


def stream(train: pd.DataFrame, test: pd.DataFrame) -> pd.Series:
    found = tg.MixtureStream("low2 ~ mixture(2) | censor(-2)", rng=1)
    for start in range(0, 76, 38):
        found = found.partial_fit(train.iloc[start : start + 38])
    return found.params


def sklearn(train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    model = tg.sklearn.CensoredGPRegressor().fit(train[["x", "z"]].to_numpy(), train["left"].to_numpy(), lower=-0.5)
    return np.column_stack(model.predict(test[["x", "z"]].to_numpy(), return_std=True))


def survival_model(train: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    model = tg.SurvivalModel("z + b").fit(train[["z", "b", "time", "event"]], "time", "event")
    return model.predict_survival_function(test[["z", "b"]].iloc[:NEW], times=[0.5, 1.0, 2.0])


def selected(train: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    families = {"family": ["weibull", "lognormal", "loglogistic"]}
    return tg.select(families, train, formula="Surv(time, event) ~ z", by="aic").table


def cross_validated(train: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    return tg.cross_validate("left ~ gp(x) | censor(-0.5)", train, folds=3, rng=0, method=tg.EP(hyper="maximize"))


def nondetects(train: pd.DataFrame, test: pd.DataFrame) -> dict[str, Any]:
    """Answers of the functions of samples, each with the words of its error where it has none."""

    def answered(answer: Callable[[], Any]) -> Any:
        try:
            return answer()
        except tg.errors.TobitGPError as error:
            return f"{type(error).__name__}: {error}"

    return {name: answered(answer) for name, answer in nondetect_answers(train, test).items()}


WITHOUT_FIT: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Any]] = {
    **{f"compare {by}": lambda train, test, b=by: compared(train, b) for by in ("log_evidence", "loo")},
    "likelihood ratio": ratio_test,
    "bounds": bounds,
    "metrics": metrics,
    "distributions": distributions,
    "stream": stream,
    "sklearn": sklearn,
    "survival model": survival_model,
    "select": selected,
    "cross_validate": cross_validated,
    "nondetects": nondetects,
    "simulated problems": lambda train, test: tg.datasets.simulate_groot_lucas(),
}


def ask(res: Any, new: pd.DataFrame, data: Data) -> dict[str, Any]:
    """Every answer of a fit, plain; none where its kind has no such question."""
    at, out = At(new, data.level, data.times), {}
    for name, question in ANSWERS.items():
        out |= recorded(name, lambda q=question: q(res, at))
    return out


def recorded(name: str, question: Callable[[], Any]) -> dict[str, Any]:
    """An answer by its name, or the exception in its place; nothing of what results of the kind do not have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(name, question())
        except Exception as error:
            if isinstance(error, AttributeError) and type(error.obj).__module__.startswith("tobitgp."):
                return {}
            return {name: {"raises": type(error).__name__, "message": str(error)}}


def plain(name: str, value: Any) -> dict[str, Any]:
    """Tables as columns of numbers or words; dictionaries as an answer for each key."""
    if isinstance(value, dict):
        return {key: found for k, v in value.items() for key, found in plain(f"{name}: {k}", v).items()}
    if isinstance(value, list | tuple | np.ndarray):
        array = np.atleast_1d(value)
        value = pd.DataFrame(array.reshape(len(array), -1) if array.ndim > 2 else array)  # draws of several responses
    if isinstance(value, pd.Series):
        value = value.to_frame("value")
    if isinstance(value, pd.DataFrame):
        return {name: table(value)}
    if isinstance(value, np.generic):
        value = value.item()
    return {name: value if isinstance(value, str | int | float | bool | None) else str(value)}


def table(frame: pd.DataFrame) -> dict[str, Any]:
    columns = [(label(c), frame.iloc[:, i]) for i, c in enumerate(frame.columns)]
    rows = np.unique(np.linspace(0, len(frame) - 1, MOST_ROWS).round().astype(int)) if len(frame) else []
    thinned = len(frame) > MOST_ROWS
    values = [[c, cells(column, rows, thinned)] for c, column in columns]
    return {"rows": [label(frame.index[i]) for i in rows] + ["total"] * thinned, "values": values}


def label(name: Any) -> str:
    return " / ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def cells(column: pd.Series, rows: Any, thinned: bool) -> list[Any]:
    try:
        numbers = column.astype(float)
    except (TypeError, ValueError):
        return [str(column.iloc[i]) for i in rows] + ["words"] * thinned
    finite = numbers[np.isfinite(numbers)]
    return [float(numbers.iloc[i]) for i in rows] + [float(finite.sum())] * thinned
