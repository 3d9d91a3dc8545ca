"""Fitted models side by side, where their numbers mean the same."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.diagnostics.elpd import spread, warn_of
from tobitgp.diagnostics.validation import elpd_of
from tobitgp.errors import SpecError, user_level
from tobitgp.results.comparable import Subject, check_kinds, check_same_events, subject_of
from tobitgp.typing import Array

_TOLERANCE = 1e-13  # of stacking weights


class Criterion(NamedTuple):
    """A number by which models are ranked."""

    sign: int  # 1 where more is better, -1 where less is
    scale: float  # ``weight`` is proportional to ``exp(scale * sign * value)``
    evidence: bool  # whether the priors of the coefficients enter
    where: str  # when a fit has it, for messages
    by_row: bool = False  # whether it is a sum over rows, so that differences have standard errors


CRITERIA = {
    "log_evidence": Criterion(1, 1.0, True, "every fit with a posterior has it"),
    "elbo": Criterion(1, 1.0, True, "every fit with a posterior has it"),
    "log_evidence_integrated": Criterion(
        1, 1.0, True, "it requires proper priors for all hyper-parameters, and averages over them"
    ),
    "loo": Criterion(1, 1.0, False, "it takes the rows of a fit, and draws of its parameters", True),
    "waic": Criterion(1, 1.0, False, "it takes the rows of a fit, and draws of its parameters", True),
    "aic": Criterion(
        -1, 0.5, False, "it takes a maximised likelihood, which neither a posterior nor sampling weights have"
    ),
    "bic": Criterion(
        -1, 0.5, False, "it takes a maximised likelihood, which neither a posterior nor sampling weights have"
    ),
}
EVIDENCE = "evidence"  # averaged over hyper-parameters where every fit has that, else at their maximum


def compare(results: Mapping[str, Any] | Sequence[Any], by: str = EVIDENCE) -> pd.DataFrame:
    """Rank fitted models of the same rows and the same response.

    Evidence is in the units of the response as written, so ``family="gaussian"`` and ``"lognormal"`` for the same
    response can be compared. Evidence by different methods cannot, but every method gives a lower bound: ``by="elbo"``.
    ``"loo"`` and ``"waic"`` compare predictions of rows that the fit has not seen, for fits of any kind. Criteria of
    competing risks are sums over the causes.

    Parameters
    ----------
    results : dict of results by name, or list of results
        Names of a list are the formulas.
    by : {"evidence", "log_evidence", "elbo", "log_evidence_integrated", "loo", "waic", "aic", "bic"}
        Criterion. ``"evidence"`` is ``"log_evidence_integrated"``, averaged over the hyper-parameters, if every fit has
        it, and otherwise ``"log_evidence"``, at their maximum. If no fit has an evidence, as after maximum likelihood,
        it is ``"aic"``. The column ``kind`` says which.

    Returns
    -------
    DataFrame
        A row for each model, the best first. ``value``; ``diff``, value less the best; ``se_diff``, its standard
        error from the differences row by row, NaN for evidence; ``weight``, the posterior probability of the model
        under equal prior probabilities, for ``"aic"`` Akaike's weight, for ``"loo"`` and ``"waic"`` its share in the
        mixture that predicts best (stacking); ``kind`` of evidence; ``n``, weights summed; ``converged``.

    Raises
    ------
    SpecError
        If the numbers are not comparable (other rows, another response or treatment of its censored rows, another
        kind of evidence), or a fit has no such number.

    Warns
    -----
    UserWarning
        If the linear columns differ: the priors of their coefficients are part of the evidence. Compare ``x`` with ``x
        + gp(x)`` to test for a smooth effect.
    ApproximationWarning
        If ``"loo"`` or ``"waic"`` is unreliable for some rows.

    References
    ----------
    .. [1] Y. Yao, A. Vehtari, D. Simpson and A. Gelman, "Using stacking to average Bayesian predictive distributions",
       Bayesian Analysis 13 (2018).

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_groot_lucas()
    >>> fits = {
    ...     kernel: tg.fit(f"y ~ gp(x, kernel='{kernel}') | censor(lower)", data, method=tg.EP(hyper="maximize"))
    ...     for kernel in ("rbf", "matern32")
    ... }
    >>> tg.compare(fits)[["value", "diff", "weight", "kind", "n"]].round(2)
              value  diff  weight kind   n
    rbf      -35.48  0.00    0.97   ep  30
    matern32 -39.13 -3.65    0.03   ep  30
    """
    check_by(by)
    fits = name_results(results)
    by = _criterion_of_all(list(fits.values()), by)
    criterion = CRITERIA[by]
    subjects = {name: subject_of(fit) for name, fit in fits.items()}
    errors = weight = None
    if criterion.by_row:
        value, kinds, errors, weight = _by_row(fits, by)
    else:
        value = _values(fits, by)
        check_same_events(fits)
        if by in ("log_evidence", "log_evidence_integrated"):
            check_kinds({name: fit.evidence_kind for name, fit in fits.items()}, by)
        if criterion.evidence:
            _warn_columns(subjects)
        kinds = [by if by in ("elbo", "aic", "bic") else fit.evidence_kind for fit in fits.values()]
    n = np.array([fit._n_units for fit in fits.values()], dtype=np.float64)
    converged = [bool(fit.converged) for fit in fits.values()]
    return rank_table(pd.Index(list(fits), dtype=object), value, kinds, n, converged, by, errors, weight)


def name_results(results: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Results by name, those of a list by formula."""
    if isinstance(results, Mapping):
        fits = {str(name): fit for name, fit in results.items()}
    elif isinstance(results, list | tuple):
        formulas = [str(getattr(fit, "formula", "")).strip() for fit in results]
        fits = dict(zip(distinct(formulas), results, strict=True))
    else:
        raise SpecError(f"compare() requires a dict or a list of fitted models, not {type(results).__name__}.")
    if not fits:
        raise SpecError("compare() requires at least one fitted model.")
    for name, fit in fits.items():
        if not hasattr(fit, "evidence_kind"):
            raise SpecError(f"compare() requires fitted models, but {name!r} is of type {type(fit).__name__}.")
    return fits


def distinct(names: Iterable[str]) -> list[str]:
    """Names with a count behind those that came before."""
    out: list[str] = []
    for name in names:
        free, k = name, 1
        while free in out:
            k += 1
            free = f"{name} ({k})"
        out.append(free)
    return out


def check_by(by: Any) -> None:
    """Raise an error for an unknown criterion."""
    if not isinstance(by, str) or by not in (EVIDENCE, *CRITERIA):
        raise SpecError(f"by={by!r} is not supported; choose one of {', '.join(map(repr, (EVIDENCE, *CRITERIA)))}.")


def settle_criterion(fits: Sequence[Any], by: str) -> str:
    """The criterion that ``by`` means for these fits."""
    if by != EVIDENCE:
        return by
    integrated = "log_evidence_integrated"
    return integrated if all(np.isfinite(read_value(fit, integrated)) for fit in fits) else "log_evidence"


def _criterion_of_all(fits: Sequence[Any], by: str) -> str:
    """The same, or AIC where only that is known of all fits."""
    settled = settle_criterion(fits, by)
    if by != EVIDENCE or any(np.isfinite(read_value(fit, settled)) for fit in fits):
        return settled
    return "aic" if all(np.isfinite(read_value(fit, "aic")) for fit in fits) else settled


def read_value(fit: Any, by: str) -> float:
    """The number of a fit, NaN where it has none."""
    by = settle_criterion([fit], by)
    if CRITERIA[by].by_row:
        try:
            return float(elpd_of(fit, by).elpd)
        except SpecError:
            return float("nan")
    return float(getattr(fit, by, np.nan))


def _values(fits: dict[str, Any], by: str) -> Array:
    """The number of every fit."""
    values = {name: read_value(fit, by) for name, fit in fits.items()}
    lacking = [name for name, value in values.items() if np.isnan(value)]
    if lacking:
        had = [b for b in CRITERIA if all(np.isfinite(read_value(fit, b)) for fit in fits.values())]
        how = f" Fit with {fits[lacking[0]]._method_with(hyper='integrate')}." if by.endswith("integrated") else ""
        raise SpecError(
            f"by={by!r} is not available for {', '.join(map(repr, lacking))}: {CRITERIA[by].where}.{how} "
            f"All of these fits have {', '.join(map(repr, had)) or 'nothing in common'}."
        )
    return np.array(list(values.values()))


def _warn_columns(subjects: dict[str, Subject]) -> None:
    """Warn where some models have linear columns that others have not."""
    every = [subject.columns for subject in subjects.values()]
    somewhere = dict.fromkeys(name for columns in every for name in columns)
    columns = [name for name in somewhere if not all(name in columns for columns in every)]
    if columns:
        warnings.warn(
            f"The linear columns differ ({', '.join(columns)}), and the priors of their coefficients are part "
            f"of the evidence: a wider prior lowers it. Set priors= if the ranking depends on this. To test a "
            f"smooth effect "
            "against a linear one, compare 'x' with 'x + gp(x)'.",
            UserWarning,
            stacklevel=user_level(),
        )


def rank_table(
    index: pd.Index,
    value: Array,
    kinds: Sequence[str],
    n: Array,
    converged: Sequence[bool],
    by: str,
    errors: Array | None = None,
    weight: Array | None = None,
) -> pd.DataFrame:
    """Table of models, best first, as :func:`compare` gives it, from numbers (m,) of each."""
    criterion = CRITERIA[by]
    gain = criterion.sign * value
    if weight is None:
        weight = np.exp(criterion.scale * (gain - gain.max()))
        weight /= weight.sum()
    table = pd.DataFrame(
        {
            "value": value,
            "diff": value - value[np.argmax(gain)],
            "se_diff": np.full(len(value), np.nan) if errors is None else errors,
            "weight": weight,
            "kind": list(kinds),
            "n": n.astype(np.intp) if (n == n.round()).all() else n,
            "converged": list(converged),
        },
        index=index,
    )
    return table.iloc[np.argsort(-gain, kind="stable")]


def _by_row(fits: dict[str, Any], by: str) -> tuple[Array, list[str], Array, Array]:
    """Values by ``"loo"`` or ``"waic"``, their kinds, standard errors of their differences, and stacking weights."""
    found = {}
    for name, fit in fits.items():
        try:
            found[name] = elpd_of(fit, by)
        except SpecError as error:
            raise SpecError(f"by={by!r} is not available for {name!r}: {error}") from None
    check_same_events(fits)
    for name, elpd in found.items():
        warn_of(elpd, f" of {name!r}")
    elpds = list(found.values())
    if len({elpd.unit for elpd in elpds}) > 1:
        raise SpecError(
            f"by={by!r}: some fits leave out subjects (id=) and others leave out rows. Fit all of them with id=."
        )
    used = elpds[0].pointwise["elpd"].notna()
    weight = elpds[0].pointwise["weight"][used].to_numpy()
    rows = np.column_stack([elpd.pointwise["elpd"].dropna().to_numpy() for elpd in elpds])
    value = np.array([elpd.elpd for elpd in elpds])
    best = rows[:, np.argmax(value)]
    errors = np.array([spread(column - best, weight) for column in rows.T])
    return value, [elpd.kind for elpd in elpds], errors, stacking_weights(rows, weight)


def stacking_weights(log_density: Array, weight: Array) -> Array:
    r"""Weights of models whose mixture predicts best.

    They maximise :math:`\sum_n c_n \log \sum_k w_k p_{nk}` over the simplex, which is concave: (CHK9) of the theory
    pages.
    """
    from scipy.optimize import minimize

    K = log_density.shape[1]
    if K == 1:
        return np.ones(1)
    p = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    c = weight / weight.sum()

    def loss(w: Array) -> tuple[float, Array]:
        mixed = np.maximum(p @ w, np.finfo(np.float64).tiny)
        return -float(c @ np.log(mixed)), -(p / mixed[:, None]).T @ c

    simplex: Any = {"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like}
    found = minimize(
        loss,
        np.full(K, 1.0 / K),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * K,
        constraints=simplex,
        options={"ftol": _TOLERANCE, "maxiter": 1000},
    )
    w = np.clip(found.x, 0.0, None)
    return np.asarray(w / w.sum())
