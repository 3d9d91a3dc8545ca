"""Files, pages and other programs' tables of a fit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from tobitgp.errors import DataError, SpecError
from tobitgp.results.fit import Fit

PAGES = (".html", ".htm")


def save(results: Fit, path: str | os.PathLike[str]) -> None:
    """Write the fit to one file, without its table of rows; :func:`tobitgp.load` reads it.

    The loaded fit gives identical predictions for new rows. Methods that require the training rows, such as
    ``residuals()`` and tests of smooth terms, are not available. The same fit always gives the same bytes.

    Parameters
    ----------
    path : str or path
        Usually ends in ``.tgp``. An existing file is replaced atomically.

    Raises
    ------
    DataError
        If the file cannot be written.
    SpecError
        If the fit contains an object that the format does not support.

    Examples
    --------
    >>> import tempfile
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     res.save(f"{folder}/durable.tgp")
    ...     again = tg.load(f"{folder}/durable.tgp")
    >>> bool((again.predict({"age": [30.0]}) == res.predict({"age": [30.0]})).all())
    True
    """
    from tobitgp.storage.stored_fit import write_fit

    write_fit(results.parts, path)


def report(results: Fit, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write a page of HTML: the model, tables, figures, diagnostics and versions.

    The page is self-contained. For a fit without training rows it lists what it cannot show.

    Parameters
    ----------
    path : str or path
        Must end in ``.html`` or ``.htm``. An existing file is replaced atomically.
    title : str, optional
        Title of the page; by default the formula.

    Raises
    ------
    SpecError
        If the name does not.
    DataError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     res.report(f"{folder}/durable.html", title="Durable goods")
    ...     "<h1>Durable goods</h1>" in Path(folder, "durable.html").read_text(encoding="utf-8")
    True
    """
    from tobitgp.files import whole_file
    from tobitgp.report.page import make_page

    try:
        target = Path(path).expanduser()
    except TypeError:
        raise SpecError(f"path={path!r}: path must be the name of a file.") from None
    if title is not None and not isinstance(title, str):
        raise SpecError(f"title={title!r}: title must be text.")
    if target.suffix.lower() not in PAGES:
        raise SpecError(f"report() writes HTML, and {str(target)!r} does not end in .html. Give a name that does.")
    if "\0" in str(target):
        raise DataError(f"{str(target)!r} cannot be written: a file name must not contain a null character.")
    try:
        with whole_file(target) as file:
            file.write(make_page(cast(Any, results), title).encode("utf-8"))
    except OSError as error:
        raise DataError(f"{str(target)!r} cannot be written: {error.strerror or error}.") from error


STAT_LABELS = {
    "N": "Observations",
    "exact": "Exact",
    "left": "Left-censored",
    "right": "Right-censored",
    "interval": "Interval-censored",
    "log_evidence": "Log evidence",
    "evidence_kind": "Evidence kind",
    "elbo": "ELBO",
    "log_evidence_integrated": "Log evidence, integrated",
    "llf": "Log likelihood",
    "aic": "AIC",
    "bic": "BIC",
    "df_model": "Df model",
    "family": "Family",
    "method": "Method",
    "se_type": "S.E. type",
}
_OF_ROWS = ("N", "exact", "left", "right", "interval")


def default_stats(results: Fit) -> list[str]:
    """Numbers below the coefficients unless others are requested: counts, and the evidence or the likelihood."""
    return [*_OF_ROWS, *(("llf", "aic") if results.evidence_kind == "loglik" else ("log_evidence", "evidence_kind"))]


def error_type(results: Fit) -> dict[str, str]:
    """Where the standard errors come from."""
    return {"vcov_type": str(getattr(results, "cov_type", "posterior sd"))}


def response(results: Fit) -> str:
    """Name of the response."""
    return results.model.endog_names


def stat_labels(results: Fit) -> dict[str, str]:
    """Labels of the numbers below the coefficients."""
    return dict(STAT_LABELS)


def coef_table(results: Any) -> pd.DataFrame:
    """Estimates by name: columns ``b, se, t, p, ci95l, ci95u, ci90l, ci90u``.

    NaN where a number is not defined, e.g. standard errors of fixed parameters, and ``t`` and ``p`` of
    hyper-parameters.
    """
    wide, narrow = results._parameter_frame(0.05), results._parameter_frame(0.1)
    error = wide["std err"]
    columns = {
        "b": wide["coef"],
        "se": error.where(error > 0.0),
        "t": wide["z"],
        "p": wide["P>|z|"],
        "ci95l": wide["lower"],
        "ci95u": wide["upper"],
        "ci90l": narrow["lower"],
        "ci90u": narrow["upper"],
    }
    return pd.DataFrame(columns).set_axis(results._names).rename_axis("Coefficient")


def stat(results: Fit, key: str) -> float | int | str | None:
    """A number or word below the coefficients, None where there is no such thing."""
    words = {"family": results.parts.family.name, "method": results.method, "evidence_kind": results.evidence_kind}
    words |= {"se_type": error_type(results)["vcov_type"]}
    if key in words:
        return str(words[key])
    if key == "N":
        return results.nobs
    if key in _OF_ROWS:
        return int(results.parts.facts.counts[key])
    value = getattr(results, key, np.nan) if key in STAT_LABELS else np.nan
    return float(value) if np.isfinite(value) else None


def to_maketables(results: Fit) -> Any:
    """The fit for ``maketables.ETable``, with counts of censored rows and evidence or likelihood.

    ``ETable([res])`` treats a fit as one of statsmodels, and shows only coefficients and the number of observations.

    Returns
    -------
    object with maketables' hooks, to be put in the list of ``ETable``

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> view = res.to_maketables()
    >>> view.__maketables_stat__("left"), view.__maketables_coef_table__["b"].round(2).to_dict()
    (13, {'Intercept': 5.12, 'age': -0.14, 'sigma': 5.0})
    """
    return _Hooks(results)


class _Hooks:
    """A fit with nothing but maketables' hooks."""

    def __init__(self, results: Fit):
        self._results = results

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__maketables_"):
            return getattr(self._results, name)
        raise AttributeError(name)
