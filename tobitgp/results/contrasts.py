"""Hypotheses about linear coefficients."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from tobitgp.errors import SpecError
from tobitgp.results.estimates import Linear
from tobitgp.results.predict import check_alpha
from tobitgp.results.views import FRAME_COLUMNS
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class ContrastResults:
    """Linear combinations of coefficients, each against a value; prints as its table.

    Each by (REG10) of the theory pages; under a prior its tails are those of the mixture of (PRE3).

    Attributes
    ----------
    names : list of str, length k
        The hypotheses as written.
    null : (k,) array
        Values under the hypotheses, in the units of the combinations.
    posterior : Linear
        Of the combinations less these values.

    Raises
    ------
    SpecError
        By ``conf_int`` and ``summary_frame`` if ``alpha`` does not lie between 0 and 1.
    """

    names: list[str]
    null: Array
    posterior: Linear

    @property
    def effect(self) -> Array:
        """Posterior means of the combinations, (k,), in their units."""
        return self.posterior.coefficients() + self.null

    @property
    def sd(self) -> Array:
        """Posterior standard deviations, (k,), in the units of the combinations."""
        return self.posterior.errors()

    @property
    def tvalue(self) -> Array:
        """Distances from the hypotheses in standard deviations, (k,); NaN where a combination is fixed."""
        sd = self.sd
        return np.divide(self.posterior.coefficients(), sd, out=np.full_like(sd, np.nan), where=sd > 0)

    @property
    def pvalue(self) -> Array:
        """Twice the posterior probability of the side of the value that is less likely, (k,)."""
        return self.posterior.p_values()

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Posterior intervals (k, 2), in the units of the combinations, of probability ``1 - alpha``."""
        return self.posterior.interval(check_alpha(alpha)) + self.null[:, None]

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """A row for each hypothesis, columns ``coef, std err, z, P>|z|, lower, upper``; in the units of it."""
        columns = [self.effect, self.sd, self.tvalue, self.pvalue, *self.conf_int(alpha).T]
        return pd.DataFrame(dict(zip(FRAME_COLUMNS, columns, strict=True)), index=self.names)

    def __repr__(self) -> str:
        return self.summary_frame().to_string(float_format="{:.4g}".format)


@dataclass(frozen=True, slots=True)
class WaldResults:
    """Several hypotheses together, by (REG10) of the theory pages.

    Attributes
    ----------
    statistic : float
        ``(R b - r)' (R V R')^-1 (R b - r)`` with posterior mean b and covariance V, in no units; of
        ``lr_test()`` twice the difference of the log likelihoods.
    df : int
        Number of hypotheses.
    pvalue : float
        Upper tail probability of the chi-squared distribution.
    """

    statistic: float
    df: int
    pvalue: float

    def summary_frame(self) -> pd.DataFrame:
        """One row with columns ``chi2, P>chi2, df constraint``: chi-squared, its tail probability, and its degrees."""
        return pd.DataFrame({"chi2": [self.statistic], "P>chi2": [self.pvalue], "df constraint": [self.df]})

    def __repr__(self) -> str:
        return f"chi2({self.df}) = {self.statistic:.4g}, p = {self.pvalue:.4g}"


def contrast(linear: Linear, columns: Sequence[str], hypotheses: Any) -> ContrastResults:
    """Each hypothesis on its own; see ``GPResults.t_test``."""
    R, null, names = read_constraints(columns, hypotheses)
    return ContrastResults(names, null, linear.combine(R, null))


def wald(linear: Linear, columns: Sequence[str], hypotheses: Any) -> WaldResults:
    """All hypotheses together; see ``GPResults.wald_test``."""
    R, null, _ = read_constraints(columns, hypotheses)
    V = linear.combine(R, null).total_covariance()
    if np.isnan(V).any():
        return WaldResults(float("nan"), len(V), float("nan"))
    size = np.sqrt(np.maximum(np.diag(V), 0.0))
    if (size == 0.0).any() or np.linalg.matrix_rank(V / np.outer(size, size), hermitian=True) < len(V):
        raise SpecError("The hypotheses depend on each other, or are about coefficients that are fixed.")
    gap = (R @ linear.coefficients() - null) / size
    statistic = float(gap @ np.linalg.solve(V / np.outer(size, size), gap))
    return WaldResults(statistic, len(V), float(chdtrc(len(V), statistic)))


def read_constraints(columns: Sequence[str], hypotheses: Any) -> tuple[Array, Array, list[str]]:
    """Matrix (k, p), values (k,) and names of linear hypotheses.

    Shapes: hypotheses (k, p).
    """
    if isinstance(hypotheses, str):
        parts = _split(hypotheses)
    elif isinstance(hypotheses, (list, tuple)) and hypotheses and all(isinstance(h, str) for h in hypotheses):
        parts = list(hypotheses)
    else:
        return _read_matrix(columns, hypotheses)
    from formulaic.utils.constraints import LinearConstraints

    alias = {f"_b{j}_": name for j, name in enumerate(columns)}
    R, null = np.zeros((len(parts), len(columns))), np.zeros(len(parts))
    for k, text in enumerate(parts):
        try:
            read = LinearConstraints.from_spec(_aliased(text, alias), variable_names=list(alias))
            R[k], null[k] = np.asarray(read.constraint_matrix[0]), float(read.constraint_values[0])
        except Exception as error:
            listed = ", ".join(map(repr, columns)) or "none"
            raise SpecError(
                f"The hypothesis {text!r} cannot be read; write it like 'x = 0' or 'x - 2*z = 1'. "
                f"This model has the linear coefficients {listed}."
            ) from error
    return R, null, [text.strip() for text in parts]


def _read_matrix(columns: Sequence[str], hypotheses: Any) -> tuple[Array, Array, list[str]]:
    pair = isinstance(hypotheses, tuple) and len(hypotheses) == 2
    try:
        R = np.atleast_2d(np.asarray(hypotheses[0] if pair else hypotheses, dtype=float))
        null = np.zeros(len(R)) if not pair else np.broadcast_to(np.asarray(hypotheses[1], dtype=float), len(R)).copy()
    except (TypeError, ValueError):
        R, null = np.empty((0, 0)), np.empty(0)
    if (
        R.ndim != 2
        or R.shape[1] != len(columns)
        or not len(R)
        or not (np.isfinite(R).all() and np.isfinite(null).all())
    ):
        raise SpecError(
            f"Hypotheses are text such as 'x = 0, z = 1', a finite matrix with {len(columns)} columns "
            f"({', '.join(columns)}), or a pair of such a matrix and values."
        )
    return R, null, [f"c{k}" for k in range(len(R))]


def _split(text: str) -> list[str]:
    """Cut at commas outside of brackets and backticks."""
    out, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == "`"
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0 and not quoted:
            out.append("")
        else:
            out[-1] += character
    return out


def _aliased(text: str, alias: dict[str, str]) -> str:
    """Text with every coefficient under a plain name, the longest first."""
    for plain, name in sorted(alias.items(), key=lambda item: -len(item[1])):
        text = re.sub(rf"`{re.escape(name)}`|(?<![\w.]){re.escape(name)}(?![\w.\[(])", plain, text)
    return text
