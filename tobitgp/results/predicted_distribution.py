"""The distribution of the response in rows, as an object with the method names of scipy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tobitgp.data.frames import reads_frames
from tobitgp.distributions.response_distribution import ResponseDistribution
from tobitgp.distributions.shown_rows import ShownRows
from tobitgp.results.predict import check_what
from tobitgp.results.rows import no_limits
from tobitgp.typing import Frame


@reads_frames
def get_distribution(
    results: Any, new: Frame | None = None, what: str = "uncensored", *, exclude: str | Sequence[str] = ()
) -> ResponseDistribution:
    """Distribution of the response in each row, with the method names of scipy.

    ``what="uncensored"`` is y*, the response without limits. ``what="observed"`` is y, the response as recorded:
    clipped at the limits, which have a probability, and inside the window of ``truncate()``. For a process, the
    distribution averages over f, the noise and the hyper-parameters; for a regression it is that at the estimates.
    Times of cured rows, and times after the last exit of a piecewise hazard, are infinite.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        New rows, as for :meth:`predict`; the training rows by default.
    what : {"uncensored", "observed"}
        ``"observed"`` requires the columns of the limits and the window in ``new``.
    exclude : str or list of str
        Terms that are set to zero, e.g. ``"gp(x)"``.

    Returns
    -------
    ResponseDistribution
        ``pdf, logpdf, pmf, cdf, sf, logcdf, logsf, ppf, isf, median, interval, support, rvs, mean, var, std, entropy,
        cross_entropy, kl``, as arrays in the order of the rows, on the scale of the response.

    Raises
    ------
    SpecError
        For an unknown ``what``, or if limits are unknown or the fit holds no training rows and ``new`` is not given.
    DataError, UnseenLevelError
        If the new data cannot be used.

    References
    ----------
    (PRE1) to (PRE3) of the theory pages; Karlova, Kabra, de Souza and Paige (2024), Variational inference with censored
    Gaussian process regressors, section 3.1.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> spending = res.get_distribution({"age": [30.0, 60.0]}, what="observed")
    >>> spending.mean().round(3), spending.ppf(0.9).round(3)
    (array([2.464, 0.749]), array([7.286, 3.047]))
    """
    offered = ("uncensored", *(name for name in results._whats if name == "observed"))
    what = check_what(what, offered, f" by get_distribution(){results._whats_of}")
    asked = results._ask(new, exclude, instead="what='uncensored'")
    y = results._distributions(new, exclude)
    limits = asked.limits() if what == "observed" else no_limits(int(asked.usable.sum()))
    return ResponseDistribution(ShownRows(y, *limits), asked.usable)
