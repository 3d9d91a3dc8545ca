"""Long runs of the No-U-Turn sampler on the problems of ``benchmarks.posteriors``, by numpyro."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import arviz
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pandas as pd
from jax.scipy.special import log_ndtr
from numpyro import distributions as dist
from numpyro.infer import MCMC, NUTS, init_to_median

from benchmarks.posteriors import INTERCEPT, LEVELS, SURVIVAL, Problem

jax.config.update("jax_enable_x64", True)
WARMUP, DRAWS, CHAINS = 750, 1250, 4
JITTER = 1e-6


def sample(problem: Problem) -> dict[str, Any]:
    """Moments and quantiles of f and the logarithms of parameters, with what tells whether chains have mixed."""
    kernel = NUTS(
        _model(problem),
        target_accept_prob=0.95,
        dense_mass=[(*problem.priors, "Intercept")],
        init_strategy=init_to_median,
    )
    chains = MCMC(
        kernel,
        num_warmup=WARMUP,
        num_samples=DRAWS,
        num_chains=CHAINS,
        chain_method="sequential",
        progress_bar=False,
    )
    chains.run(jax.random.PRNGKey(0), extra_fields=("diverging",))
    draws = {name: np.asarray(v) for name, v in chains.get_samples(group_by_chain=True).items()}
    told = arviz.from_dict(posterior={name: draws[name] for name in (*problem.priors, "Intercept", "f")})
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in draws.items()}
    found = {
        "draws": len(flat["f"]),
        "divergences": int(np.asarray(chains.get_extra_fields()["diverging"]).sum()),
        "rhat": _worst(arviz.rhat(told), np.max),
        "ess_bulk": _worst(arviz.ess(told, method="bulk"), np.min),
        "ess_tail": _worst(arviz.ess(told, method="tail"), np.min),
        **_told(flat["f"]),
        "parameters": {name: _told(flat[name]) for name in problem.priors},
    }
    if problem.family == "weibull":
        survival = _told(flat["survival"])
        found["survival"] = {"mean": survival["mean"], "sd": survival["sd"]}
    return found


def _worst(table: Any, worst: Callable[[Any], Any]) -> float:
    return float(worst([worst(values) for values in table.data_vars.values()]))


def _told(draws: np.ndarray) -> dict[str, Any]:
    quantiles = np.moveaxis(np.quantile(draws, LEVELS, axis=0), 0, -1)
    return {"mean": _rounded(draws.mean(axis=0)), "sd": _rounded(draws.std(axis=0)), "quantiles": _rounded(quantiles)}


def _rounded(values: Any) -> Any:
    return np.vectorize(lambda v: float(f"{v:.5g}"))(values).tolist()


def _model(problem: Problem) -> Callable[[], None]:
    """Whitened curves, so that chains walk in a posterior near the standard normal."""
    data = problem.data()
    ends = data[["lo", "hi"]].to_numpy().T
    weibull = problem.family == "weibull"
    lo, hi = np.log(ends) if weibull else ends
    places, n = problem.places().index.to_numpy(), len(data)

    def model() -> None:
        value = {
            name: jnp.exp(numpyro.sample(name, dist.Normal(np.log(median), spread)))
            for name, (median, spread) in problem.priors.items()
        }
        f = numpyro.sample("Intercept", dist.Normal(*INTERCEPT))
        for term, names in problem.terms.items():
            w = numpyro.sample(f"w {term}", dist.Normal(0, 1).expand([n]).to_event(1))
            sizes = [value.get(f"lengthscale({term})", value.get(f"lengthscale({term})[{x}]")) for x in names]
            shape = w[pd.factorize(data[names[0]])[0]] if term.startswith("re(") else _curve(data[names], sizes) @ w
            f = f + value[f"sd({term})"] * shape
        numpyro.factor("rows", _LIKELIHOODS[problem.family](lo, hi, f, value["sigma"]).sum())
        numpyro.deterministic("f", f[places])
        if weibull:
            z = (np.log(np.array(SURVIVAL)) - f[places][:, None]) / value["sigma"]
            numpyro.deterministic("survival", jnp.exp(-jnp.exp(z)))

    return model


def _curve(inputs: pd.DataFrame, sizes: list[Any]) -> Any:
    """Root (n, n) of the covariance of a curve of unit sd."""
    columns = [inputs[x].to_numpy() for x in inputs]
    squares = sum(jnp.square((x[:, None] - x) / size) for x, size in zip(columns, sizes, strict=True))
    return jnp.linalg.cholesky(jnp.exp(-0.5 * squares) + JITTER * jnp.eye(len(inputs)))


def _normal(lo: np.ndarray, hi: np.ndarray, f: Any, scale: Any) -> Any:
    seen, left, right = lo == hi, np.isinf(lo), np.isinf(hi)
    a, b = (np.where(left, 0.0, lo) - f) / scale, (np.where(right, 0.0, hi) - f) / scale
    censored = jnp.where(left, log_ndtr(b), log_ndtr(-a))
    window = _log_window(a, jnp.where(seen | left | right, a + 1.0, b))
    return jnp.where(seen, -0.5 * a**2 - jnp.log(scale), jnp.where(left | right, censored, window))


def _log_window(a: Any, b: Any) -> Any:
    """Log probability between a and b, in the lower tail."""
    above = a > 0
    a, b = jnp.where(above, -b, a), jnp.where(above, -a, b)
    return log_ndtr(b) + jnp.log1p(-jnp.exp(log_ndtr(a) - log_ndtr(b)))


def _gumbel(lo: np.ndarray, hi: np.ndarray, f: Any, scale: Any) -> Any:
    """Return the log-likelihood of log times, exact or right-censored."""
    z = (lo - f) / scale
    return jnp.where(lo == hi, z - jnp.log(scale), 0.0) - jnp.exp(z)


def _student(lo: np.ndarray, hi: np.ndarray, f: Any, scale: Any) -> Any:
    """Return the log-likelihood of Student-t noise with 4 df. Its CDF is a polynomial in ``t / sqrt(4 + t^2)``."""
    t = (np.where(np.isinf(lo), hi, lo) - f) / scale
    root = jnp.sqrt(4.0 + t**2)
    side = jnp.where(np.isinf(lo), t, -t) / root
    tail = jnp.where(side < 0.0, 4.0 / (root * (root + jnp.abs(t))), 1.0 + side)
    return jnp.where(lo == hi, -2.5 * jnp.log1p(t**2 / 4.0) - jnp.log(scale), jnp.log(0.25 * tail**2 * (2.0 - side)))


_LIKELIHOODS = {"gaussian": _normal, "student": _student, "weibull": _gumbel}
