"""Parameters of several responses in their own units, from those of the stacked rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.linalg import block_diag
from scipy.special import ndtr, ndtri

from tobitgp.data.arrays import Design
from tobitgp.data.linear_columns import INTERCEPT, linear_terms
from tobitgp.formula.mvbind import EACH, RESPONSE, SCALE_COLUMN
from tobitgp.kinds.process import ProcessParts
from tobitgp.kinds.process_nodes import group_table
from tobitgp.priors.coefficients import WEAK
from tobitgp.results.anova import joint_test_of_columns
from tobitgp.results.multivariate.stacked_rows import RESIDUAL, Stack
from tobitgp.results.parameter_estimates import Linear, Transformed, hyper_estimates, linear_posterior
from tobitgp.results.priors import COLUMNS as PRIOR_COLUMNS
from tobitgp.results.priors import PriorRow, hyper_rows
from tobitgp.results.process.term_tests import TermTest, joint_test_of_process
from tobitgp.results.terms import model_terms
from tobitgp.results.views import FRAME_COLUMNS
from tobitgp.typing import Array, BoolArray

_DEFAULT = "default"
_STEP = 1e-5
_EACH = re.escape(EACH)
_OF_EACH = re.compile(_EACH + r"\[(?:T\.)?y(\d+)\](?::scale_column(\d+))?")
_SLOPE = re.compile(_EACH + r"\[y(\d+)\]:(.*)")
_EFFECT = re.compile(rf"re\(0 \+ ({_EACH}(?!:))?(?: \+ )?(?:{_EACH}:\((.*?)\))? \| (.*?)\)")
_CURVES = re.compile(r"\[y(\d+)(?:, y(\d+))?\]$")


class ResponseEstimates:
    """Values, errors and intervals of a fit of stacked rows by the names and in the units of the responses."""

    def __init__(self, stacked: ProcessParts, stack: Stack):
        self.stacked, self.stack, self.labels = stacked, stack, stack.wide.labels
        self.at = {name: i for i, name in enumerate(stacked.fitted.parameters.names)}
        self.correlated = f"sd({RESIDUAL})[{EACH}[y0]]" in self.at
        self.unit = np.ones(len(self.labels)) if stack.log_time else stack.scale
        every = {column for columns in stacked.state.effect_columns for column in columns}
        slopes = {column: _SLOPE.fullmatch(column) for column in sorted(every, key=len, reverse=True)}
        self.slopes = {column: f"{m[2]}[{self.labels[int(m[1])]}]" for column, m in slopes.items() if m}
        self.terms = {self.name(term.name): term.name for term in stacked.spec.processes}

    @cached_property
    def _shared(self) -> Linear:
        """Linear coefficients of the stack."""
        return linear_posterior(self.stacked.fitted, self.stacked.gp)

    @cached_property
    def _inside(self) -> Transformed:
        """Parameters of the stack other than linear coefficients."""
        return hyper_estimates(self.stacked.fitted)

    # -- names --------------------------------------------------------------------------------------------------------

    def name(self, name: str) -> str:
        """A parameter, or a random effect, by the names of the responses."""
        if name.startswith(("sd(", "cor(")):
            name = _CURVES.sub(lambda m: f"[{', '.join(self.labels[int(j)] for j in m.groups() if j)}]", name)
        for column, written in self.slopes.items():
            name = name.replace(column, written)
        name = _EFFECT.sub(lambda m: f"re({m[3]})" if m[1] else f"re(0 + {m[2]} | {m[3]})", name)
        return _OF_EACH.sub(self._response, name)

    def _response(self, match: re.Match[str]) -> str:
        label, column = self.labels[int(match[1])], match[2]
        return label if column is None else f"{self.stack.scale_columns[int(column)]}[{label}]"

    def _factor(self, name: str) -> float:
        """Factor of a hyper-parameter or a random effect, which are in units of their response."""
        match = _OF_EACH.search(name) or _CURVES.search(name)
        of_y = name.startswith(("sd(", "re(")) and not name.startswith("sd(sigma: ")
        return float(self.unit[int(match[1])]) if match and of_y else 1.0

    # -- tables -------------------------------------------------------------------------------------------------------

    @property
    def rest_names(self) -> list[str]:
        """Those of the parameters other than linear coefficients."""
        names = list(self.stacked.fitted.parameters.names)
        own = [self.name(name) for name, kept in zip(names, self._kept, strict=True) if kept]
        return [*own, *self._residual_names]

    def rest(self) -> Transformed:
        """Parameters other than linear coefficients: (MUL3), of the residuals by the delta method."""
        inside, names = self._inside, list(self.stacked.fitted.parameters.names)
        unit = np.array([self._factor(name) for name, kept in zip(names, self._kept, strict=True) if kept])
        own, J = inside.some(self._kept), len(self.labels)
        log_unit = np.where(own.positive, np.log(unit), 0.0)
        theta = self._noise(inside.theta)
        theta[:J] += np.log(self.unit)
        G = np.vstack([np.eye(len(names))[self._kept], _slopes(self._noise, inside.theta).T])
        V, of_sd = G @ inside.theta_covariance @ G.T, np.arange(len(theta)) < J
        value = np.where(of_sd, np.exp(np.where(of_sd, theta, 0.0)), np.tanh(theta))
        given = np.diag(V)[len(unit) :] == 0.0
        correlation = np.zeros(len(unit), dtype=bool) if own.correlation is None else own.correlation
        return Transformed(
            np.concatenate([own.value * np.exp(log_unit), value]),
            np.concatenate([own.theta + log_unit, theta]),
            V,
            np.zeros((len(V), len(self.coefficient_names))),
            np.concatenate([own.positive, of_sd]),
            np.concatenate([own.fixed, given]),
            np.concatenate([own.theta_mean + log_unit, theta]),
            np.concatenate([own.theta_skew, np.zeros_like(theta)]),
            np.concatenate([correlation, ~of_sd]),
        )

    def drawn(self, values: Array) -> Array:
        """Parameters of the responses, (S, k), from draws of those of the stack."""
        p, rest = len(self.stacked.gp.columns), self._inside
        each = range(len(self.labels))
        R = np.vstack([self.unit[j] * self.stack.columns_of_stack(j, self.stacked.gp.columns) for j in each])
        linear = values[:, :p] @ R.T - np.concatenate([self.stack.null(j) for j in each])
        points, which = np.unique(values[:, p:], axis=0, return_inverse=True)
        correlation = np.zeros(len(rest.theta), dtype=bool) if rest.correlation is None else rest.correlation
        unit = np.array([self._factor(name) for name, kept in zip(self.at, self._kept, strict=True) if kept])
        found = []
        for point in points:
            theta = np.where(rest.positive, np.log(np.where(rest.positive, point, 1.0)), point)
            theta[correlation] = np.arctanh(point[correlation])
            noise = self._noise(theta)
            J = len(self.labels)
            found.append([*(point[self._kept] * unit), *(np.exp(noise[:J]) * self.unit), *np.tanh(noise[J:])])
        return np.column_stack([linear, np.array(found)[which.ravel()]])

    @cached_property
    def _kept(self) -> BoolArray:
        """Hyper-parameters of the stack that are parameters of the responses, (m,); the others are of the residuals."""
        of_noise = f"log(sigma)[{EACH}[T."
        names = self.stacked.fitted.parameters.names
        return np.array([not (RESIDUAL in x or x == "sigma" or x.startswith(of_noise)) for x in names])

    @property
    def _residual_names(self) -> list[str]:
        """Standard deviations of residuals, then their correlations."""
        pairs = [(k, j) for j in range(len(self.labels)) for k in range(j)] if self.correlated else []
        own = [f"sigma[{label}]" for label in self.labels]
        return [*own, *(f"rescor[{self.labels[k]}, {self.labels[j]}]" for k, j in pairs)]

    @property
    def coefficient_names(self) -> list[str]:
        """``z[y1]``, those of one response together."""
        first = ["Intercept"] * self.stack.wide.terms.intercept
        return [f"{name}[{label}]" for label in self.labels for name in (*first, *self.stack.columns)]

    def coefficients(self) -> Linear:
        """Posterior of the linear coefficients, in the order of their names."""
        stack, names, each = self.stack, self.stacked.gp.columns, range(len(self.labels))
        R = np.vstack([self.unit[j] * stack.columns_of_stack(j, names) for j in each])
        return self._shared.combine(R, np.concatenate([stack.null(j) for j in each]))

    def intercepts_at_means(self) -> Linear:
        """Posterior of the intercepts of all responses at the means of the linear columns."""
        stack, names = self.stack, list(self.stacked.gp.columns)
        R = np.zeros((len(stack.levels), len(names)))
        for j, level in enumerate(stack.levels):
            R[j, names.index(f"{EACH}[{level}]")] = self.unit[j]
        return self._shared.combine(R, -np.asarray(stack.centre, dtype=np.float64))

    def intercept_note(self) -> list[str]:
        """Where intercepts are, and what they are at the means of the columns."""
        if not self.stack.wide.terms.intercept or not self.stack.columns:
            return []
        found = self.intercepts_at_means()
        pairs = zip(self.labels, found.coefficients(), found.errors(), strict=True)
        listed = ", ".join(f"{value:.4g} [{label}] (std err {se:.2g})" for label, value, se in pairs)
        return [f"Intercept[...] with all linear columns at their means: {listed}."]

    def priors(self) -> pd.DataFrame:
        """Priors of coefficients, then of the rest, with the columns of `prior_table`."""
        stack, gp = self.stack, self.stacked.gp
        assert gp.linear is not None or not stack.columns
        scale = gp.problem.units.scale
        sd = scale * np.sqrt(np.square(stack.basis).sum(axis=1))
        rows = {}
        for j, label in enumerate(self.labels):
            level, unit = float(stack.centre[j]), float(self.unit[j])
            if stack.wide.terms.intercept:
                rows[f"{INTERCEPT}[{label}]"] = PriorRow("normal", level, WEAK * scale * unit, _DEFAULT)
            for name, one, spread in zip(stack.columns, stack.constant, sd, strict=True):
                rows[f"{name}[{label}]"] = PriorRow("normal", level * float(one), float(spread) * unit, _DEFAULT)
        for name, row in hyper_rows(gp):
            rows[self.name(name)] = row._replace(location=row.location * self._factor(name))
        return pd.DataFrame.from_dict(rows, orient="index", columns=PRIOR_COLUMNS).rename_axis("parameter")

    def term_tests(self) -> Iterator[tuple[str, TermTest]]:
        """Joint tests of the linear terms of each response, then of processes and random effects."""
        linear, state, parts = self.coefficients(), self.stack.state.linear, self.stacked
        for j, label in enumerate(self.labels):
            for name, columns in linear_terms(state):
                if name != INTERCEPT:
                    yield f"{name}[{label}]", joint_test_of_columns(linear, j * len(state.columns) + np.array(columns))
        for term in model_terms(parts):
            if term.block is not None and term.name != RESIDUAL:
                yield self.name(term.name), joint_test_of_process(parts, term.blocks)

    def group_effects(self, interval: float | None) -> pd.DataFrame:
        """Those of the stack, but for the effects of rows, in units of their responses."""
        table = group_table(self.stacked, None, interval)
        terms = table.index.get_level_values(0)
        own = [not term.startswith(RESIDUAL) for term in terms]
        table = table.mul([self._factor(term) for term in terms], axis=0)[own]
        return table.set_index(table.index.map(lambda key: (self.name(key[0]), key[1])))

    # -- the noise ----------------------------------------------------------------------------------------------------

    def residual_sds(self, j: int, design: Design, log_noise: Array, error: Array) -> tuple[Array, Array]:
        """Standard deviations of the residuals of a standardised response in rows, and errors of their logarithms.

        ``log_noise`` (n,) is that of the noise besides the effect of a row, and ``error`` (n,) its standard error that
        processes make.
        """
        rest, scale, noise = self._inside, self.stacked.state.scale, np.exp(log_noise)
        assert scale is not None
        assert design.scale is not None
        place = self.at[f"sd({RESIDUAL})[{EACH}[{self.stack.levels[j]}]]"]
        total = np.hypot(noise, np.exp(rest.theta[place]))
        share, W = (noise / total) ** 2, design.scale.W[:, 1:]
        slope = np.zeros((len(W), len(rest.theta)))
        slope[:, place] = 1.0 - share
        slope[:, self.at["sigma"]] = share
        gamma = [self.at[f"log(sigma)[{name}]"] for name in scale.linear.columns[1:]]
        slope[:, gamma] = share[:, None] * (W - self.stacked.gp.problem.units.w_centre)
        of_processes = share * error * bool(self.stack.wide.scale.others)
        variance = np.einsum("nk,kl,nl->n", slope, rest.theta_covariance, slope) + of_processes**2
        return total, np.sqrt(np.maximum(variance, 0.0))

    def _noise(self, theta: Array) -> Array:
        """Log standard deviations (J,) of standardised y and, if residuals correlate, Fisher's z of correlations."""
        if not self.correlated:
            return self._log_sigma(theta)
        V, J = self.covariance(theta), len(self.labels)
        total = np.sqrt(np.diag(V))
        R = V / np.outer(total, total)
        return np.concatenate([np.log(total), np.arctanh([R[j, k] for j in range(J) for k in range(j)])])

    def covariance(self, theta: Array) -> Array:
        """Covariance (J, J) of what is left of standardised y in a row: of the row's effects, and noise."""
        inside = [f"{EACH}[{level}]" for level in self.stack.levels]
        sd = np.exp([theta[self.at[f"sd({RESIDUAL})[{name}]"]] for name in inside])
        R = np.eye(len(sd))
        for j in range(len(sd)):
            for k in range(j):
                R[j, k] = R[k, j] = np.tanh(theta[self.at[f"cor({RESIDUAL})[{inside[k]}, {inside[j]}]"]])
        return np.asarray(R * np.outer(sd, sd) + np.diag(np.exp(2.0 * self._log_sigma(theta))))

    def _log_sigma(self, theta: Array) -> Array:
        """Log sigma of the independent noise of standardised y at the means of the columns of log sigma, (J,)."""
        scale = self.stacked.state.scale
        assert scale is not None
        columns, centre = scale.linear.columns[1:], self.stacked.gp.problem.units.w_centre
        gamma = theta[[self.at[f"log(sigma)[{name}]"] for name in columns]]
        of_y = [[name == f"{EACH}[T.{level}]" for name in columns] for level in self.stack.levels]
        return np.asarray(theta[self.at["sigma"]] + (np.array(of_y, dtype=float) - centre) @ gamma)

    # -- one response given others ------------------------------------------------------------------------------------

    def regression(self, response: str, given: Sequence[str], alpha: float) -> pd.DataFrame:
        """Coefficients of a response in others and columns, and sigma given these: (MUL4), by the delta method."""
        j, others = self.labels.index(response), [self.labels.index(label) for label in given]
        rest, linear, names = self._inside, self.coefficients(), self.coefficient_names
        terms = [name.removesuffix(f"[{self.labels[0]}]") for name in names[: len(names) // len(self.labels)]]
        k = len(terms)

        def value(at: Array) -> Array:
            theta, gamma = np.split(at, [len(rest.theta)])
            gamma = gamma.reshape(len(self.labels), k)
            C = self.covariance(theta) * np.outer(self.unit, self.unit)
            beta = np.linalg.solve(C[np.ix_(others, others)], C[others, j])
            return np.array([*(gamma[j] - beta @ gamma[others]), *beta, 0.5 * np.log(C[j, j] - C[j, others] @ beta)])

        at = np.concatenate([rest.theta, linear.coefficients()])
        found, slope = value(at), _slopes(value, at)
        sd = np.sqrt(np.diag(slope.T @ block_diag(rest.theta_covariance, linear.total_covariance()) @ slope))
        z = float(-ndtri(0.5 * alpha))
        rows = np.column_stack([found, sd, found / sd, 2.0 * ndtr(-np.abs(found / sd)), found - z * sd, found + z * sd])
        sigma = np.exp(found[-1])
        rows[-1] = [sigma, sigma * sd[-1], np.nan, np.nan, *(sigma * np.exp([-z * sd[-1], z * sd[-1]]))]
        return pd.DataFrame(rows, index=[*terms, *given, "sigma"], columns=FRAME_COLUMNS)


def scale_columns(names: Sequence[str], rows: pd.DataFrame) -> Array:
    """Columns of log sigma by their names, in stacked rows (n,); gives (n, q)."""
    code, W = rows[RESPONSE].cat.codes.to_numpy(), np.zeros((len(rows), len(names)))
    for k, name in enumerate(names):
        match = _OF_EACH.fullmatch(name)
        assert match is not None
        value = 1.0 if match[2] is None else rows[SCALE_COLUMN.format(match[2])].to_numpy()
        W[:, k] = np.where(code == int(match[1]), value, 0.0)
    return W


def _slopes(of: Callable[[Array], Array], at: Array) -> Array:
    """Derivatives (k, m) by differences."""
    steps = _STEP * np.eye(len(at))
    return np.array([(of(at + h) - of(at - h)) / (2.0 * _STEP) for h in steps])
