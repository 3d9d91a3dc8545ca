"""Parameters of several responses in their own units, from those of the stacked rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from tobitgp.formula.several import EACH, UNIT
from tobitgp.multivariate.rows import Stack
from tobitgp.results.process.results import GPResults
from tobitgp.typing import Array

COLUMNS = ["coef", "std err", "z", "P>|z|", "lower", "upper"]
RESIDUAL = f"re(0 + {EACH} | {UNIT})"
_STEP = 1e-5


class Estimates:
    """Values, errors and intervals of a fit of stacked rows by the names and in the units of the responses."""

    def __init__(self, stacked: GPResults, stack: Stack):
        self.stacked, self.stack = stacked, stack
        self.labels = stack.wide.labels
        names = stacked.hyperparameters
        self.at = {name: i for i, name in enumerate(names)}
        self.correlated = f"sd({RESIDUAL})[{EACH}[{self.labels[0]}]]" in self.at

    def table(self, alpha: float) -> pd.DataFrame:
        """All parameters, columns as of ``summary_frame()``: coefficients, then the rest; (MUL3)."""
        frame = self.stacked.summary_frame(alpha)[COLUMNS]
        p = len(self.stacked.parts.gp.columns)
        rows = {self._name(name): self._coefficient(name, row) for name, row in self._rows(frame.iloc[:p])}
        for name, row in self._rows(frame.iloc[p:]):
            if not (RESIDUAL in name or name == "sigma" or name.startswith(f"log(sigma)[{EACH}[T.")):
                rows[self._name(name)] = row * self._factor(name)
        return pd.DataFrame.from_dict({**rows, **self._residual(alpha)}, orient="index", columns=COLUMNS)

    def correlations(self, alpha: float) -> pd.DataFrame:
        """Rows of :meth:`table` that are correlations."""
        table = self.table(alpha)
        return table[[name.startswith(("cor(", "rescor[")) for name in table.index]][["coef", "lower", "upper"]]

    def group_effects(self, interval: float | None) -> pd.DataFrame:
        """Those of the stack, but for the effects of rows, in units of their responses."""
        table = self.stacked.group_effects(interval=interval)
        table = table[[not term.startswith(RESIDUAL) for term in table.index.get_level_values(0)]]
        factor = [self._factor(f"sd({term})") for term in table.index.get_level_values(0)]
        table = table.mul(factor, axis=0)
        return table.set_index(table.index.map(lambda key: (self._name(key[0]), key[1])))

    @staticmethod
    def _rows(frame: pd.DataFrame) -> Any:
        return zip(map(str, frame.index), frame.to_numpy(), strict=True)

    def _label(self, name: str) -> str | None:
        """The response that a parameter is of."""
        return next((label for label in self.labels if f"[{label}]" in name), None)

    def _name(self, name: str) -> str:
        """A parameter's name without the stack: ``C(response)[y1]:z`` is ``z[y1]``."""
        if name.startswith(f"{EACH}["):
            label = self._label(name)
            rest = name.removeprefix(f"{EACH}[{label}]").removeprefix(":")
            return f"{rest or 'Intercept'}[{label}]"
        for label in self.labels:
            name = name.replace(f"{EACH}[{label}]:", f"{label}:").replace(f"{EACH}[{label}]", label)
        return name.replace(f"0 + {EACH} + {EACH}:", "").replace(f"0 + {EACH} | ", "").replace(f"0 + {EACH}:", "")

    def _coefficient(self, name: str, row: Array) -> Array:
        """A linear coefficient in units of its response."""
        j = self.labels.index(self._label(name) or "")
        shift = self.stack.centre[j] if name == f"{EACH}[{self.labels[j]}]" else 0.0
        out = row.copy()
        out[[0, 1, 4, 5]] *= self._factor_of_coefficient(name)
        out[[0, 4, 5]] += shift
        if shift and out[1] > 0.0:
            out[2] = out[0] / out[1]
            out[3] = 2.0 * ndtr(-abs(out[2]))
        return out

    def _factor(self, name: str) -> float:
        """What a hyper-parameter is multiplied by: standard deviations are in units of their response."""
        label = self._label(name)
        if self.stack.log_time or label is None or not name.startswith("sd(") or name.startswith("sd(sigma: "):
            return 1.0
        return float(self.stack.scale[self.labels.index(label)])

    def effects(self) -> tuple[Array, Array]:
        """Of standardised y standard deviations (J,) of the effects of rows, and errors of log sigma (J,)."""
        rest, J = self.stacked._rest, len(self.labels)
        slope = _slopes(self._noise, rest.theta)[:, :J]
        error = np.sqrt(np.maximum(np.diag(slope.T @ rest.theta_covariance @ slope), 0.0))
        sds = [rest.theta[self.at[f"sd({RESIDUAL})[{EACH}[{label}]]"]] for label in self.labels]
        return np.exp(sds), error

    # -- the noise ----------------------------------------------------------------------------------------------------

    def _residual(self, alpha: float) -> dict[str, Array]:
        """Standard deviations and correlations of what is left in a row, by the delta method."""
        rest = self.stacked._rest
        value, slope = self._noise(rest.theta), _slopes(self._noise, rest.theta)
        sd = np.sqrt(np.maximum(np.diag(slope.T @ rest.theta_covariance @ slope), 0.0))
        z, J = float(-ndtri(0.5 * alpha)), len(self.labels)
        of_sd, out = np.arange(len(value)) < J, {}
        ends = np.column_stack([value, value - z * sd, value + z * sd])
        ends = np.where(of_sd[:, None], np.exp(np.where(of_sd[:, None], ends, 0.0)), np.tanh(ends))
        error = sd * np.where(of_sd, ends[:, 0], 1.0 - ends[:, 0] ** 2)
        pairs = [f"rescor[{self.labels[k]}, {self.labels[j]}]" for j in range(J) for k in range(j)]
        scale = np.ones(len(value))
        if not self.stack.log_time:
            scale[:J] = self.stack.scale
        for i, name in enumerate([*(f"sigma[{label}]" for label in self.labels), *pairs][: len(value)]):
            estimate, low, high = ends[i] * scale[i]
            out[name] = np.array([estimate, error[i] * scale[i], np.nan, np.nan, low, high])
        return out

    def _noise(self, theta: Array) -> Array:
        """Of standardised y log standard deviations (J,) and, where residuals correlate, Fisher's z of correlations."""
        if not self.correlated:
            return self._log_sigma(theta)
        V, J = self.covariance(theta), len(self.labels)
        total = np.sqrt(np.diag(V))
        R = V / np.outer(total, total)
        return np.concatenate([np.log(total), np.arctanh([R[j, k] for j in range(J) for k in range(j)])])

    def covariance(self, theta: Array) -> Array:
        """Covariance (J, J) of what is left of standardised y in a row: of the row's effects, and noise."""
        inside = [f"{EACH}[{label}]" for label in self.labels]
        sd = np.exp([theta[self.at[f"sd({RESIDUAL})[{name}]"]] for name in inside])
        R = np.eye(len(sd))
        for j in range(len(sd)):
            for k in range(j):
                R[j, k] = R[k, j] = np.tanh(theta[self.at[f"cor({RESIDUAL})[{inside[k]}, {inside[j]}]"]])
        return np.asarray(R * np.outer(sd, sd) + np.diag(np.exp(2.0 * self._log_sigma(theta))))

    def _log_sigma(self, theta: Array) -> Array:
        """Of the independent noise of standardised y, (J,)."""
        return np.asarray(theta[self.at["sigma"]] + self._contrasts(theta))

    def _contrasts(self, theta: Array) -> Array:
        """What each response adds to log sigma, (J,), whose mean over the rows is that of ``sigma``."""
        scale = self.stacked.parts.state.scale
        centre = self.stacked.parts.gp.problem.units.w_centre
        columns = list(scale.linear.columns)[1:]
        added = np.zeros(len(self.labels))
        for i, name in enumerate(columns):
            for j, label in enumerate(self.labels[1:], 1):
                if name == f"{EACH}[T.{label}]":
                    gamma = theta[self.at[f"log(sigma)[{name}]"]]
                    added[j] += gamma
                    added -= centre[i] * gamma
        return added

    # -- one response given others ------------------------------------------------------------------------------------

    def regression(self, response: str, given: Sequence[str], alpha: float) -> pd.DataFrame:
        """Coefficients of a response in others and columns, and sigma given these: (MUL4), by the delta method."""
        j, others = self.labels.index(response), [self.labels.index(label) for label in given]
        rest, columns = self.stacked._rest, self.stacked.parts.gp.columns
        p = len(columns)
        gamma, names = self.table(alpha)["coef"].to_numpy()[:p], [self._name(name) for name in columns]
        terms = [name.removesuffix(f"[{response}]") for name in names if name.endswith(f"[{response}]")]
        places = [[names.index(f"{term}[{self.labels[k]}]") for k in (j, *others)] for term in terms]
        factor = np.array([self._factor_of_coefficient(name) for name in columns])
        V = self.stacked.cov_params().to_numpy()[:p, :p] * np.outer(factor, factor)
        scale = np.ones(len(self.labels)) if self.stack.log_time else self.stack.scale

        def value(at: Array) -> Array:
            theta, gamma = np.split(at, [len(rest.theta)])
            C = self.covariance(theta) * np.outer(scale, scale)
            beta = np.linalg.solve(C[np.ix_(others, others)], C[others, j])
            own = [gamma[at_y] - gamma[at_x] @ beta for at_y, *at_x in places]
            return np.array([*own, *beta, 0.5 * np.log(C[j, j] - C[j, others] @ beta)])

        at = np.concatenate([rest.theta, gamma])
        both = np.zeros((len(at), len(at)))
        both[: len(rest.theta), : len(rest.theta)], both[len(rest.theta) :, len(rest.theta) :] = (
            rest.theta_covariance,
            V,
        )
        found, slope = value(at), _slopes(value, at)
        sd = np.sqrt(np.diag(slope.T @ both @ slope))
        z = float(-ndtri(0.5 * alpha))
        rows = np.column_stack([found, sd, found / sd, 2.0 * ndtr(-np.abs(found / sd)), found - z * sd, found + z * sd])
        sigma = np.exp(found[-1])
        rows[-1] = [sigma, sigma * sd[-1], np.nan, np.nan, *(sigma * np.exp([-z * sd[-1], z * sd[-1]]))]
        return pd.DataFrame(rows, index=[*terms, *given, "sigma"], columns=COLUMNS)

    def _factor_of_coefficient(self, name: str) -> float:
        return 1.0 if self.stack.log_time else float(self.stack.scale[self.labels.index(self._label(name) or "")])


def _slopes(of: Callable[[Array], Array], at: Array) -> Array:
    """Derivatives (k, m) by differences."""
    steps = _STEP * np.eye(len(at))
    return np.array([(of(at + h) - of(at - h)) / (2.0 * _STEP) for h in steps])
