"""Fit a mixture to rows as they arrive."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd

from tobitgp import mixture as mixtures
from tobitgp.data.frames import reads_frames
from tobitgp.data.prepare import prepare
from tobitgp.data.table import column_names
from tobitgp.errors import NotFittedError, SpecError
from tobitgp.formula import parse_formula
from tobitgp.kinds.mixture import known_ends
from tobitgp.kinds.mixture_fit import read_mixture_priors
from tobitgp.mixture import SVBCM, Predictive
from tobitgp.mixture.array_fit import resolve_mixture_family
from tobitgp.numerics.sampling import generator
from tobitgp.results.mixture.bound_tables import stream_table
from tobitgp.results.views import COUNTS
from tobitgp.typing import Frame


class MixtureStream:
    """A mixture fitted by stochastic variational Bayes to batches of rows.

    A stream can predict from its first row on. The first rows are stored until 500 of them are exact or
    interval-censored, or there are 5,000. Until then the fit makes passes over these rows. They determine the units and
    the default prior. Each later batch is one step along natural parameters, of length ``(delay + t)^-forgetting``, and
    is not stored; t is the total weight so far divided by the weight of the batch. With ``SVBCM(delay=0,
    forgetting=1)`` all rows count equally, and the result is closest to a fit of all rows; the default forgets early
    rows. Standard errors and evidence are not available, since they require all rows.

    Parameters
    ----------
    formula : str
        For example ``"Surv(time, event) ~ mixture(2)"``, with one number of components or ``mixture("dp")``.
    family : {"gaussian", "lognormal", "exponential", "poisson", "weibull"}
        Family of the components.
    method : SVBCM, optional
        Step lengths and kind of statistics; its batch size and polish are not used.
    priors : mapping of str to float, optional
        As in :func:`tobitgp.fit`.
    weights : str, optional
        Column of frequency weights.
    missing : {"drop", "raise"}
        Leave out rows with missing values, or raise a DataError.
    total : float, optional
        Total frequency weight of all rows in the stream, if known; by default the total so far.
    rng : int or numpy Generator, optional
        None gives the same result every time.

    Raises
    ------
    FormulaError, SpecError
        If the formula or an option is invalid.

    References
    ----------
    Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD,
    algorithm 2.

    Examples
    --------
    >>> import tobitgp as tg
    >>> rng = np.random.default_rng(0)
    >>> stream = tg.MixtureStream("y ~ mixture(2) | censor(upper=4)")
    >>> for _ in range(20):
    ...     y = np.concatenate([rng.normal(-3, 1, 50), rng.normal(3, 1, 50)])
    ...     stream = stream.partial_fit({"y": np.minimum(y, 4.0)})
    >>> stream
    MixtureStream: y ~ mixture(2) | censor(upper=4)
      gaussian, 2 components: 2000 rows in 20 batches
    >>> stream.params.round(1).tolist()
    [0.5, 0.5, -3.0, 2.9, 1.0, 1.0]
    """

    def __init__(
        self,
        formula: str,
        *,
        family: str = "gaussian",
        method: SVBCM | None = None,
        priors: Mapping[str, float] | None = None,
        weights: str | None = None,
        missing: Literal["drop", "raise"] = "drop",
        total: float | None = None,
        rng: int | np.random.Generator | None = None,
    ):
        if method is not None and not isinstance(method, SVBCM):
            raise SpecError(f"method={method!r}: a stream requires method=tg.SVBCM(...).")
        if total is not None and (isinstance(total, bool) or not isinstance(total, Real) or not 0.0 < total < np.inf):
            raise SpecError(f"total={total!r}: total must be a positive number, the weight of all rows in the stream.")
        if weights is not None and not isinstance(weights, str):
            raise SpecError(f"weights={weights!r}: weights must be the name of a column, since rows come in batches.")
        if not isinstance(missing, str) or missing not in ("drop", "raise"):
            raise SpecError(f"missing={missing!r} is not supported; choose 'drop' or 'raise'.")
        self._family = resolve_mixture_family(family)
        self._k, process = _number(formula)
        method = SVBCM() if method is None else method
        prior, concentration = read_mixture_priors(priors, self._family, method, process=process)
        self._options: dict[str, Any] = {"family": family, "k": self._k, "method": method, "total": total}
        self._options |= {"weights": concentration, "prior": prior}
        self._weights, self._missing = weights, missing
        self._rng = generator(rng)
        self._stream: mixtures.Stream | None = None
        self._rows: list[float] = []
        self._estimates: list[float] = []
        self.formula = formula
        self.counts = pd.Series(0, index=list(COUNTS))

    @reads_frames
    def partial_fit(self, data: Frame) -> MixtureStream:
        """Update the fit with one more batch.

        Parameters
        ----------
        data : DataFrame or dict of columns
            Not modified and not stored.

        Returns
        -------
        MixtureStream
            This one.

        Raises
        ------
        SpecError
            If rows have late entry or truncation.
        DataError
            If the batch cannot be used; the fit does not change then.
        FormulaError
            If it lacks a column.

        References
        ----------
        (SVB2) and (SVB3) of the theory pages.

        Examples
        --------
        >>> import numpy as np
        >>> import tobitgp as tg
        >>> stream = tg.MixtureStream("y ~ mixture(1)", rng=0)
        >>> for y in np.random.default_rng(0).normal(5.0, 1.0, (10, 200)):
        ...     stream = stream.partial_fit({"y": y})
        >>> stream.n_steps, stream.params.round(1).tolist()
        (10, [1.0, 5.0, 1.0])
        """
        columns = [name for name in column_names(data) if name != self._weights]
        spec = parse_formula(self.formula, columns)
        training = prepare(spec, data, weights=self._weights, missing=self._missing)
        if training.response.window is not None:
            raise SpecError(
                "MixtureStream does not support truncated rows and late entry. Use tg.fit(), which supports both."
            )
        rows = *known_ends(training.state.spec, self._family, training.response), training.response.weight
        if self._stream is None:
            self._stream = mixtures.start_stream(*rows, rng=self._rng, **self._options)
        else:
            self._stream = mixtures.partial_fit(self._stream, *rows, rng=self._rng)
        self._rows.append(self._stream.seen)
        self._estimates.append(self._stream.estimate)
        self.counts = self.counts + pd.Series(training.counts)[list(COUNTS)]
        return self

    @property
    def params(self) -> pd.Series[float]:
        """``weight[1]``, ..., then the parameters of the components: a Series by name, in the user's units.

        Components are ordered by mean, empty ones of a process last.
        """
        mixture = mixtures.mixture_of(self._begun)
        return pd.Series(mixture.values, index=list(mixture.names))

    @property
    def predictive(self) -> Predictive:
        """Distribution of a new value, as :attr:`tobitgp.MixtureResults.predictive`, by the posterior (SVB3) so far."""
        return mixtures.mixture_of(self._begun).predictive()

    @property
    def fit_history(self) -> pd.DataFrame:
        """The path of the bound, a row for each batch: columns ``batch, rows, elbo_per_row, smoothed``.

        ``rows`` is the weight of the rows so far. ``elbo_per_row`` is the bound of all rows at the state before the
        batch, divided by their number and estimated from the batch: a noisy number in nats. While the first rows are
        stored, it is exact at the state after the batch. ``smoothed`` is its mean over the last tenth of the batches so
        far, at least ten.

        References
        ----------
        (SVB4) of the theory pages.

        Examples
        --------
        >>> import numpy as np
        >>> import tobitgp as tg
        >>> stream = tg.MixtureStream("y ~ mixture(1)", rng=0)
        >>> for y in np.random.default_rng(0).normal(5.0, 1.0, (40, 200)):
        ...     stream = stream.partial_fit({"y": y})
        >>> stream.fit_history.iloc[-1].round(2).to_dict()
        {'batch': 40.0, 'rows': 8000.0, 'elbo_per_row': -1.45, 'smoothed': -1.44}
        """
        return stream_table(self._rows, self._estimates)

    @property
    def nobs(self) -> float:
        """Frequency weights of the rows seen, summed."""
        return 0.0 if self._stream is None else self._stream.seen

    @property
    def n_steps(self) -> int:
        """Batches seen that said something."""
        return 0 if self._stream is None else self._stream.step

    @property
    def _begun(self) -> mixtures.Stream:
        if self._stream is None:
            raise NotFittedError("This stream has seen no rows. Give it some by partial_fit(data).")
        return self._stream

    def __repr__(self) -> str:
        return (
            f"MixtureStream: {self.formula.strip()}\n"
            f"  {self._family.name}, {self._k} component{'s' * (self._k > 1)}: "
            f"{self.nobs:.10g} rows in {self.n_steps} batch{'es' * (self.n_steps != 1)}"
        )


def _number(formula: str) -> tuple[int, bool]:
    """Number of components, and whether they are those of a Dirichlet process."""
    term = parse_formula(formula).mixture
    if term is None:
        raise SpecError(f"{formula!r} has no mixture. A stream requires a formula such as 'y ~ mixture(2)'.")
    if len(term.numbers) > 1:
        raise SpecError(
            "A stream requires one number of components, e.g. mixture(2). Use tg.fit() to choose from a range."
        )
    return term.numbers[0], term.process
