"""Tables and housekeeping under the names of statsmodels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tobitgp.results.why_not import where_defined


@where_defined
def summary2(
    results: Any,
    yname: str | None = None,
    xname: Sequence[str] | None = None,
    title: str | None = None,
    alpha: float = 0.05,
    float_format: str = "%.4f",
) -> Any:
    """Tables of the fit as statsmodels' experimental summary.

    Parameters
    ----------
    yname : str, optional
        Name of the response.
    xname : sequence of str, optional
        Names of all parameters.
    title : str, optional
        Above the tables.
    alpha : float
        Significance level: intervals have probability ``1 - alpha``.
    float_format : str
        Format of numbers, e.g. ``"%.4f"``.

    Returns
    -------
    statsmodels.iolib.summary2.Summary
        Prints as text; ``as_html``, ``as_latex``; ``tables`` are DataFrames in the user's units.

    Raises
    ------
    SpecError
        If ``alpha`` does not lie between 0 and 1.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> res.summary2().tables[1].columns.tolist()
    ['Coef.', 'Std.Err.', 'z', 'P>|z|', '[0.025', '0.975]']
    """
    from statsmodels.iolib.summary2 import Summary

    frame = results._parameter_frame(alpha)
    columns = ["Coef.", "Std.Err.", "z", "P>|z|", f"[{alpha / 2:.3g}", f"{1 - alpha / 2:.3g}]"]
    found = Summary()
    facts = {
        "Model:": results._kind,
        "Family:": results._family_in_words,
        "Method:": results.method,
        "Dependent Variable:": results.model.endog_names if yname is None else yname,
        "No. Observations:": f"{results.nobs:.10g}",
    }
    name, value = results._criterion()
    facts |= {f"{str(label).capitalize()}:": str(count) for label, count in results.counts.items()} | {
        f"{name}:": value
    }
    found.add_dict(facts)
    table = frame.iloc[:, : len(columns)].set_axis(columns, axis=1)
    found.add_df(table if xname is None else table.set_axis(list(xname)), float_format=float_format)
    found.add_title(title=results._written if title is None else title)
    return found


def remove_data(results: Any) -> None:
    """Forget the training rows, in place: the fit then predicts new rows only, and takes less memory.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> res.remove_data()
    >>> res.predict({"age": [30.0]}).round(2).tolist()
    [0.61]
    """
    if results.parts.training is None:
        return
    known = {"llnull": results.llnull} if hasattr(results, "llnull") else {}  # which takes the rows
    without = results._without_rows()
    vars(results).clear()
    vars(results).update(vars(without) | known)
