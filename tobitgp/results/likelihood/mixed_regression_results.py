"""A fitted mixture of regressions as its users see it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from tobitgp.distributions.mixed_rows import LOCATION, ODDS, MixedModel, MixedRows, parameters_of_components
from tobitgp.errors import SpecError
from tobitgp.kinds.distributional import DistributionalParts
from tobitgp.results.likelihood.distributional_results import groups_of_formulas, notes_of_logs
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
from tobitgp.results.prediction import predict_table
from tobitgp.results.rows import Asked, ask, response_of_rows
from tobitgp.results.summary_notes import ParameterGroup, likelihood_words, model_title, row_notes
from tobitgp.results.words import Words, noted
from tobitgp.typing import Array, Frame

_ODDS = "odds_k is the weight of component k divided by that of component 1."


class MixedRegressionResults(LikelihoodResults):
    """A mixture of regressions, by :func:`tobitgp.fit` with ``y ~ mixture(2, x)``.

    Each row belongs to one of K components, each with its own coefficients and scale. The coefficients of the first
    component have the names of the columns; those of the second are called ``location_2[x]``. ``odds_2`` is the weight
    of the second component divided by that of the first. Components are ordered by the average of their locations.

    Parameters
    ----------
    parts : DistributionalParts
        Specification, rows and maximum.

    Raises
    ------
    SpecError
        If `hazard_ratios` is requested, since no ratio of hazards is the same at all times, or `plot_terms`, since each
        component has its own terms.

    References
    ----------
    .. [1] B. Gruen and F. Leisch (2008), FlexMix version 2: finite mixtures with concomitant variables and varying and
       constant parameters, *Journal of Statistical Software* 28(4).
    .. [2] (MOR1) to (MOR3) of the theory pages.

    Examples
    --------
    >>> import numpy as np
    >>> import tobitgp as tg
    >>> rng = np.random.default_rng(1)
    >>> x, first = rng.uniform(0, 5, 200), rng.random(200) < 0.4
    >>> y = np.where(first, 4 - x, 3 + x) + 0.3 * rng.normal(size=200)
    >>> res = tg.fit("y ~ mixture(2, x) | censor(1)", {"x": x, "y": np.maximum(y, 1)})
    >>> res.components.round(2).to_dict("index")[1]
    {'weight': 0.45, 'Intercept': 4.09, 'x': -1.03, 'sigma': 0.34}
    """

    _kind = "mixture of regressions"
    _parts: DistributionalParts
    _whats = ("median", "latent", "uncensored", "observed", "conditional", "component", "quantile", "prob")
    _whats_of = " for a mixture of regressions"
    _has_ratios = False
    _no_ratio = (
        "In a mixture of regressions no ratio of hazards is the same at all times. Use predict_hazard() for "
        "hazards over time."
    )

    @property
    def _written(self) -> str:
        given = {each.parameter: each.formula.strip() for each in self._parts.spec.formulas}
        given = {name: text for name, text in given.items() if not name.startswith(LOCATION)}
        for name, own in parameters_of_components(self.n_components).items():
            texts = {given.get(each, "") for each in own}
            if len(texts) == 1 and "" not in texts:
                given = {each: text for each, text in given.items() if each not in own} | {name: texts.pop()}
        return f"{self.formula.strip()}, formulas={given}" if given else self.formula.strip()

    @property
    def n_components(self) -> int:
        """Number of components."""
        return self._model.components

    @property
    def components(self) -> pd.DataFrame:
        """A row for each component: its weight and its parameters, or their coefficients if they have a formula.

        Locations and scales are those of the response, or of its logarithm in families of positive values. Weights that
        differ between rows are averaged over those of the fit.
        """
        parts, model = self._parts, self._model
        formulas, values = parts.state.formula_columns, parts.reported(parts.maximum.parameters[None])[0]
        found = dict(zip(parts.names, values.tolist(), strict=True))
        own = [parts.columns, *(formulas.get(each.name, (each.name,)) for each in model.parameters)]
        rows = []
        for k, ((location, *others), weight) in enumerate(zip(model.split(own)[0], self._weights, strict=True), 1):
            row = {"weight": weight, **{name: found[at] for name, at in zip(parts.columns, location, strict=True)}}
            for each, names in zip(model.component.parameters, others, strict=True):
                row |= {name.replace(f"{each.name}_{k}", each.name, 1): found[name] for name in names}
            rows.append(row)
        return pd.DataFrame(rows, index=self._numbered)

    @property
    def _model(self) -> MixedModel:
        model = self._parts.model
        assert isinstance(model, MixedModel)
        return model

    @property
    def _numbered(self) -> pd.RangeIndex:
        return pd.RangeIndex(1, self.n_components + 1, name="component")

    @property
    def _weights(self) -> Array:
        """Weights (K,) of the components, averaged over the rows of the fit."""
        parts = self._parts
        if not any(name.startswith(ODDS) for name in parts.state.formula_columns):
            return softmax([0.0, *parts.maximum.parameters[1 - self.n_components :]])
        weight = parts.rows.response.weight
        return np.asarray(np.exp(self._mixed(ask(parts)).log_weight) @ weight / weight.sum())

    def _mixed(self, asked: Asked) -> MixedRows:
        """Distributions of the usable rows."""
        rows = self._parts.at(self._parts.predictors(asked.design))
        assert isinstance(rows, MixedRows)
        return rows

    def _component_medians(self, rows: Frame) -> list[Array]:
        """Medians (n,) of each component in rows."""
        return [part.ppf(0.5) for part in self._mixed(ask(self._parts, rows)).parts]

    def plot_components(self, x: str | None = None, ax: Any = None) -> Any:
        """The median of each component along a column, over the rows in the colour of their likeliest component.

        Likely components are by (MOR2) of the theory pages.

        Parameters
        ----------
        x : str, optional
            Column of numbers or dates; by default the first one of the formula. Others are held at a typical value.
        ax : matplotlib axes, optional
            Axes to draw on; new axes by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        SpecError
            If ``x`` is not such a column, ``ax`` is not a matplotlib axes object, or the fit holds no training rows.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2, age)", tg.datasets.load("lung"), family="weibull")
        >>> ax = res.plot_components()
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('age', 'time')
        """
        from tobitgp.report.mixture_summary import plot_component_curves

        return plot_component_curves(self, x, ax)

    def _predict(self, new: Frame | None, what: str | None, **options: Any) -> Any:
        if what != "component":
            return predict_table(self, new, what, **options)
        if options["se"] or options["interval"] is not None:
            raise SpecError("what='component' has no se= and no interval=: it gives probabilities of the components.")
        return self._memberships(new)

    def _memberships(self, new: Frame | None) -> pd.DataFrame:
        """Probabilities of the components given the responses; the weights if a row has none: (MOR2)."""
        parts, asked = self._parts, ask(self._parts, new)
        scored = response_of_rows(parts, new, asked, "what='component'")
        values = asked.spread(np.exp(self._mixed(asked).log_weight).T)
        seen = scored.response
        known = self._mixed(scored.asked).memberships(seen.lower, seen.upper, seen.entry, seen.exit)
        values[scored.asked.usable] = known.T
        return pd.DataFrame(values, index=asked.index, columns=self._numbered)

    def _words(self, alpha: float, kind: Any = None) -> Words:
        parts = self._parts
        headings = {f"{LOCATION}{k}": f"Component {k}" for k in range(2, self.n_components + 1)}
        groups = [ParameterGroup("Component 1", range(len(self._columns))), *groups_of_formulas(parts, headings)]
        return likelihood_words(
            self,
            alpha,
            model_title(self, positive=parts.family.log_time, added=f"with {self.n_components} components"),
            [],
            groups,
            [*row_notes(self), *noted("coefficients", notes_of_logs(parts)), *noted("parameters", [_ODDS])],
            formulas={label: text for label, text in parts.formula_texts.items() if not label.startswith(LOCATION)},
        )
