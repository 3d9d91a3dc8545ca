"""Parameters that maximise a bound, of which no standard errors are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics.residual_tests import Finding, RawTest, plain
from tobitgp.results.fit import Fit
from tobitgp.results.parameter_estimates import CovKind, Linear
from tobitgp.results.predict import check_alpha
from tobitgp.results.views import FRAME_COLUMNS
from tobitgp.results.why_not import unavailable

NOTHING = Linear(np.ones(1), np.zeros((1, 0)), np.zeros((1, 0, 0)), np.zeros(0, dtype=bool))


def undefined(name: str) -> Any:
    """An attribute that gives the reason why there is none."""

    def say_why(results: Any) -> Any:
        """Raise an error: parameters maximise a bound, (LAT5), and have no standard errors in any unit."""
        raise unavailable(results, f"res.{name}", name)

    return property(say_why)


def _params(results: Any) -> pd.Series[float]:
    """Parameters at the maximum of the bound, by name.

    ``Intercept[y]``, ``sd[y]`` of its process and ``sigma[y]`` of its noise have the units of the response;
    ``lengthscale[1]`` has those of the coordinates.
    """
    return pd.Series(results._values(), index=results._names)


def _hyperparameters(results: Fit) -> dict[str, float]:
    """The same without intercepts, as a dict, in the units of ``params``."""
    return {str(name): float(x) for name, x in results.params.items() if not str(name).startswith("Intercept")}


def _df_model(results: Fit) -> float:
    """Number of parameters of (LAT5), without the coordinates."""
    return float(len(results._names))


def _llf(results: Fit) -> float:
    """NaN in nats: no likelihood is maximised; ``log_evidence`` is (LAT5) of the theory pages."""
    return float("nan")


def _converged(results: Any) -> bool:
    """Whether the search for the best start ended at a maximum."""
    return bool(results._parts.converged)


def _method(results: Any) -> str:
    """Name of the method that fitted: ``"vi"``."""
    return "vi"


def _elbo(results: Any) -> float:
    """Lower bound on the log evidence in nats, (LAT5) or (LAT16) of the theory pages; in units of the data."""
    return float(results._parts.elbo)


def _log_evidence(results: Any) -> float:
    """The same as ``elbo``, in nats: (LAT5) or (LAT16) of the theory pages."""
    return float(results._parts.elbo)


def _fit_history(results: Any) -> pd.DataFrame:
    """A row for each start, the best first: its bound in nats, iterations, and whether it converged."""
    parts = results._parts
    return pd.DataFrame(
        {"elbo": parts.elbos, "iterations": parts.iterations.astype(int), "converged": parts.ended.astype(bool)},
        index=pd.RangeIndex(1, parts.starts + 1, name="start"),
    )


def findings(results: Any, rng: Any) -> Iterator[Finding | RawTest]:
    """Whether other starts ended at the same bound."""
    parts = results._parts
    gap = float(parts.elbos[0] - parts.elbos[1]) if parts.starts > 1 else float("nan")
    words = f"the second-best start ended {gap:.1f} nats lower" if parts.starts > 1 else "there was only one start"
    yield plain("starts", words, value=gap, good=True)


def search_message(sought: str) -> Any:
    """How the search for ``sought`` ended, in words."""

    def message(results: Any) -> str:
        steps = int(results._parts.iterations[0])
        if results.converged:
            return "converged"
        return (
            f"The search for {sought} did not converge in {steps} iterations. Raise max_iter= of tg.VI(), e.g. to "
            f"{4 * steps}."
        )

    return property(message)


params: Any = property(_params)
converged: Any = property(_converged)
method: Any = property(_method)
elbo: Any = property(_elbo)
log_evidence: Any = property(_log_evidence)
fit_history: Any = property(_fit_history)
hyperparameters: Any = property(_hyperparameters)
df_model: Any = property(_df_model)
llf: Any = property(_llf)


def testable(results: Fit, kind: CovKind | None) -> tuple[Linear, Sequence[str]]:
    """No parameter."""
    return NOTHING, ()


def summary_frame(results: Fit, alpha: float = 0.05, kind: CovKind | None = None) -> pd.DataFrame:
    """All parameters in one table; see :meth:`tobitgp.GPResults.summary_frame`.

    Only the column ``coef`` has numbers. The others are NaN: parameters maximise the bound and have no standard
    errors.

    Parameters
    ----------
    alpha, kind
        As of :meth:`tobitgp.GPResults.summary_frame`; without effect.

    Returns
    -------
    DataFrame
        A row for each parameter, in the units of ``params``.

    Raises
    ------
    SpecError
        If ``alpha`` is outside (0, 1).

    References
    ----------
    (LAT5) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_latent(1)
    >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
    >>> res.summary_frame()["coef"].round(1).head(2).to_dict()
    {'Intercept[y1]': 0.4, 'Intercept[y2]': -0.2}
    """
    check_alpha(alpha)
    frame = pd.DataFrame(np.nan, index=results._names, columns=list(FRAME_COLUMNS))
    return frame.assign(coef=results.params)
