"""Rows of several responses without covariates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.kinds.call import Call
from tobitgp.latent.collapsed_bound import ResponseEnds
from tobitgp.likelihoods import Family
from tobitgp.results.multivariate.multivariate_parts import ResponseRows, SeveralSpec
from tobitgp.results.multivariate.response_view import count_kinds
from tobitgp.results.views import COUNTS
from tobitgp.typing import BoolArray


@dataclass(frozen=True)
class ResponsesOnly:
    """Rows of several responses, on the scale of these."""

    call: Call
    spec: SeveralSpec
    family: Family
    rows: ResponseRows
    frame: pd.DataFrame  # of no covariate

    has_causes = False
    title = "gaussian"
    read = None

    @property
    def training(self) -> NoReturn:
        """See `Rows`."""
        raise SpecError("This is not supported for several responses. Fit each response separately.")

    @property
    def counts(self) -> dict[str, int]:
        """Values that are exact and censored, and rows dropped."""
        each = [count_kinds(one.response) for one in self.rows.seen]
        return {kind: sum(one[kind] for one in each) for kind in COUNTS[:4]} | {"dropped": int((~self.kept).sum())}

    @property
    def kept(self) -> BoolArray:
        """Rows of which something is known, (n,)."""
        return np.asarray(ResponseEnds(*self.rows.ends).known.any(axis=1))

    @property
    def counted(self) -> str:
        """Numbers of values in words."""
        return ", ".join(f"{count} values {kind}" for kind, count in self.counts.items() if kind != "dropped" and count)

    @property
    def formula(self) -> str:
        """The formula as written."""
        return self.spec.formula

    @property
    def shown(self) -> str:
        """The formula as models are shown with it."""
        return self.spec.formula

    @property
    def endog_names(self) -> str:
        """The responses as written."""
        return self.spec.formula.partition("~")[0].strip()

    @property
    def exog_names(self) -> list[str]:
        """No column."""
        return []

    def close(self) -> None:
        """Nothing is kept that has to be removed."""

    check_open = close
