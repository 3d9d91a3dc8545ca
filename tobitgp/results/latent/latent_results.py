"""Results of responses whose processes have latent coordinates for inputs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.data.frames import answers_in_kind
from tobitgp.results.latent.latent_parts import LatentParts
from tobitgp.results.latent.latent_tables import LatentAsked, latent_statistics, tails, value_statistics
from tobitgp.results.predict import check_alpha, check_flag, check_level, check_what
from tobitgp.results.views import COUNTS
from tobitgp.results.why_not import missing_attribute
from tobitgp.typing import Frame

WHATS = ("uncensored", "conditional", "latent")


class LatentResults:
    """Fit of several responses over latent coordinates, by :func:`tobitgp.fit` of ``mvbind(y1, y2) ~ gp(latent(2))``.

    A Bayesian Gaussian-process latent variable model [1]_ with parabolas below the likelihoods of censored values [2]_.
    The coordinates of a row are standard normal before anything is known of it. Coordinates have no units, and their
    signs and order are conventions: the first has the shortest length-scale, and the response that depends on a
    coordinate most rises with it.

    Parameters
    ----------
    parts : LatentParts
        What the fit was made from, and what it found.

    Attributes
    ----------
    responses : tuple of str
        As written in ``mvbind(...)``.

    References
    ----------
    .. [1] M. Titsias and N. Lawrence, "Bayesian Gaussian process latent variable model", AISTATS 2010.
    .. [2] M. Basson, T. M. Louw and T. R. Smith, "Variational Tobit Gaussian process regression", Statistics and
       Computing 33 (2023), Eq. 46.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_latent(1)
    >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
    >>> res
    LatentResults: mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)
      5 responses, 300 values: 276 exact, 24 left-censored
      bound -311.69 (local), converged
    """

    _kind = "latent"

    def __init__(self, parts: LatentParts):
        self._parts, self.responses = parts, parts.labels

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say why this kind of fit has not what others have."""
            return missing_attribute(self, name)

    def __repr__(self) -> str:
        censored = [f"{self.counts[kind]} {kind}-censored" for kind in COUNTS[1:4] if self.counts[kind]]
        kinds = ", ".join([f"{self.counts['exact']} exact", *censored])
        return (
            f"LatentResults: {self.formula}\n"
            f"  {len(self.responses)} responses, {self.nobs:.10g} values: {kinds}\n"
            f"  bound {self.elbo:.2f} ({self.evidence_kind}), {'converged' if self.converged else 'NOT converged'}"
        )

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def _column_texts(self) -> tuple[str, ...]:
        """What mentions the columns that new data need."""
        return (self.formula,)

    @property
    def parts(self) -> LatentParts:
        """What the fit was made from and found, as the subpackages pass it to each other."""
        return self._parts

    @property
    def formula(self) -> str:
        """The formula as written."""
        return self._parts.spec.formula

    @property
    def counts(self) -> pd.Series[int]:
        """How many values are ``exact``, ``left``, ``right`` and ``interval`` censored; rows ``dropped``, by name."""
        return pd.Series([self._parts.counts[name] for name in COUNTS], index=list(COUNTS))

    @property
    def nobs(self) -> float:
        """Number of values of which something is known."""
        return float(self.counts[:-1].sum())

    @property
    def converged(self) -> bool:
        """Whether the search for the best start ended at a maximum."""
        return self._parts.converged

    @property
    def method(self) -> str:
        """Name of the method that fitted: ``"vi"``."""
        return "vi"

    @property
    def evidence_kind(self) -> str:
        """What ``elbo`` is: ``"elbo"``, or ``"local"`` where parabolas lie below likelihoods of censored values."""
        return "local" if self.counts[1:4].any() else "elbo"

    @property
    def elbo(self) -> float:
        """Lower bound on the log evidence in nats, (LAT5) of the theory pages; of the density in the user's units."""
        return self._parts.elbo

    @property
    def log_evidence(self) -> float:
        """The same as ``elbo``, in nats: (LAT5) of the theory pages."""
        return self._parts.elbo

    @property
    def fit_history(self) -> pd.DataFrame:
        """A row for each start, the best first: its bound in nats, iterations, and whether it converged."""
        parts = self._parts
        return pd.DataFrame(
            {"elbo": parts.elbos, "iterations": parts.iterations.astype(int), "converged": parts.ended.astype(bool)},
            index=pd.RangeIndex(1, parts.starts + 1, name="start"),
        )

    @property
    def params(self) -> pd.Series[float]:
        """Parameters at the maximum of the bound, by name.

        ``Intercept[y]``, ``sd[y]`` of its process and ``sigma[y]`` of its noise have the units of the response;
        ``lengthscale[1]`` has those of the coordinates.
        """
        parts, scales = self._parts, self._parts.processes.scales
        lengths = parts.processes.inducing.lengthscale
        each = {
            "Intercept": parts.centre + parts.scale * scales.level,
            "sd": parts.scale * scales.sd,
            "sigma": parts.scale * scales.sigma,
        }
        named = {f"{name}[{y}]": v for name, values in each.items() for y, v in zip(parts.labels, values, strict=True)}
        return pd.Series(named | {f"lengthscale[{q}]": value for q, value in enumerate(lengths, 1)})

    @property
    def hyperparameters(self) -> dict[str, float]:
        """The same without intercepts, as a dict, in the units of ``params``."""
        return {str(name): float(x) for name, x in self.params.items() if not str(name).startswith("Intercept[")}

    def relevance(self) -> pd.DataFrame:
        """How much the responses depend on each dimension.

        Returns
        -------
        DataFrame
            A row for each dimension. ``lengthscale`` is in units of the coordinates, whose prior has the standard
            deviation 1; ``relevance`` is its inverse square, as a share of the largest; ``information`` is the mean
            over rows of KL(q(x) || N(0, 1)) in nats. All rows know nothing of a dimension without relevance.

        References
        ----------
        Titsias and Lawrence (2010), section 3.2; (LAT10) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_latent(1)
        >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
        >>> res.relevance()[["lengthscale", "information"]].round(1).to_numpy().tolist()
        [[2.8, 1.1], [3.8, 0.9]]
        """
        lengths = self._parts.processes.inducing.lengthscale
        inverse = lengths**-2.0
        columns = {
            "lengthscale": lengths,
            "relevance": inverse / inverse.max(),
            "information": self._parts.information,
        }
        return pd.DataFrame(columns, index=self._dimensions)

    @property
    def _dimensions(self) -> pd.RangeIndex:
        return pd.RangeIndex(1, self._parts.dimensions + 1, name="dimension")

    # -- questions ----------------------------------------------------------------------------------------------------

    @answers_in_kind
    def latent(self, new: Frame | None = None, *, interval: float | None = None) -> pd.DataFrame:
        """Latent coordinates of the rows of the fit, or of new rows from what is known of their responses.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            With some of the responses, and what their limits need; the rows of the fit without.
        interval : float, optional
            Probability of equal-tailed intervals.

        Returns
        -------
        DataFrame
            A row for each row of the data, columns ``(1, "estimate")``, ``(1, "se")``, and ``lower`` and ``upper`` with
            ``interval``, for each dimension: means and standard deviations of q(X), without units. NaN in rows of
            which nothing is known.

        Raises
        ------
        DataError
            If new rows have none of the responses.
        SpecError
            If an interval is outside (0, 1), or the fit was loaded from a file and ``new`` is not given.

        References
        ----------
        (LAT2) and (LAT11) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_latent(1)
        >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
        >>> res.latent().head(1).round(1).to_numpy().tolist()
        [[-0.5, 0.3, -1.6, 0.5]]
        """
        level, asked = check_level(interval), LatentAsked.of(self._parts, new)
        mean, sd = asked.inputs.mean, np.sqrt(asked.inputs.var)
        found = {"estimate": mean, "se": sd}
        found |= {n: mean + float(ndtri(p)) * sd for n, p in zip(("lower", "upper"), tails(level), strict=False)}
        columns = {}
        for q in range(self._parts.dimensions):
            for name, values in found.items():
                columns[(q + 1, name)] = np.full(len(asked.kept), np.nan)
                columns[(q + 1, name)][asked.kept] = values[:, q]
        return pd.DataFrame(columns, index=asked.index)

    @answers_in_kind
    def predict(
        self,
        new: Frame | None = None,
        what: Literal["uncensored", "conditional", "latent"] | None = None,
        *,
        interval: float | None = None,
        se: bool = False,
    ) -> pd.DataFrame:
        """Predict all responses of rows from what is known of some of them.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            With some of the responses, and what their limits need; the rows of the fit without.
        what : {"uncensored", "conditional", "latent"}
            ``"uncensored"``: another value of the response of the row. ``"conditional"``: its own value, as seen; means
            given limits where it is censored, and of all values where it is missing. ``"latent"``: the process.
        interval : float, optional
            Probability of equal-tailed intervals.
        se : bool
            Give standard deviations of what is asked about.

        Returns
        -------
        DataFrame
            A row for each row of the data, a column for each response in its units; with ``se`` or ``interval``
            columns ``(y1, "estimate")``, ``se``, ``lower`` and ``upper``. NaN in rows of which nothing is known.

        Raises
        ------
        DataError
            If new rows have none of the responses.
        SpecError
            If ``what`` is not supported, an interval is outside (0, 1), or the fit was loaded from a file and ``new``
            is not given.

        References
        ----------
        (LAT8) and (LAT12) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_latent(1)
        >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
        >>> res.predict(what="conditional").round(2).head(2)
             y1    y2    y3    y4    y5
        0 -1.04 -1.26 -0.83 -0.42  0.06
        1  1.38  1.15 -0.36  1.06  1.47
        """
        of, level = check_what(what, WHATS, " over latent coordinates"), check_level(interval)
        se, asked = check_flag("se", se), LatentAsked.of(self._parts, new)
        if of == "latent":
            return asked.table(latent_statistics(asked, level, se=se))
        return asked.table(value_statistics(asked, level, se=se, conditional=of == "conditional"))

    @answers_in_kind
    def impute(self, new: Frame | None = None, *, interval: float | None = None) -> pd.DataFrame:
        """What censored and missing responses are or may have been: ``predict(new, "conditional")``.

        Parameters
        ----------
        new, interval
            As of :meth:`predict`.

        Returns
        -------
        DataFrame
            As of :meth:`predict`, in the units of the responses.

        Raises
        ------
        DataError, SpecError
            As of :meth:`predict`.

        References
        ----------
        (LAT12) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_latent(1)
        >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
        >>> res.impute({"y2": 0.3, "y3": 0.1, "limit2": -1.0}).round(1)
            y1   y2   y3   y4   y5
        0  0.0  0.3  0.1  0.1  0.2
        """
        found: pd.DataFrame = self.predict(new, "conditional", interval=interval)
        return found

    def summary_frame(self) -> pd.DataFrame:
        """Parameters as a table.

        Returns
        -------
        DataFrame
            A row for each parameter, with the column ``coef`` in the units of ``params``. Parameters maximise the
            bound, and have no standard errors.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_latent(1)
        >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
        >>> list(res.summary_frame().columns)
        ['coef']
        """
        return self.params.to_frame("coef")

    def summary(self, alpha: float = 0.05) -> Any:
        """Tables to read or to paste into a report.

        Parameters
        ----------
        alpha : float
            A probability, as of other summaries; without effect, as there are no intervals.

        Returns
        -------
        statsmodels.iolib.summary.Summary
            Prints as text; ``as_html``, ``as_latex``, ``as_csv``.

        Raises
        ------
        SpecError
            If ``alpha`` is outside (0, 1).

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_latent(1)
        >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
        >>> "lengthscale" in str(res.summary())
        True
        """
        from tobitgp.report.latent_report import latent_words
        from tobitgp.results.summary import summarise

        return summarise(self, latent_words(self), check_alpha(alpha))

    def plot_latent(self, dimensions: tuple[int, int] = (1, 2), *, by: Any = None, ax: Any = None) -> Any:
        """Draw the rows at two latent coordinates, with bars of one standard deviation.

        Parameters
        ----------
        dimensions : pair of int
            Their numbers, as in :meth:`latent`.
        by : sequence, optional
            A label or a number of each row of the data, which its colour shows.
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        SpecError
            If the fit has not these dimensions or no training rows, or ``by`` has another length.

        References
        ----------
        (LAT2) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_latent(1)
        >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
        >>> ax = res.plot_latent()
        """
        from tobitgp.report.latent_report import draw_latent

        return draw_latent(self, dimensions, by, ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fit to one file, without its rows; :func:`tobitgp.load` reads it.

        Parameters
        ----------
        path : str or path
            Conventionally ending in ``.tgp``. An existing file is replaced.

        Raises
        ------
        DataError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_latent(1)
        >>> res = tg.fit("mvbind(y1, y2, y3, y4, y5) ~ gp(latent(2)) | censor(y1=limit1, y2=limit2)", data)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     res.save(f"{folder}/latent.tgp")
        ...     again = tg.load(f"{folder}/latent.tgp")
        >>> again.elbo == res.elbo
        True
        """
        from tobitgp.storage.stored_fit import write_fit

        write_fit(self._parts, path)
